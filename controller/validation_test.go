package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const goodContent = "[Service]\nExecStart=/bin/sleep 1000\n"

func slicedRequest(change func(*Request)) Request {
	request := Request{
		RequestConfig: RequestConfig{Group: "web"},
		Units:         []Unit{{"web-app@.service", goodContent}, {"web-app@.timer", goodContent}},
	}
	if change != nil {
		change(&request)
	}
	return request
}

// requireFaults checks that err is a ValidationError by value, and that exactly the predicates named are true for it.
func requireFaults(t *testing.T, err error, want ...string) {
	t.Helper()
	faults, ok := err.(ValidationError)
	require.True(t, ok, "%T: %v", err, err)
	require.NotEmpty(t, faults.CausingErrors)
	require.NotContains(t, err.Error(), "\n")
	var holding, contained []string
	for name, predicate := range predicates {
		if predicate.is(err) {
			holding = append(holding, name)
		}
		if faults.Contains(predicate.is) {
			contained = append(contained, name)
		}
	}
	require.ElementsMatch(t, want, holding)
	require.ElementsMatch(t, want, contained)
}

// faultsOfOne are requests with one fault each.
var faultsOfOne = map[string]struct {
	change func(*Request)
	want   string
	names  string // what the message has to name
}{
	"no units":                {func(r *Request) { r.Units = nil }, "IsNoUnitsInGroup", `"web"`},
	"at in group":             {func(r *Request) { r.Group = "web@"; r.Units = r.Units[:0] }, "", `"web@"`},
	"mixed":                   {func(r *Request) { r.Units[1].Name = "web-db.service" }, "IsMixedSliceInstance", `"web"`},
	"mixed with a slice's":    {func(r *Request) { r.Units[1].Name = "web-db@1.service" }, "IsMixedSliceInstance", `"web"`},
	"prefix":                  {func(r *Request) { r.Units[1].Name = "db@.service" }, "IsBadUnitPrefix", `"db@.service"`},
	"prefix, a letter (R1)":   {func(r *Request) { r.Units[1].Name = "webhook@.service" }, "IsBadUnitPrefix", `"webhook@.service"`},
	"prefix, a digit (R1)":    {func(r *Request) { r.Units[1].Name = "web2@.service" }, "IsBadUnitPrefix", `"web2@.service"`},
	"prefix and no more (R1)": {func(r *Request) { r.Group = "web-app@.service"; r.Units = r.Units[:1] }, "", `"web-app@.service"`},
	"two at":                  {func(r *Request) { r.Units[1].Name = "web@x@.service" }, "IsMultipleAtInUnitName", `"web@x@.service"`},
	"same name":               {func(r *Request) { r.Units[1].Name = r.Units[0].Name }, "IsUnitsSameName", `"web-app@.service"`},
	"same name, apart":        {func(r *Request) { r.Units = append(r.Units, r.Units[0]) }, "IsUnitsSameName", `"web-app@.service"`},
	"empty group":             {func(r *Request) { r.Group = "" }, "IsInvalidArgument", "empty"},
	"negative number":         {func(r *Request) { r.DesiredSlices = -1 }, "IsInvalidArgument", "-1"},
	"huge number":             {func(r *Request) { r.DesiredSlices = 1 << 40 }, "IsInvalidArgument", "1099511627776"},
	"empty slice ID":          {func(r *Request) { r.SliceIDs = []string{"1", ""} }, "IsInvalidArgument", "empty"},
	"repeated slice ID":       {func(r *Request) { r.SliceIDs = []string{"1", "2", "1", "1"} }, "IsInvalidArgument", `"1"`},
	"at in slice ID":          {func(r *Request) { r.SliceIDs = []string{"a@b"} }, "IsInvalidArgument", `"a@b"`},
	"slash in slice ID":       {func(r *Request) { r.SliceIDs = []string{"a/b"} }, "IsInvalidArgument", `"a/b"`},
	"huge slice ID":           {func(r *Request) { r.SliceIDs = []string{strings.Repeat("a", 1<<20)} }, "IsInvalidArgument", "1048576 bytes"},
	"template left": {func(r *Request) { r.SliceIDs = []string{"1"}; r.Units = []Unit{{"web-a@", ""}} },
		"IsInvalidArgument", `"web-a@"`},
}

func TestValidateRequestEachFaultAlone(t *testing.T) {
	for name, c := range faultsOfOne {
		t.Run(name, func(t *testing.T) {
			valid, err := ValidateRequest(slicedRequest(c.change))
			require.False(t, valid)
			assert.ErrorContains(t, err, c.names)
			assert.Less(t, len(err.Error()), 1000)
			switch name {
			case "at in group":
				requireFaults(t, err, "IsAtInGroupNameError", "IsNoUnitsInGroup")
			case "prefix and no more (R1)":
				requireFaults(t, err, "IsAtInGroupNameError", "IsBadUnitPrefix")
			default:
				requireFaults(t, err, c.want)
			}
			assert.Len(t, err.(ValidationError).CausingErrors, strings.Count(err.Error(), ";")+1)
		})
	}
}

func TestValidateRequestBadGroupNames(t *testing.T) {
	for _, group := range []string{"a/b", "/", "..%2f", "a%", "a\x00", "a\nb", "a b", "ä", strings.Repeat("a", 252), strings.Repeat("a", 10<<20)} {
		valid, err := ValidateRequest(Request{RequestConfig: RequestConfig{Group: group}, Units: []Unit{{group + "-a.service", ""}}})
		assert.False(t, valid)
		requireFaults(t, err, "IsInvalidArgument")
		assert.Less(t, len(err.Error()), 1500)
	}
	longest := strings.Repeat("a", 251)
	valid, err := ValidateRequest(Request{RequestConfig: RequestConfig{Group: longest}, Units: []Unit{{longest + ".path", ""}}})
	assert.True(t, valid, err)
}

func TestValidateRequestAllFaultsTogether(t *testing.T) {
	valid, err := ValidateRequest(Request{
		RequestConfig: RequestConfig{Group: "web@", SliceIDs: []string{"", "1", "1", "@"}},
		Units:         []Unit{{"a.service", ""}, {"a.service", ""}, {"web@@.service", ""}, {"web@@.b@", ""}},
		DesiredSlices: -1,
	})
	assert.False(t, valid)
	requireFaults(t, err, "IsAtInGroupNameError", "IsMixedSliceInstance", "IsBadUnitPrefix", "IsMultipleAtInUnitName",
		"IsUnitsSameName", "IsInvalidArgument")

	_, err = ValidateRequest(Request{DesiredSlices: -1})
	requireFaults(t, err, "IsNoUnitsInGroup", "IsInvalidArgument")
	assert.Len(t, err.(ValidationError).CausingErrors, 3)
}

func TestValidateRequestAccepts(t *testing.T) {
	for name, request := range map[string]Request{
		"sliced":           slicedRequest(nil),
		"with slice IDs":   slicedRequest(func(r *Request) { r.SliceIDs = []string{"1", "10.0.0.7", "a-b"} }),
		"with a number":    slicedRequest(func(r *Request) { r.DesiredSlices = 3 }),
		"with both":        slicedRequest(func(r *Request) { r.DesiredSlices = 3; r.SliceIDs = []string{"1"} }),
		"names alone":      slicedRequest(func(r *Request) { r.Units[0].Content = ""; r.Units[1].Content = "" }),
		"no unit file":     slicedRequest(func(r *Request) { r.Units[0].Content = "some content" }),
		"an instance":      slicedRequest(func(r *Request) { r.Units = []Unit{{"web-db.service", ""}, {"web.timer", ""}} }),
		"slices by name":   slicedRequest(func(r *Request) { r.Units = []Unit{{"web-db@1.service", ""}, {"web-db@2.service", ""}} }),
		"without a suffix": slicedRequest(func(r *Request) { r.Units = []Unit{{"web-db", ""}, {"web-db@1", ""}} }),
	} {
		valid, err := ValidateRequest(request)
		assert.True(t, valid, name)
		assert.NoError(t, err, name)
	}
}

func TestValidateSubmitRequest(t *testing.T) {
	valid, err := ValidateSubmitRequest(slicedRequest(nil))
	assert.False(t, valid)
	requireFaults(t, err, "IsInvalidSubmitRequestNoSliceIDsGiven")

	valid, err = ValidateSubmitRequest(slicedRequest(func(r *Request) { r.DesiredSlices = 1; r.SliceIDs = []string{"1"} }))
	assert.False(t, valid)
	requireFaults(t, err, "IsInvalidSubmitRequestSlicesGiven")

	// This one comes first, and alone.
	valid, err = ValidateSubmitRequest(Request{})
	assert.False(t, valid)
	requireFaults(t, err, "IsInvalidSubmitRequestNoSliceIDsGiven")

	for _, change := range []func(*Request){
		func(r *Request) { r.DesiredSlices = 3 },
		func(r *Request) { r.SliceIDs = []string{"1", "2"} },
		func(r *Request) { r.DesiredSlices = 1; r.Units = []Unit{{"web-db.service", ""}} },
	} {
		valid, err = ValidateSubmitRequest(slicedRequest(change))
		assert.True(t, valid)
		assert.NoError(t, err)
	}

	for name, c := range faultsOfOne {
		request := slicedRequest(c.change)
		if request.DesiredSlices == 0 && len(request.SliceIDs) == 0 {
			request.DesiredSlices = 1
		}
		valid, err = ValidateSubmitRequest(request)
		assert.False(t, valid, name)
		assert.IsType(t, ValidationError{}, err, name)
		assert.ErrorContains(t, err, c.names, name)
	}
}

func TestValidateSubmitRequestOfInstanceGroup(t *testing.T) {
	for _, change := range []func(*Request){
		func(r *Request) { r.DesiredSlices = 2 },
		func(r *Request) { r.SliceIDs = []string{"1"} },
	} {
		request := slicedRequest(change)
		request.Units = []Unit{{"web-db.service", goodContent}}
		valid, err := ValidateSubmitRequest(request)
		assert.False(t, valid)
		requireFaults(t, err, "IsInvalidArgument")
		requireFaults(t, validateUpdate(request), "IsInvalidArgument")
	}
}

func TestValidateMultipleRequest(t *testing.T) {
	requests := func(groups ...string) []Request {
		var list []Request
		for _, group := range groups {
			list = append(list, Request{RequestConfig: RequestConfig{Group: group}})
		}
		return list
	}
	for _, list := range [][]Request{nil, requests("a"), requests("web", "db", "api")} {
		valid, err := ValidateMultipleRequest(list)
		assert.True(t, valid)
		assert.NoError(t, err)
	}
	valid, err := ValidateMultipleRequest(requests("web", "db", "web", "web"))
	assert.False(t, valid)
	requireFaults(t, err, "IsGroupsSameName")
	assert.Len(t, err.(ValidationError).CausingErrors, 1)

	_, err = ValidateMultipleRequest(requests("webhook", "db", "web"))
	requireFaults(t, err, "IsGroupsArePrefix")
	assert.ErrorContains(t, err, `"web"`)
	assert.ErrorContains(t, err, `"webhook"`)

	_, err = ValidateMultipleRequest(requests("webhook", "db", "web", "db"))
	requireFaults(t, err, "IsGroupsArePrefix", "IsGroupsSameName")
}

// A request that says what to look for may leave the units out, and nothing else.
func TestValidateSelection(t *testing.T) {
	assert.NoError(t, validateSelection(Request{RequestConfig: RequestConfig{Group: "web"}}))
	assert.NoError(t, validateSelection(slicedRequest(nil)))
	requireFaults(t, validateSelection(Request{RequestConfig: RequestConfig{Group: "we/b"}}), "IsInvalidArgument")
	requireFaults(t, validateSelection(slicedRequest(faultsOfOne["prefix"].change)), "IsBadUnitPrefix")
}

func TestValidationError(t *testing.T) {
	var faults ValidationError
	assert.NoError(t, faults.orNil())
	cause := errors.New("two\nlines")
	faults.Add(cause)
	faults.Add(fmt.Errorf("web: %w", errUnitsSameName))
	assert.Same(t, cause, faults.CausingErrors[0])
	assert.Equal(t, "invalid request: two lines; web: units of the same name", faults.Error())
	assert.ErrorIs(t, faults.orNil(), cause)
	assert.True(t, faults.Contains(IsUnitsSameName))
	assert.False(t, faults.Contains(IsUnitNotFound))

	var target ValidationError
	require.ErrorAs(t, fmt.Errorf("submit: %w", faults.orNil()), &target)
	assert.Equal(t, faults, target)
}

// The time of a unit and slice ID is the same in a long request as in a short one.
func BenchmarkValidateRequest(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		request := Request{RequestConfig: RequestConfig{Group: "web"}}
		for i := range n {
			request.SliceIDs = append(request.SliceIDs, fmt.Sprintf("%x", i))
			request.Units = append(request.Units, Unit{fmt.Sprintf("web-%d@.service", i), goodContent})
		}
		b.Run(fmt.Sprintf("slices=units=%d", n), func(b *testing.B) {
			for b.Loop() {
				if valid, err := ValidateRequest(request); !valid {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/unit")
		})
	}
}
