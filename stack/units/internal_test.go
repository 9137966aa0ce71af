package units

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
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

// shifting has a list over several pages, of which each listing lacks another unit.
type shifting struct {
	units []string
	lacks int
}

func (s *shifting) ReadUnits(_ context.Context, selector fleet.Selector) (fleet.Listing, error) {
	var listing fleet.Listing
	for i, name := range s.units {
		if selector.Exact && slices.Contains(selector.Names, name) || !selector.Exact && i != s.lacks%len(s.units) {
			listing.Units = append(listing.Units, fleet.UnitDetail{UnitStatus: fleet.UnitStatus{Name: name}})
		}
	}
	s.lacks++
	return listing, nil
}

// R20a: where listings go on differing, each unit that one of them had is asked for by name.
func TestListingsThatDifferAreAskedForByName(t *testing.T) {
	all := []string{"web@1.service", "web@2.service", "web@3.service"}
	c := &core{config: Config{WaitTimeout: time.Minute}, reader: &shifting{units: all}}
	found, err := c.look(t.Context(), fleet.Selector{Groups: []string{"web"}})
	require.NoError(t, err)
	assert.Equal(t, all, namesOf(found))
}

// oneText has one content for every unit.
type oneText string

func (o oneText) ReadContent(context.Context, string) (string, error) { return string(o), nil }

// What is read under a name is taken only for what the look has shown.
func TestAContentThatIsNotTheOneSeenIsRefused(t *testing.T) {
	now, before := oneText("[Service]\nExecStart=/new\n"), "[Service]\nExecStart=/old\n"
	hash, err := fleet.UnitHash(before)
	require.NoError(t, err)
	seen := []fleet.UnitDetail{{UnitStatus: fleet.UnitStatus{Name: "web.service"}, Hash: hash}}
	_, err = newContents(now).of(t.Context(), seen)
	require.ErrorIs(t, err, errChanged)
	found, err := newContents(oneText(before)).of(t.Context(), seen)
	require.NoError(t, err)
	assert.Equal(t, "/old", found[hash][0].value)
}
