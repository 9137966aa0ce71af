package groupdir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/validator"
)

// write makes a directory of that name with files of those contents.
func write(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Mkdir(dir, 0o755))
	for file, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644))
	}
	return dir
}

func TestRead(t *testing.T) {
	dir := write(t, "web", map[string]string{"web-b@.service": "b", "web-a@.service": "a", "README.md": "", "web.servce": "", ".hidden.txt": ""})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "web-a.service.d"), 0o755))
	require.NoError(t, os.Symlink("web-a@.service", filepath.Join(dir, "web-c@.service")))
	for _, path := range []string{dir, dir + "/", dir + "//", dir + "/."} {
		group, err := Read(path)
		require.NoError(t, err, path)
		assert.Equal(t, "web", group.Name, path)
		require.Len(t, group.Units, 3)
		assert.Equal(t, "web-a@.service", group.Units[0].Name)
		assert.Equal(t, "a", group.Units[0].Content)
		assert.Equal(t, "a", group.Units[2].Content, "a link is followed")
		assert.Equal(t, []string{"README.md", "web-a.service.d", "web.servce"}, group.Others)
	}
	t.Chdir(dir)
	group, err := Read(".")
	require.NoError(t, err)
	assert.Equal(t, "web", group.Name)
}

func TestBadInput(t *testing.T) {
	empty := write(t, "empty", map[string]string{"README": ""})
	_, err := Read(empty)
	assert.True(t, IsNoUnits(err), err)

	_, err = Read(filepath.Join(empty, "nowhere"))
	assert.True(t, IsNoDirectory(err), err)
	_, err = Read(filepath.Join(empty, "README"))
	assert.True(t, IsNoDirectory(err), err)
	_, err = Read("/")
	assert.True(t, IsNoDirectory(err), err)

	dangling := write(t, "web", nil)
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dangling, "web.service")))
	_, err = Read(dangling)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.False(t, IsNoDirectory(err))
	assert.ErrorContains(t, err, "web.service")

	pipe := write(t, "web", nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(pipe, "web.service"), 0o644))
	_, err = Read(pipe)
	assert.ErrorContains(t, err, "no regular file")

	large := write(t, "web", map[string]string{"web.service": strings.Repeat("x", validator.MaxFileSize+1)})
	_, err = Read(large)
	assert.ErrorContains(t, err, "bytes")

	assert.False(t, IsNoUnits(nil))
	assert.False(t, IsNoDirectory(nil))
}

func ExampleRead() {
	group, err := Read("../../../../examples/groups/webshop/")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, unit := range group.Units {
		fmt.Println(group.Name, unit.Name)
	}
	// Output:
	// webshop webshop-app@.service
	// webshop webshop-cache@.service
}
