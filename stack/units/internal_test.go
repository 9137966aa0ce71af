package units

import (
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/validator"
)

func TestRevisionIsThatOfWhatTheUnitFilesSay(t *testing.T) {
	revision := func(files ...string) string {
		var all []controller.Unit
		for i := 0; i < len(files); i += 2 {
			all = append(all, controller.Unit{Name: files[i], Content: files[i+1]})
		}
		hash, err := revisionOf(all)
		require.NoError(t, err)
		return hash
	}
	one := revision("a.service", "[Service]\nExecStart=/x\n", "b.service", "[Service]\nExecStart=/y\n")
	assert.Equal(t, one, revision("b.service", "[Service]\nExecStart=/y\n", "a.service", "# x\n[Service]\n\nExecStart=/x"))
	assert.NotEqual(t, one, revision("a.service", "[Service]\nExecStart=/y\n", "b.service", "[Service]\nExecStart=/x\n"))
	assert.NotEqual(t, one, revision("a.service", "[Service]\nExecStart=/x\n"))
}

func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":               nil,
		" a  b ":         {"a", "b"},
		`"a b" 'c d'e`:   {"a b", "c de"},
		"a \\\n b\\\nc":  {"a", "b", "c"},
		`"" x`:           {"", "x"},
		`"unclosed text`: {"unclosed text"},
	} {
		assert.Equal(t, want, words(text), "%q", text)
	}
}

// FuzzOptions holds the options, and the lines at which they begin, against the parser of the unit files.
func FuzzOptions(f *testing.F) {
	f.Add("[Unit]\n# c\nA=1\n\n[Service]\nB=x \\\n  y\nC=\n; d \\\n\nD=z\\\n# no comment\n")
	f.Add("[A]\r\nB = c\r\n")
	f.Fuzz(func(t *testing.T, content string) {
		if validator.UnitFile("x.service", content) != nil {
			return
		}
		options, err := optionsOf(content)
		require.NoError(t, err)
		parsed, err := unit.DeserializeOptions(strings.NewReader(content))
		require.NoError(t, err)
		require.Len(t, options, len(parsed))
		text := strings.Split(content, "\n")
		for i, o := range options {
			assert.Equal(t, *parsed[i], unit.UnitOption{Section: o.section, Name: o.name, Value: o.value})
			require.Positive(t, o.line)
			name, _, found := strings.Cut(text[o.line-1], "=")
			assert.True(t, found)
			assert.Equal(t, o.name, strings.TrimSpace(name))
			_, _, _ = hostPathsOf(o), dependenciesOf(o), peersOf(o)
		}
	})
}

func FuzzServiceID(f *testing.F) {
	f.Add("web/web-app@.service/alice/x")
	f.Add("//")
	f.Fuzz(func(t *testing.T, text string) {
		if id, err := parseServiceID(text); err == nil {
			assert.Equal(t, text, id.String())
		}
	})
}

func FuzzCovers(f *testing.F) {
	f.Add("/srv", "/srv/../etc")
	f.Add("/", "/run/docker.sock")
	f.Add("/var/run", "/run/x")
	f.Fuzz(func(t *testing.T, allowed, to string) {
		if covers(allowed, to) && strings.HasPrefix(to, "/") && !strings.Contains(to, "%") {
			clean := realRun(to)
			assert.True(t, strings.HasPrefix(clean+"/", strings.TrimSuffix(realRun(allowed), "/")+"/"))
		}
	})
}
