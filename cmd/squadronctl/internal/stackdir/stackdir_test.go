package stackdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/units"
)

const service = "[Service]\nExecStart=/bin/serve\n"

// write makes a directory of these files.
func write(t testing.TB, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func TestRead(t *testing.T) {
	dir := write(t, map[string]string{
		"web.txtar":              "slices: 2\nwave: 3\n-- web@.service --\n" + service,
		"ledger/ledger.service":  service,
		"ledger/notes.txt":       "",
		"README.md":              "",
		".git/HEAD":              "",
		".hidden.txtar":          "",
		"linked-to/link.service": service,
	})
	require.NoError(t, os.Symlink("linked-to", filepath.Join(dir, "link")))
	listing, err := Read(dir)
	require.NoError(t, err)
	var names []string
	for _, s := range listing.Stacks {
		names = append(names, s.Name)
		manifest, err := units.ParseManifest(s.Manifest)
		require.NoError(t, err)
		require.NoError(t, manifest.CheckName(s.Name))
	}
	assert.Equal(t, []string{"ledger", "link", "web"}, names)
	assert.Equal(t, filepath.Join(dir, "web.txtar"), listing.Stacks[2].File)
	assert.Equal(t, 3, listing.Stacks[2].Wave)
	assert.Zero(t, listing.Stacks[0].Wave, "a group's directory says nothing of waves")
	assert.Equal(t, []string{"README.md"}, listing.Others)
	require.Len(t, listing.Faults, 1, "the directory of link's unit file has another name than its group")
	assert.ErrorContains(t, listing.Faults[0], filepath.Join(dir, "linked-to", "link.service"))
}

// A fault is told at its place in the file that has it.
func TestFaults(t *testing.T) {
	for name, test := range map[string]struct {
		file, text string
		at         string
		line       int
	}{
		"a line of a unit file": {"web.txtar", "slices: 1\n\n-- web-a@.service --\n" + service + "-- web-b@.service --\n[Service]\njunk\n", "web.txtar", 8},
		"a line of the header":  {"web.txtar", "# all of it\nslices: no\n-- web@.service --\n" + service, "web.txtar", 2},
		"a file's name":         {"web.txtar", "-- web.service --\n" + service + "-- web.txt --\n", "web.txtar", 4},
		"a file twice":          {"web.txtar", "-- web.service --\n" + service + "-- web.service --\n" + service, "web.txtar", 4},
		"another group's unit":  {"web.txtar", "-- shop.service --\n" + service, "web.txtar", 1},
		"no file in it":         {"web.txtar", "", "web.txtar", 0},
		"no name":               {".txtar/x", "", "", 0},
		"a group's unit file":   {"web/web.service", "[Service]\njunk\n", "web/web.service", 2},
		"a group without units": {"web/notes.txt", "", "web", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{test.file: test.text, "fine/fine.service": service})
			listing, err := Read(dir)
			require.NoError(t, err)
			require.Len(t, listing.Stacks, 1)
			if test.at == "" {
				assert.Empty(t, listing.Faults)
				return
			}
			require.Len(t, listing.Faults, 1)
			var fault *stack.ManifestError
			require.ErrorAs(t, listing.Faults[0], &fault)
			assert.Equal(t, filepath.Join(dir, test.at), fault.File)
			assert.Equal(t, test.line, fault.Line)
			assert.Equal(t, 1, strings.Count(fault.Error(), dir), "the path is told once")
		})
	}
}

// What is no file that can be read is at fault, and not even opened.
func TestNoFiles(t *testing.T) {
	dir := write(t, nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.txtar"), 0o600))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "gone.txtar")))
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "gone")))
	large, err := os.Create(filepath.Join(dir, "large.txtar"))
	require.NoError(t, err)
	require.NoError(t, large.Truncate(maxSize+1))
	require.NoError(t, large.Close())
	listing, err := Read(dir)
	require.NoError(t, err)
	assert.Empty(t, listing.Stacks)
	assert.Len(t, listing.Faults, 4)
}

// A directory of which nobody knows what it declares is an error, and not one that declares nothing.
func TestUnknown(t *testing.T) {
	_, err := Read(filepath.Join(t.TempDir(), "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.False(t, IsGroupDirectory(err))
	_, err = Read(write(t, map[string]string{"web.service": service}))
	assert.True(t, IsGroupDirectory(err))
	assert.False(t, IsGroupDirectory(nil))
	listing, err := Read(t.TempDir())
	require.NoError(t, err)
	assert.Empty(t, listing)
}

// FuzzFaults: a fault lies within the file.
func FuzzFaults(f *testing.F) {
	f.Add("slices: 1\n-- web@.service --\n[Service]\njunk\n")
	f.Add("-- web.service --\r\n-- web.service --\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := units.ParseManifest(text)
		if err == nil {
			return
		}
		var fault *stack.ManifestError
		if !errors.As(inFile("web.txtar", text, err), &fault) || fault.File != "web.txtar" {
			t.Fatalf("%v", err)
		}
		if fault.Line < 0 || fault.Line > 1+strings.Count(text, "\n") {
			t.Fatalf("line %d of %q", fault.Line, text)
		}
	})
}

func ExampleRead() {
	dir, err := os.MkdirTemp("", "stacks")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	manifest := "slices: 2\n-- web@.service --\n[Service]\nExecStart=/bin/serve\n"
	if err := os.WriteFile(filepath.Join(dir, "web.txtar"), []byte(manifest), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	listing, err := Read(dir)
	fmt.Println(listing.Stacks[0].Name, listing.Faults, err)
	// Output: web [] <nil>
}
