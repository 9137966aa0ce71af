package revision

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func FuzzEscape(f *testing.F) {
	for _, name := range []string{"web", "..", "../x", "%", "%2E", "a/b", ".hidden", "\x00", "über", "a%", "%zz", "%2e"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if escaped, err := escape(name); err == nil {
			assert.Equal(t, filepath.Join("/root", escaped), "/root/"+escaped)
			assert.Equal(t, escaped, filepath.Base(filepath.Join("/root", escaped)), "it stays in its directory")
			assert.False(t, isHidden(escaped))
			back, err := unescape(escaped)
			assert.NoError(t, err)
			assert.Equal(t, name, back)
		}
		// And the other way: a file's name is the escape of at most one name.
		if back, err := unescape(name); err == nil {
			again, err := escape(back)
			assert.NoError(t, err)
			assert.Equal(t, name, again)
		}
	})
}

func FuzzParseEntry(f *testing.F) {
	f.Add(entry{number: 1, time: time.Unix(1, 2), sum: sumOf("text")}.fileName())
	f.Add("1-2-3.manifest")
	f.Add("000000000001--2-x.manifest")
	f.Fuzz(func(t *testing.T, name string) {
		if e, err := parseEntry(name); err == nil {
			assert.Equal(t, name, e.fileName())
		}
	})
}
