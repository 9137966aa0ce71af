package controller

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
)

// C15 and C16: dots and dashes in a slice ID are its own, and a suffix belongs to the base.
func TestParseUnitNameC15(t *testing.T) {
	for name, want := range map[string]unitName{
		"ovs@10.0.0.7.service": {"ovs@.service", "10.0.0.7"},
		"web@a-b.timer":        {"web@.timer", "a-b"},
		`srv-a\x2db@1.service`: {`srv-a\x2db@.service`, "1"},
		"web-app@3f1.service":  {"web-app@.service", "3f1"},
		"web@1":                {"web@", "1"},
		"web@11":               {"web@", "11"},
		"ovs@10.0.0.7":         {"ovs@", "10.0.0.7"},
		"web@1.socket.service": {"web@.service", "1.socket"},
		"db.timer":             {"db.timer", ""},
		"db":                   {"db", ""},
		"db.x.service":         {"db.x.service", ""},
		"web@.service":         {"web@.service", ""},
		"web.app@1.automount":  {"web.app@.automount", "1"},
		"web@1.unknown":        {"web@", "1.unknown"},
		"web@service":          {"web@", "service"},
	} {
		parsed, err := parseUnitName(name)
		require.NoError(t, err, name)
		assert.Equal(t, want, parsed, name)
	}
	for _, name := range []string{"", ".service", "@", "@1.service", "web@1@2.service", "web@@.service"} {
		_, err := parseUnitName(name)
		assert.Error(t, err, name)
	}
}

// R1: what follows the group's name must be there, and be neither letter nor digit.
func TestHasGroupPrefixR1(t *testing.T) {
	for _, name := range []string{"web-app@1.service", "web@1.service", "web.service", "web_x.timer", `web\x2d.service`, "web:1.service"} {
		assert.True(t, hasGroupPrefix(name, "web"), name)
	}
	for _, name := range []string{"webhook-a.service", "web2-a.service", "webé.service", "web", "we", "a-web.service", ""} {
		assert.False(t, hasGroupPrefix(name, "web"), name)
	}
	assert.False(t, hasGroupPrefix("web.service", ""))
}

// R1: a stamp decides, whatever the name says; without one the name does.
func TestBelongsR1(t *testing.T) {
	for _, c := range []struct {
		name, stamp string
		stamped     bool
		want        bool
	}{
		{"web-a@1.service", "", false, true},
		{"webhook@1.service", "", false, false},
		{"webhook@1.service", "web", true, true},
		{"web-a@1.service", "other", true, false},
		{"web-a@1.service", "", true, false},
	} {
		detail := fleet.UnitDetail{UnitStatus: fleet.UnitStatus{Name: c.name}, Group: c.stamp, Stamped: c.stamped}
		assert.Equal(t, c.want, belongs(detail, "web"), c)
	}
}

func FuzzParseUnitName(f *testing.F) {
	for _, seed := range []string{"ovs@10.0.0.7.service", "web@a-b.timer", `srv-a\x2db@1.service`, "web@1", "db.timer", "@", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		parsed, err := parseUnitName(name)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		prefix, suffix, sliced := strings.Cut(parsed.base, "@")
		require.NotEmpty(t, prefix)
		if !sliced {
			require.Equal(t, unitName{base: name}, parsed)
			return
		}
		require.Equal(t, name, prefix+"@"+parsed.sliceID+suffix)
		if parsed.sliceID != "" && suffix != "" {
			require.Equal(t, name, extendName(parsed.base, parsed.sliceID))
		}
	})
}
