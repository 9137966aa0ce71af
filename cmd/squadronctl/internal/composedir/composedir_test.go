package composedir

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/stackdir"
	"github.com/squadronctl/squadron/stack"
)

const service = "services:\n  app:\n    image: app:1\n"

// withConfig is a compose file that names a file.
func withConfig(path string) string {
	return service + "    configs: [it]\nconfigs:\n  it:\n    file: " + path + "\n"
}

// put makes files below a directory.
func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

func namesOf(listing stackdir.Listing) map[string]string {
	found := map[string]string{}
	for _, s := range listing.Stacks {
		found[s.Name] = s.File
	}
	return found
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"web.yaml":                   withConfig("./conf/web.conf"),
		"conf/web.conf":              "x",
		"api.yml":                    service,
		"ledger/compose.yaml":        withConfig("ledger.conf"),
		"ledger/ledger.conf":         "y",
		"queue/compose.yml":          service,
		"old/docker-compose.yml":     service,
		"odd.yaml/compose.yaml":      service,
		"README.md":                  "",
		".hidden.yaml":               "",
		".git/compose.yaml":          "",
		"elsewhere/linked.conf.d/it": "",
	})
	outside := t.TempDir()
	put(t, outside, map[string]string{"it.yaml": service})
	require.NoError(t, os.Symlink(filepath.Join(outside, "it.yaml"), filepath.Join(dir, "link.yaml")))

	source := New(dir, nil)
	listing, err := source.Read()
	require.NoError(t, err)
	require.Empty(t, listing.Faults)
	assert.Equal(t, []string{"README.md", "conf", "elsewhere"}, listing.Others)
	found := namesOf(listing)
	for name, file := range map[string]string{
		"web": "web.yaml", "api": "api.yml", "ledger": "ledger/compose.yaml", "queue": "queue/compose.yml",
		"old": "old/docker-compose.yml", "odd.yaml": "odd.yaml/compose.yaml", "link": "link.yaml",
	} {
		assert.Equal(t, filepath.Join(dir, file), found[name], name)
		delete(found, name)
	}
	assert.Empty(t, found)

	text, err := source.ReadFile("ledger", "./ledger.conf")
	require.NoError(t, err)
	assert.Equal(t, "y", string(text))
	_, err = source.ReadFile("gone", "x")
	assert.ErrorContains(t, err, "stack gone is not declared")
}

// TestPacked shows that what a compose file refers to is part of its manifest, and that no content is.
func TestPacked(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"web.yaml": strings.Replace(withConfig("web.conf"), "app:1", "app:${VERSION}", 1), "web.conf": "first"})
	version := "1"
	source := New(dir, func(name string) (string, bool) { return version, name == "VERSION" })
	manifest := func() string {
		t.Helper()
		listing, err := source.Read()
		require.NoError(t, err)
		require.Empty(t, listing.Faults)
		require.Len(t, listing.Stacks, 1)
		return listing.Stacks[0].Manifest
	}
	first := manifest()
	assert.Equal(t, first, manifest())
	assert.NotContains(t, first, "first")
	put(t, dir, map[string]string{"web.conf": "second"})
	second := manifest()
	assert.NotEqual(t, first, second)
	version = "2"
	assert.NotEqual(t, second, manifest())
}

func TestWave(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"db.yaml": "x-squadron-wave: -1\n" + service, "web.yaml": service + "x-squadron-wave: 0x\n", "api.yaml": service,
		"far.yaml": "x-squadron-wave: 1000001\n" + service, "list.yaml": "x-squadron-wave: [1]\n" + service,
	})
	listing, err := New(dir, nil).Read()
	require.NoError(t, err)
	waves := map[string]int{}
	for _, s := range listing.Stacks {
		waves[s.Name] = s.Wave
	}
	assert.Equal(t, map[string]int{"api": 0, "db": -1}, waves)
	require.Len(t, listing.Faults, 3)
	assert.ErrorContains(t, listing.Faults[0], "far.yaml:1: x-squadron-wave has to be a number from -1000000 to 1000000")
	assert.ErrorContains(t, listing.Faults[1], "list.yaml:1: ")
	assert.ErrorContains(t, listing.Faults[2], "web.yaml:4: ")
}

func FuzzWave(f *testing.F) {
	for _, seed := range []string{"x-squadron-wave: 3\n", "x-squadron-wave: [1]\n", "a: &a 1\nx-squadron-wave: *a\n", "[", "- x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		wave, err := waveOf(text)
		if err == nil {
			assert.LessOrEqual(t, max(wave, -wave), maxWave)
		}
	})
}

func TestFaults(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, map[string]string{"secret.conf": "secret"})
	for name, test := range map[string]struct {
		files map[string]string
		file  string
		line  int
		want  string
	}{
		"no YAML":        {map[string]string{"web.yaml": "services: ["}, "web.yaml", -1, ""},
		"empty":          {map[string]string{"web.yaml": ""}, "web.yaml", -1, ""},
		"no such file":   {map[string]string{"web.yaml": withConfig("gone.conf")}, "web.yaml", -1, "no such file"},
		"out of it":      {map[string]string{"web.yaml": withConfig("../secret.conf")}, "web.yaml", -1, "only files in the compose file's directory are read"},
		"an absolute":    {map[string]string{"web.yaml": withConfig(outside + "/secret.conf")}, "web.yaml", -1, "only files in the compose file's directory are read"},
		"a directory":    {map[string]string{"web.yaml": withConfig("conf"), "conf/x": ""}, "web.yaml", -1, "it is no regular file"},
		"two of them":    {map[string]string{"web/compose.yaml": service, "web/docker-compose.yml": service}, "web", 0, "which of compose.yaml and docker-compose.yml is meant?"},
		"a huge one":     {map[string]string{"web.yaml": strings.Repeat("#", maxSize+1)}, "web.yaml", 0, "may have 16777216 at most"},
		"a huge config":  {map[string]string{"web.yaml": withConfig("big"), "big": strings.Repeat("#", maxSize+1)}, "web.yaml", -1, "may have 16777216 at most"},
		"one beside one": {map[string]string{"web.yaml": withConfig("gone.conf"), "api.yaml": service}, "web.yaml", -1, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, test.files)
			listing, err := New(dir, nil).Read()
			require.NoError(t, err)
			require.NotEmpty(t, listing.Faults)
			assert.NotContains(t, namesOf(listing), "web")
			for _, err := range listing.Faults {
				var fault *stack.ManifestError
				require.ErrorAs(t, err, &fault)
				assert.Equal(t, filepath.Join(dir, test.file), fault.File)
				if test.line >= 0 {
					assert.Equal(t, test.line, fault.Line)
				}
				assert.ErrorContains(t, err, test.want)
			}
		})
	}
}

// TestLinks shows that a link does not lead what a compose file names out of its directory, and that a pipe blocks nobody.
func TestLinks(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	put(t, outside, map[string]string{"secret.conf": "secret"})
	put(t, dir, map[string]string{"web.yaml": withConfig("link.conf"), "api.yaml": withConfig("pipe.conf"), "inner/real.conf": "x", "fine.yaml": withConfig("inner/link.conf")})
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.conf"), filepath.Join(dir, "link.conf")))
	require.NoError(t, os.Symlink("real.conf", filepath.Join(dir, "inner", "link.conf")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.conf"), 0o600))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe.yaml"), 0o600))
	listing, err := New(dir, nil).Read()
	require.NoError(t, err)
	assert.Contains(t, namesOf(listing), "fine")
	require.Len(t, listing.Faults, 3)
	assert.ErrorContains(t, listing.Faults[0], "api.yaml:")
	assert.ErrorContains(t, listing.Faults[0], "it is no regular file")
	assert.ErrorContains(t, listing.Faults[1], "pipe.yaml: it is no regular file")
	assert.ErrorContains(t, listing.Faults[2], "escapes")
}

func TestNoListing(t *testing.T) {
	_, err := New(filepath.Join(t.TempDir(), "gone"), nil).Read()
	assert.ErrorIs(t, err, os.ErrNotExist)
	dir := t.TempDir()
	put(t, dir, map[string]string{"compose.yaml": service, "web.yaml": service})
	_, err = New(dir, nil).Read()
	assert.True(t, IsStackDirectory(err))
	assert.ErrorContains(t, err, filepath.Join(dir, "compose.yaml"))
}
