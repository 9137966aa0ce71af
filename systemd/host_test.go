package systemd

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMachineID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "machine-id")
	_, err := readMachineID(path)
	assert.ErrorIs(t, err, os.ErrNotExist)
	for text, ok := range map[string]bool{ownID + "\n": true, "": false, "uninitialized\n": false, ownID + "0": false} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		id, err := readMachineID(path)
		assert.Equal(t, ok, err == nil, text)
		if ok {
			assert.Equal(t, ownID, id)
		}
	}
}

func TestFirstGlobal(t *testing.T) {
	parse := func(texts ...string) (addresses []net.Addr) {
		for _, text := range texts {
			ip, network, err := net.ParseCIDR(text)
			require.NoError(t, err)
			network.IP = ip
			addresses = append(addresses, network)
		}
		return addresses
	}
	for want, texts := range map[string][]string{
		"127.0.0.1":   {"127.0.0.1/8", "::1/128", "fe80::1/64", "169.254.0.1/16"},
		"192.0.2.1":   {"127.0.0.1/8", "2001:db8::1/64", "192.0.2.1/24", "192.0.2.2/24"},
		"2001:db8::1": {"::1/128", "2001:db8::1/64", "2001:db8::2/64"},
	} {
		assert.True(t, net.ParseIP(want).Equal(firstGlobal(parse(texts...))), want)
	}
	assert.NotNil(t, hostAddress())
}

func TestUserLingers(t *testing.T) {
	dir := t.TempDir()
	name, lingers := userLingers(dir)
	assert.NotEmpty(t, name)
	assert.False(t, lingers)
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	_, lingers = userLingers(dir)
	assert.True(t, lingers)
}
