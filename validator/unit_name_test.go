package validator

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnitNameAcceptsR4(t *testing.T) {
	for _, name := range []string{
		"web.service", "web@1.service", "ovs@10.0.0.7.service", "web@a-b.timer", `srv-a\x2db@1.service`, "a:b_c.mount",
		"db.timer", "x.automount", "x.busname", "x.device", "x.path", "x.scope", "x.slice", "x.snapshot", "x.socket",
		"x.swap", "x.target", "x@1.path", "x@1.socket", "x@1.target", "a@b@c.service",
		strings.Repeat("a", MaxNameLength-8) + ".service",
	} {
		assert.NoError(t, UnitName(name), name)
		assert.NoError(t, TemplateName(name), name)
	}
}

func TestUnitNameRefusesR4(t *testing.T) {
	for name, rule := range map[string]string{
		"":              "empty",
		"web":           "suffix",
		"web.":          "suffix",
		"service":       "suffix",
		"web@1":         "suffix",
		"web.conf":      "suffix",
		"web.service ":  "suffix",
		"web.Service":   "suffix",
		".service":      "before the suffix",
		"@1.service":    "begins with @",
		"web@1.mount":   "@ in the name",
		"web@1.device":  "@ in the name",
		"a/b.service":   `'/'`,
		"a%i.service":   `'%'`,
		"a\x00.service": `'\x00'`,
		"a\n.service":   `'\n'`,
		"a b.service":   `' '`,
		"ä.service":     `'ä'`,
		"\xff.service":  `'�'`,
		strings.Repeat("a", MaxNameLength-7) + ".service": "257 bytes",
		strings.Repeat("a", 10<<20):                       "10485760 bytes",
	} {
		err := UnitName(name)
		require.Error(t, err, "%.40q", name)
		assert.Contains(t, err.Error(), rule)
		assert.NotContains(t, err.Error(), "\n")
		assert.Less(t, len(err.Error()), 1000)
		assert.Error(t, TemplateName(name), "%.40q", name)
	}
}

func TestUnitNameTemplateR4(t *testing.T) {
	assert.ErrorContains(t, UnitName("web@.service"), "template")
	assert.NoError(t, TemplateName("web@.service"))
	assert.Error(t, TemplateName("web@.mount"))
}

func TestNamePart(t *testing.T) {
	assert.NoError(t, NamePart("10.0.0.7"))
	assert.NoError(t, NamePart(""))
	assert.Error(t, NamePart("a/b"))
	assert.Error(t, NamePart(strings.Repeat("a", MaxNameLength+1)))
}

func TestSplitSuffix(t *testing.T) {
	for name, want := range map[string][2]string{
		"web@1.service": {"web@1", ".service"},
		"web@1.2":       {"web@1.2", ""},
		"web":           {"web", ""},
		"service":       {"service", ""},
		".timer":        {"", ".timer"},
		"":              {"", ""},
	} {
		stem, suffix := SplitSuffix(name)
		assert.Equal(t, want, [2]string{stem, suffix}, name)
	}
}

func FuzzUnitName(f *testing.F) {
	for _, seed := range []string{"web@1.service", "@.service", "a/b.service", "web@.timer", "a@b@c.service", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		stem, suffix := SplitSuffix(name)
		require.Equal(t, name, stem+suffix)
		if TemplateName(name) != nil {
			require.Error(t, UnitName(name))
			return
		}
		require.NoError(t, NamePart(name))
		require.NotEmpty(t, suffix)
		require.False(t, strings.ContainsAny(name, "/% \x00\r\n\""))
		require.Equal(t, UnitName(name) != nil, strings.HasSuffix(stem, "@"))
	})
}

func TestAgentRunsR4(t *testing.T) {
	for _, name := range []string{"a.service", "a@1.socket", "a@.timer", "a.path", "dev-sda.device", "a.mount", "a.automount"} {
		assert.NoError(t, AgentRuns(name))
	}
	for _, name := range []string{"a.busname", "a.snapshot", "a.slice", "a.target", "a.swap", "a.scope", "a", ""} {
		assert.Error(t, AgentRuns(name), name)
	}
}
