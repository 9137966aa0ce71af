package cluster

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A host may have absolute links where a machine's files are written or removed. They lead to the host's own, which stay.
func TestConfigureKeepsToTheMachine(t *testing.T) {
	for link, target := range map[string]string{"etc/machine-id": "file", "etc/systemd/system": "", "lib": "", "etc": ""} {
		host := t.TempDir()
		for _, dir := range []string{"systemd/system/timers.target.wants", "timers.target.wants"} {
			require.NoError(t, os.MkdirAll(filepath.Join(host, dir), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(host, dir, "own"), nil, 0o644))
		}
		for _, name := range []string{"file", "machine-id", "hostname"} {
			require.NoError(t, os.WriteFile(filepath.Join(host, name), []byte("own"), 0o644))
		}
		m := newMachine(place{dir: t.TempDir()}, 1, url.URL{})
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(m.Root(), link)), 0o755))
		require.NoError(t, os.Symlink(filepath.Join(host, target), filepath.Join(m.Root(), link)))
		assert.Error(t, m.configure(), link)
		for _, name := range []string{"file", "machine-id", "hostname"} {
			text, err := os.ReadFile(filepath.Join(host, name))
			require.NoError(t, err)
			assert.Equal(t, "own", string(text), link)
		}
		assert.FileExists(t, filepath.Join(host, "timers.target.wants/own"), link)
		assert.FileExists(t, filepath.Join(host, "systemd/system/timers.target.wants/own"), link)
		assert.NoDirExists(t, filepath.Join(host, "systemd/journald.conf.d"), link)
	}
}
