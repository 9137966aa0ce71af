package controller

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// No request makes the functions panic or change it, and the verdict is always of the promised form. What Submit takes
// can be written out, and read back as the slices and units that were asked for.
func FuzzRequest(f *testing.F) {
	f.Add("web", "1,2", "web-a@.service,web-b@.timer", "[Service]\nA=b\n", 0)
	f.Add("web", "", "web-a.service", "", 1)
	f.Add("", "a@b,,1", "@,@@,a@.b@.service,web@.1.service", "\x00", -1)
	f.Add("we/b", "10.0.0.7", "we/b@.service,we/b@.service", "# \\\nx", 1<<40)
	f.Fuzz(func(t *testing.T, group, ids, names, content string, desired int) {
		request := NewRequest(RequestConfig{Group: group, SliceIDs: splitList(ids)})
		request.DesiredSlices = desired
		for _, name := range splitList(names) {
			request.Units = append(request.Units, Unit{Name: name, Content: content})
		}
		before := request.clone()
		for _, validate := range []func(Request) (bool, error){
			ValidateRequest, ValidateSubmitRequest,
			func(r Request) (bool, error) { return ValidateMultipleRequest([]Request{r, {}, r}) },
			func(r Request) (bool, error) { err := validateSubmit(r); return err == nil, err },
			func(r Request) (bool, error) { err := validateUpdate(r); return err == nil, err },
		} {
			valid, err := validate(request)
			require.Equal(t, valid, err == nil)
			if err != nil {
				require.IsType(t, ValidationError{}, err)
				require.NotContains(t, err.Error(), "\n")
			}
			require.Equal(t, before, request)
		}
		extended, err := request.ExtendSlices()
		require.NoError(t, err)
		require.Equal(t, before, request)
		if validateSubmit(request) == nil && len(request.SliceIDs) > 0 {
			requireExtended(t, request, extended)
		}
	})
}

func requireExtended(t *testing.T, request, extended Request) {
	require.Len(t, extended.Units, len(request.SliceIDs)*len(request.Units))
	seen := map[string]bool{}
	for i, unit := range extended.Units {
		require.False(t, seen[unit.Name], unit.Name)
		seen[unit.Name] = true
		parsed, err := parseUnitName(unit.Name)
		require.NoError(t, err)
		require.Equal(t, request.SliceIDs[i/len(request.Units)], parsed.sliceID)
		require.Equal(t, request.Units[i%len(request.Units)].Name, parsed.base)
	}
}

func splitList(list string) []string {
	if list == "" {
		return []string{}
	}
	return strings.Split(list, ",")
}
