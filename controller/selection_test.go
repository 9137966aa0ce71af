package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
)

func detailsNamed(names ...string) []fleet.UnitDetail {
	var details []fleet.UnitDetail
	for _, name := range names {
		details = append(details, fleet.UnitDetail{UnitStatus: fleet.UnitStatus{Name: name}})
	}
	return details
}

func stampedAll(details []fleet.UnitDetail) []fleet.UnitDetail {
	for i := range details {
		details[i].Stamped, details[i].Group = true, "web"
	}
	return details
}

// R1a: what can be one group, and what can't.
func TestCheckOneGroupR1a(t *testing.T) {
	for name, c := range map[string]struct {
		found []fleet.UnitDetail
		one   bool
	}{
		"nothing":             {nil, true},
		"unsliced":            {detailsNamed("web-a.service", "web-2-b.service"), true},
		"one base":            {detailsNamed("web-a@1.service", "web-a@2.service"), true},
		"a slice in common":   {detailsNamed("web-a@1.service", "web-a@2.service", "web-b@2.service", "web-b@3.service"), true},
		"none in common":      {detailsNamed("web-a@1.service", "web-b@2.service"), false},
		"two of three meet":   {detailsNamed("web-a@1.service", "web-b@1.service", "web-b@2.service", "web-c@2.service"), false},
		"by suffix":           {detailsNamed("web-a@1.service", "web-a@2.timer"), false},
		"mixed":               {detailsNamed("web-a@1.service", "web-a.service"), false},
		"mixed, with a stamp": {stampedAll(detailsNamed("web-a@1.service", "web-a.service")), true},
		"partly with a stamp": {append(stampedAll(detailsNamed("web-a@1.service")), detailsNamed("web-b.service")...), false},
		"a template":          {detailsNamed("web-a@1.service", "web-b@.service"), false},
	} {
		err := checkOneGroup("web", c.found)
		assert.Equal(t, c.one, err == nil, "%s: %v", name, err)
		if !c.one {
			assert.True(t, IsAmbiguousGroup(err), name)
		}
	}
}

// R1, R2: the units that a request is about.
func TestSelectionR1R2(t *testing.T) {
	all := detailsNamed("web-a@1.service", "web-a@1.timer", "web-a@11.service", "web-b@1.service", "web-c.service", "webhook@1.service", "@.service")
	for name, c := range map[string]struct {
		req  Request
		want []string
	}{
		"all":            {Request{}, []string{"web-a@1.service", "web-a@1.timer", "web-a@11.service", "web-b@1.service", "web-c.service"}},
		"a slice":        {Request{RequestConfig: RequestConfig{SliceIDs: []string{"1"}}}, []string{"web-a@1.service", "web-a@1.timer", "web-b@1.service"}},
		"a base":         {Request{Units: []Unit{{Name: "web-a@.service"}}}, []string{"web-a@1.service", "web-a@11.service"}},
		"a name":         {Request{Units: []Unit{{Name: "web-c.service"}}}, []string{"web-c.service"}},
		"a slice's name": {Request{Units: []Unit{{Name: "web-a@11.service"}}}, []string{"web-a@11.service"}},
		"not its":        {Request{Units: []Unit{{Name: "webhook@.service"}}}, nil},
	} {
		c.req.Group = "web"
		s := newSelection(c.req)
		found := matching(all, func(d fleet.UnitDetail) bool { return s.inGroup(d) && s.inSlices(d) })
		if c.want == nil {
			assert.Empty(t, found, name)
			continue
		}
		assert.Equal(t, c.want, namesOf(found), name)
	}
}

// R2: missing slices, some and all.
func TestMissingSlices(t *testing.T) {
	req := Request{RequestConfig: RequestConfig{SliceIDs: []string{"1", "2"}}}
	require.NoError(t, missingSlices(req, detailsNamed("web@1.service", "web@2.service")))
	require.NoError(t, missingSlices(Request{}, nil))
	err := missingSlices(req, detailsNamed("web@1.service"))
	assert.True(t, IsUnitSliceNotFound(err) && !IsUnitNotFound(err), "%v", err)
	assert.EqualError(t, err, "slices 2: unit slice not found")
	err = missingSlices(req, nil)
	assert.True(t, IsUnitSliceNotFound(err) && IsUnitNotFound(err), "%v", err)
}

// C8: a state that the last listing lacks is the one before's, for the same machine only.
func TestFillInStatesC8(t *testing.T) {
	on := func(id, active string) []fleet.MachineStatus {
		return []fleet.MachineStatus{{ID: id, SystemdActive: active}}
	}
	found := detailsNamed("a", "b", "c", "d")
	found[0].Machine, found[1].Machine, found[2].Machine = on("m1", ""), on("m2", ""), on("m1", "failed")
	before := map[string]fleet.UnitDetail{}
	for _, detail := range detailsNamed("a", "b", "c", "d") {
		detail.Machine = on("m1", "active")
		before[detail.Name] = detail
	}
	fillInStates(found, before)
	assert.Equal(t, on("m1", "active"), found[0].Machine)
	assert.Equal(t, on("m2", ""), found[1].Machine)
	assert.Equal(t, on("m1", "failed"), found[2].Machine)
	assert.Empty(t, found[3].Machine)
}
