package systemd

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/squadronctl/squadron/fleet"
)

// unitFile is one unit's file as it stood at one moment.
type unitFile struct {
	id      fileID
	content string // without our line
	signed  bool   // it has our line
	intact  bool   // and is what was written
	detail  fleet.UnitDetail
	asks    requirements
}

// fileID tells one state of a file from any other.
type fileID struct {
	inode        uint64
	size         int64
	mtime, ctime syscall.Timespec
}

// sameText says whether nobody has written to a file between two looks. To rename it is not to write to it.
func (f fileID) sameText(other fileID) bool {
	other.ctime = f.ctime
	return f == other
}

// identify looks at the file of a unit; ok is false where there is no regular file.
func (d disk) identify(name string) (id fileID, ok bool) {
	info, err := os.Lstat(d.file(name))
	if err != nil || !info.Mode().IsRegular() {
		return fileID{}, false
	}
	return idOf(info)
}

func idOf(info os.FileInfo) (id fileID, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{inode: stat.Ino, size: stat.Size, mtime: stat.Mtim, ctime: stat.Ctim}, true
}

// maxFile bounds what is read of a file.
const maxFile = 16 << 20

// read reads the file of a unit; nil where there is none of ours. A file without our line is ours while systemd is led
// to it: then somebody has replaced it as a whole.
func (d disk) read(name string) (*unitFile, error) {
	id, ok := d.identify(name)
	if !ok || id.size > maxFile {
		return nil, nil
	}
	text, err := os.ReadFile(d.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, permitted(err)
	}
	file := &unitFile{id: id}
	file.content, file.signed, file.intact = unsign(string(text))
	if !file.signed && !d.linked(name) {
		return nil, nil
	}
	options, _ := unit.DeserializeOptions(strings.NewReader(file.content))
	file.asks = requirementsOf(name, options)
	if file.detail, err = fleet.DetailOf(name, file.content); err != nil {
		// What somebody has made of it is no unit file any more, so it differs from every one.
		sum := sha1.Sum([]byte(file.content))
		file.detail = fleet.UnitDetail{UnitStatus: fleet.UnitStatus{Name: name, SliceID: slice(name)}, Hash: hex.EncodeToString(sum[:])}
	}
	return file, nil
}

// factCache remembers what files say, and which state of a file systemd is known to have loaded. The zero value is
// ready.
type factCache struct {
	mutex  sync.Mutex
	files  map[string]*unitFile
	loaded map[string]loadedFile
}

// loadedFile is a state of a file that systemd has loaded, and what came of it.
type loadedFile struct {
	id   fileID
	load string
}

// read gives the unit's file, as disk.read does, from memory while it has not changed. It must not be changed.
func (c *factCache) read(d disk, name string) (*unitFile, error) {
	id, ok := d.identify(name)
	if !ok {
		c.forget(name)
		return nil, nil
	}
	c.mutex.Lock()
	known := c.files[name]
	c.mutex.Unlock()
	if known != nil && known.id == id && (known.signed || d.linked(name)) {
		return known, nil
	}
	file, err := d.read(name)
	if err != nil || file == nil {
		return nil, err
	}
	c.note(file)
	return file, nil
}

// note remembers a unit's file.
func (c *factCache) note(file *unitFile) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.files == nil {
		c.files = map[string]*unitFile{}
	}
	c.files[file.detail.Name] = file
}

// last gives the unit's file as it was when it was read last, and reads it where it has not been.
func (c *factCache) last(d disk, name string) (*unitFile, error) {
	c.mutex.Lock()
	known := c.files[name]
	c.mutex.Unlock()
	if known != nil {
		return known, nil
	}
	return c.read(d, name)
}

// noteLoaded notes that systemd has loaded this state of a unit's file, or a newer one, and the load state.
func (c *factCache) noteLoaded(name string, id fileID, load string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.loaded == nil {
		c.loaded = map[string]loadedFile{}
	}
	c.loaded[name] = loadedFile{id: id, load: load}
}

// loadedAs gives the load state that came of this state of a unit's file; ok is false where systemd is not known to have
// loaded it.
func (c *factCache) loadedAs(name string, id fileID) (load string, ok bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	known, ok := c.loaded[name]
	return known.load, ok && known.id == id
}

// keep forgets the units whose files are gone, which other programs have destroyed. Names are those that were there a
// moment ago, sorted.
func (c *factCache) keep(d disk, names []string) {
	c.mutex.Lock()
	known := slices.Collect(maps.Keys(c.files))
	c.mutex.Unlock()
	for _, name := range known {
		if _, listed := slices.BinarySearch(names, name); listed {
			continue
		}
		if _, there := d.identify(name); !there {
			c.forget(name)
		}
	}
}

func (c *factCache) forget(name string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.files, name)
	delete(c.loaded, name)
}
