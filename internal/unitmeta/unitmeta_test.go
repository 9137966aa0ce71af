package unitmeta

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestValues(t *testing.T) {
	for line, want := range map[string][]string{
		"a=b":                 {"a=b"},
		`"a=b" "c=d"`:         {"a=b", "c=d"},
		"%p-%i %n %N":         {"web-1 web@1.service web@1"},
		`"%p.service" "%i"`:   {"web.service", "1"},
		"":                    {""},
		"no specifier: %x 5%": {"no specifier: %x 5%"},
	} {
		assert.Equal(t, want, Values("web@1.service", line), line)
	}
	assert.Equal(t, []string{"%n"}, Values("nodot", "%n"))
}

// Values of one key are alternatives, keys are joint conditions, and what is no condition is none.
func TestMetadata(t *testing.T) {
	m := Metadata{}
	for _, condition := range []string{"zone=a", "zone=b", "disk=ssd", "x", "=", "a=", "=b", "a=b=c"} {
		m.Add(condition)
	}
	assert.Len(t, m, 2)
	assert.True(t, m.Met(map[string]string{"zone": "b", "disk": "ssd", "more": "x"}))
	assert.False(t, m.Met(map[string]string{"zone": "b"}))
	assert.False(t, m.Met(map[string]string{"zone": "c", "disk": "ssd"}))
	assert.True(t, Metadata{}.Met(nil))
}

// No line makes it panic or come back without a value.
func FuzzValues(f *testing.F) {
	f.Add("web@1.service", `"a=%i" "b"`)
	f.Add(".", "%n%N")
	f.Fuzz(func(t *testing.T, name, line string) {
		assert.NotEmpty(t, Values(name, line))
	})
}

func ExampleValues() {
	fmt.Printf("%q\n", Values("web@1.service", `"zone=a" "instance=%i"`))
	// Output: ["zone=a" "instance=1"]
}
