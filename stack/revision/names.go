package revision

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxFileName is the most bytes that a file's name may have on Linux.
const maxFileName = 255

// escape gives the name of the directory of an owner or a stack. Two names never have one escape, and no escape leads out of
// its directory or is hidden.
func escape(name string) (string, error) {
	if name == "" {
		return "", errors.New("the name is empty")
	}
	var escaped strings.Builder
	for i := range len(name) {
		if b := name[i]; b == '/' || b == '%' || b < ' ' || b == 0x7f || (b == '.' && i == 0) {
			fmt.Fprintf(&escaped, "%%%02X", b)
		} else {
			escaped.WriteByte(b)
		}
	}
	if escaped.Len() > maxFileName {
		return "", fmt.Errorf("the name is too long for a file: it takes %d bytes of %d", escaped.Len(), maxFileName)
	}
	return escaped.String(), nil
}

// unescape gives the name whose escape a directory's name is. What is no escape is an error, since nobody knows whose it is.
func unescape(fileName string) (string, error) {
	var name strings.Builder
	for i := 0; i < len(fileName); i++ {
		if fileName[i] != '%' {
			name.WriteByte(fileName[i])
			continue
		}
		value, err := strconv.ParseUint(fileName[i+1:min(i+3, len(fileName))], 16, 8)
		if err != nil {
			break // it can't be the escape of what it would be read as
		}
		name.WriteByte(byte(value))
		i += 2
	}
	if again, err := escape(name.String()); err != nil || again != fileName {
		return "", fmt.Errorf("%.256q is no name that the store has given", fileName)
	}
	return name.String(), nil
}

// isHidden is true of what is no revision and no stack: locks, and what is being written or removed.
func isHidden(fileName string) bool { return strings.HasPrefix(fileName, ".") }

// entry is the name of a revision's file taken apart.
type entry struct {
	number uint64
	time   time.Time
	sum    string // SHA-256 of the manifest, in hex
}

const fileSuffix = ".manifest"

func (e entry) fileName() string {
	return fmt.Sprintf("%012d-%d-%s%s", e.number, e.time.UnixNano(), e.sum, fileSuffix)
}

// parseEntry takes the name of a revision's file apart.
func parseEntry(fileName string) (entry, error) {
	parts := strings.Split(strings.TrimSuffix(fileName, fileSuffix), "-")
	if len(parts) == 3 {
		number, numberErr := strconv.ParseUint(parts[0], 10, 64)
		nanos, timeErr := strconv.ParseInt(parts[1], 10, 64)
		e := entry{number: number, time: time.Unix(0, nanos), sum: parts[2]}
		if numberErr == nil && timeErr == nil && e.fileName() == fileName {
			return e, nil
		}
	}
	return entry{}, fmt.Errorf("%.256q is not the file of a revision", fileName)
}

// readEntries lists the revisions in a stack's directory, the newest first; one that is not there has none.
func readEntries(dir string) ([]entry, error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []entry
	for _, file := range files {
		if isHidden(file.Name()) {
			continue
		}
		e, err := parseEntry(file.Name())
		if err != nil {
			return nil, fmt.Errorf("in %s: %w", filepath.Clean(dir), err)
		}
		found = append(found, e)
	}
	slices.SortFunc(found, func(a, b entry) int {
		switch {
		case a.number > b.number:
			return -1
		case a.number < b.number:
			return 1
		}
		return strings.Compare(a.sum, b.sum)
	})
	return found, nil
}
