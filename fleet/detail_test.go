package fleet

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/unitmeta"
)

// C15.
func TestSliceID(t *testing.T) {
	for name, want := range map[string]string{
		"ovs@10.0.0.7.service": "10.0.0.7",
		"web@a-b.timer":        "a-b",
		`srv-a\x2db@1.service`: "1",
		"db.timer":             "",
		"web@.service":         "",
		"web@1":                "1",
		"ovs@10.0.0.7":         "10.0.0.7",
		"a@b@c.service":        "b@c",
		"":                     "",
	} {
		assert.Equal(t, want, sliceID(name), name)
	}
}

// R17a.
func TestOneshot(t *testing.T) {
	for content, want := range map[string]bool{
		"[Service]\nType=oneshot\n":                                                true,
		"[Service]\nType=simple\n":                                                 false,
		"[Service]\nExecStart=/bin/true\n":                                         false,
		"[Service]\nType=oneshot\nRemainAfterExit=yes\n":                           false,
		"[Service]\nType=oneshot\nRemainAfterExit=TRUE\n":                          false,
		"[Service]\nType=oneshot\nRemainAfterExit=on\n":                            false,
		"[Service]\nType=oneshot\nRemainAfterExit=1\n":                             false,
		"[Service]\nType=oneshot\nRemainAfterExit=no\n":                            true,
		"[Service]\nType=oneshot\nRemainAfterExit=yes\nRemainAfterExit=no\n":       true,
		"[Service]\nType=oneshot\nRemainAfterExit=no\nRemainAfterExit=yes\n":       false,
		"[Service]\nType=oneshot\nRemainAfterExit=yes\nRemainAfterExit=nonsense\n": false,
		"[Service]\nType=simple\nType=oneshot\n":                                   true,
		"[Service]\nType=oneshot\nType=simple\n":                                   false,
		"[Unit]\nType=oneshot\n":                                                   false,
	} {
		detail, err := DetailOf("job.service", content)
		require.NoError(t, err)
		assert.Equal(t, want, detail.Oneshot, content)
	}
	detail, err := DetailOf("job.timer", "[Service]\nType=oneshot\n")
	require.NoError(t, err)
	assert.False(t, detail.Oneshot, "only a service can be one")
}

func TestGlobal(t *testing.T) {
	for content, want := range map[string]bool{
		"[X-Fleet]\nGlobal=true\n":               true,
		"[X-Fleet]\nGlobal=Yes\n":                true,
		"[X-Fleet]\nGlobal=t\n":                  true,
		"[X-Fleet]\nGlobal=y\n":                  false,
		"[X-Fleet]\nGlobal=\"true\"\n":           true,
		"[X-Fleet]\nGlobal=\"true\" \"false\"\n": false,
		"[X-Fleet]\nGlobal=true\nGlobal=false\n": false,
		"[X-Fleet]\nGlobal=false\nGlobal=on\n":   true,
		"[X-Fleet]\nGlobal=\n":                   false,
		"[Unit]\nGlobal=true\n":                  false,
	} {
		detail, err := DetailOf("a.service", content)
		require.NoError(t, err)
		assert.Equal(t, want, detail.Global, content)
	}
}

// R1.
func TestStamp(t *testing.T) {
	detail, err := DetailOf("a.service", "[Unit]\nA=b\n[X-Squadron]\nGroup=x\nGroup=web\n")
	require.NoError(t, err)
	assert.Equal(t, "web", detail.Group)
	assert.True(t, detail.Stamped)
	detail, err = DetailOf("a.service", "[X-Squadron]\nGroup=\n")
	require.NoError(t, err)
	assert.True(t, detail.Stamped, "an empty stamp is one")
	detail, err = DetailOf("a.service", "[X-Fleet]\nGroup=web\n")
	require.NoError(t, err)
	assert.False(t, detail.Stamped)
}

func TestMachineMetadata(t *testing.T) {
	for line, want := range map[string]map[string][]string{
		"MachineMetadata=a=b":                    {"a": {"b"}},
		"MachineMetadata=\"a=b\" \"c=d\"":        {"a": {"b"}, "c": {"d"}},
		"MachineMetadata=\"a=b c\" \"a=d\"":      {"a": {"b c", "d"}},
		"MachineMetadata=a=b\nMachineMetadata=c": {"a": {"b"}},
		"MachineMetadata=a=b=c":                  {},
		"MachineMetadata==b":                     {},
		"MachineMetadata=slice=%i":               {"slice": {"1"}},
		"MachineMetadata=u=%p-%N-%n":             {"u": {"web-web@1-web@1.service"}},
		"X-ConditionMachineMetadata=a=b":         {"a": {"b"}},
	} {
		options, err := parseContent("[X-Fleet]\n" + line + "\n")
		require.NoError(t, err)
		assert.Equal(t, unitmeta.Metadata(want), readFacts("web@1.service", options).metadata, line)
	}
}
