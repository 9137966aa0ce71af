package controller

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func submitRequest(name, content string) Request {
	return Request{RequestConfig: RequestConfig{Group: "web", SliceIDs: []string{"1", "10.0.0.7"}}, Units: []Unit{{name, content}}}
}

// R4: Submit and Update refuse what fleet or its parser would not take as it is, in the same ValidationError as all else.
func TestValidateUnitFilesR4(t *testing.T) {
	assert.NoError(t, validateSubmit(submitRequest("web@.service", goodContent)))
	assert.NoError(t, validateUpdate(submitRequest("web@.service", goodContent)))

	for name, c := range map[string]struct {
		unit, content string
		want          []string
	}{
		"empty content":   {"web@.service", "", []string{`"web@.service"`, "content is empty"}},
		"no unit file":    {"web@.service", "hello", []string{`"web@.service"`, "line 1"}},
		"no suffix":       {"web@.", goodContent, []string{`"web@."`, "suffix"}},
		"wrong suffix":    {"web@.mount", goodContent, []string{`"web@.mount"`}},
		"slash":           {"web-a/b@.service", goodContent, []string{`"web-a/b@.service"`, "'/'"}},
		"percent sign":    {"web-%i@.service", goodContent, []string{`"web-%i@.service"`, "'%'"}},
		"newline":         {"web-\n@.service", goodContent, []string{`"web-\n@.service"`}},
		"place of the ID": {"web@.1.service", goodContent, []string{`"web@.1.service"`, "before the suffix"}},
		"long with its ID": {"web-" + strings.Repeat("a", 237) + "@.service", goodContent,
			[]string{"258 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []error{
				validateSubmit(submitRequest(c.unit, c.content)), validateUpdate(submitRequest(c.unit, c.content)),
			} {
				requireFaults(t, err, "IsInvalidArgument")
				for _, part := range c.want {
					assert.ErrorContains(t, err, part)
				}
			}
		})
	}
	atTheLimit := "web-" + strings.Repeat("a", 235) + "@.service"
	assert.NoError(t, validateSubmit(submitRequest(atTheLimit, goodContent)))
}

// C1, C2, C3: the unit, the line and the rule are named, and the fault is one of the request.
func TestValidateUnitFilesC1C2C3(t *testing.T) {
	comment, err := os.ReadFile("../validator/testdata/comment-backslash.service")
	require.NoError(t, err)
	include, err := os.ReadFile("../validator/testdata/include.service")
	require.NoError(t, err)
	for content, parts := range map[string][]string{
		string(comment): {"line 5", "line 6", "ExecStart"},
		string(include): {"line 1", ".include"},
		"[Service]\nExecStart=/bin/echo " + strings.Repeat("x", 2080) + "\n": {"line 2", "2,048"},
	} {
		err := validateSubmit(submitRequest("web@.service", content))
		requireFaults(t, err, "IsInvalidArgument")
		for _, part := range append(parts, `"web@.service"`) {
			assert.ErrorContains(t, err, part)
		}
	}
	split := "[Service]\nExecStart=/bin/echo " + strings.Repeat("x", 1478) + " \\\n" + strings.Repeat("y", 600) + "\n"
	assert.NoError(t, validateSubmit(submitRequest("web@.service", split)))
}

// What is wrong with the request and what is wrong with its units come together.
func TestValidateSubmitCollectsR4(t *testing.T) {
	request := submitRequest("db@.service", "")
	requireFaults(t, validateSubmit(request), "IsBadUnitPrefix", "IsInvalidArgument")
	requireFaults(t, validateUpdate(request), "IsBadUnitPrefix", "IsInvalidArgument")
	assert.Len(t, validateSubmit(request).(ValidationError).CausingErrors, 2)
}

// However many slices there are, each content is looked at once, and ten MiB of it not at all.
func TestValidateUnitFilesIsBoundedR4(t *testing.T) {
	request := submitRequest("web@.service", strings.Repeat("x", 10<<20))
	request.SliceIDs = strings.Split(strings.Repeat("a ", 100000), " ")
	faults := validateUnitFiles(request)
	require.Len(t, faults, 1)
	assert.ErrorContains(t, faults[0], "10485760 bytes")
}
