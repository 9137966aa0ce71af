package systemd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	systemdbus "github.com/coreos/go-systemd/v22/dbus"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 248)
	for name, ok := range map[string]bool{
		"web.service": true, "web@1.service": true, "web@10.0.0.7.timer": true, "a.slice": true, "data.mount": true,
		long + ".timer": true, long + ".service": false, "web@.service": false, "a.busname": false, ".service": false,
	} {
		assert.Equal(t, ok, checkName(name) == nil, name)
	}
	assert.Equal(t, "web@.service", template("web@1.service"))
	assert.Empty(t, template("web.service"))
	assert.Equal(t, "10.0.0.7", slice("web@10.0.0.7.service"))
	assert.Equal(t, "web.service", short("web.service"))
	assert.Contains(t, short(strings.Repeat("x", 1000)), "…")
}

// The names of units come back from their objects on the bus.
func FuzzUnitOf(f *testing.F) {
	for _, name := range []string{"web@1.service", "1.service", `srv-a\x2db@1.service`, "_", "é.service"} {
		f.Add(name)
		f.Add("/org/freedesktop/systemd1/unit/" + name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = unitOf(text)
		if text == "" {
			return
		}
		var escaped strings.Builder
		for _, b := range []byte(text) {
			fmt.Fprintf(&escaped, "_%02x", b)
		}
		got, ok := unitOf("/org/freedesktop/systemd1/unit/" + escaped.String())
		assert.True(t, ok)
		assert.Equal(t, text, got)
		if checkName(text) == nil {
			got, ok = unitOf("/org/freedesktop/systemd1/unit/" + systemdbus.PathBusEscape(text))
			assert.True(t, ok)
			assert.Equal(t, text, got)
		}
	})
}

// What was signed is intact, what was changed since is not, and what has no line of ours comes back as it is.
func FuzzUnsign(f *testing.F) {
	for _, text := range []string{"", "[Unit]\nA=b\n", signatureLine, signatureLine + "00\nA=b", sign("x")} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		content, signed, intact := unsign(sign(text))
		assert.Equal(t, text, content)
		assert.True(t, signed && intact)
		_, signed, intact = unsign(sign(text) + "x")
		assert.True(t, signed && !intact)
		content, signed, intact = unsign(text)
		assert.True(t, signed || content == text && !intact)
	})
}
