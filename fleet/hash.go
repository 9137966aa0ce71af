package fleet

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"io"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/squadronctl/squadron/internal/errmask"
)

// UnitHash gives the hash that fleet knows a unit file by: the SHA-1, in hex, of its canonical serialisation, which has
// the sections in order of appearance and neither comments nor blank lines. A content that does not parse, or that has
// no option at all, gives an error for which IsInvalidRequest is true.
func UnitHash(content string) (string, error) {
	options, err := parseContent(content)
	if err != nil {
		return "", err
	}
	return hashOptions(options), nil
}

// CanonicalUnit gives the canonical serialisation of a unit file: what UnitHash is made over, and what ReadContent gives
// back of a unit that was submitted. Errors are as those of UnitHash.
func CanonicalUnit(content string) (string, error) {
	options, err := parseContent(content)
	if err != nil {
		return "", err
	}
	return serialize(options), nil
}

// parseContent reads a unit file as fleet does.
//
// The parser works in a goroutine of its own and abandons it when an option comes before any section. No input makes
// its lexer say so: it takes options only once it has seen a section, and skips what stands before.
func parseContent(content string) ([]*unit.UnitOption, error) {
	options, err := unit.DeserializeOptions(strings.NewReader(content))
	if err != nil {
		return nil, withClass(errInvalidRequest, errmask.Maskf(err, "parse unit file"))
	}
	if len(options) == 0 {
		return nil, withClass(errInvalidRequest, errors.New("parse unit file: no option in any section"))
	}
	return options, nil
}

func hashOptions(options []*unit.UnitOption) string {
	sum := sha1.New()
	// Neither side of the copy can fail: both are in memory.
	_, _ = io.Copy(sum, unit.Serialize(options))
	return hex.EncodeToString(sum.Sum(nil))
}

func serialize(options []*unit.UnitOption) string {
	var text strings.Builder
	_, _ = io.Copy(&text, unit.Serialize(options))
	return text.String()
}
