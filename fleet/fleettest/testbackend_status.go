package fleettest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/fleet"
)

// statusRules are about what the reads of fleet.Fleet tell.
func statusRules() []backendRule {
	return []backendRule{
		{
			name:  "name and slice",
			why:   "the slice ID is what stands between @ and the suffix, dots included, and empty without @",
			check: checkNames,
		}, {
			name:  "states",
			why:   "fleet's states are inactive, loaded and launched, and nothing else is understood",
			check: checkStates,
		}, {
			name:  "machines of a unit",
			why:   "a unit that isn't global is on one machine at most, and none is told twice",
			check: checkMachinesOfUnit,
		}, {
			name:  "matcher",
			why:   "a listing has every unit that the matcher takes, no other, none twice, sorted by name",
			check: checkMatcher,
		}, {
			name:  "matcher without match",
			why:   "a matcher that matches nothing gives an error of IsUnitNotFound, not an empty list",
			check: checkMatcherNothing,
		}, {
			name:  "no matcher",
			why:   "a mistake of the caller is an error and no panic",
			check: checkNoMatcher,
		}, {
			name:  "copies",
			why:   "what is returned belongs to the caller, who may change it",
			check: checkCopies,
		},
	}
}

func checkNames(r *ruleRun) {
	for rest, slice := range map[string]string{
		".service": "", "@1.service": "1", "@10.0.0.7.service": "10.0.0.7", "@a-b:c_d.service": "a-b:c_d",
	} {
		name := r.unit(rest)
		if r.submit(name, r.content(1)) {
			r.becomes(name, fmt.Sprintf("named so and of slice %q", slice), func(s fleet.UnitStatus) bool {
				return s.Name == name && s.SliceID == slice
			})
		}
	}
}

// checkStates looks at a unit all the way from its creation to launched.
func checkStates(r *ruleRun) {
	known := []string{inactive, loaded, launched}
	name := r.unit("@1.service")
	if !r.submit(name, r.content(1)) || !r.start(name) {
		return
	}
	r.eventually(func() (bool, string) {
		status, err := r.backend.GetStatus(r.ctx, name)
		if err == nil && (!slices.Contains(known, status.Current) || !slices.Contains(known, status.Desired)) {
			r.failf("%s is current %q and desired %q", name, status.Current, status.Desired)
			return true, ""
		}
		return err == nil && status.Current == launched, fmt.Sprintf("%s is not launched: %+v, %v", name, status, err)
	})
}

func checkMachinesOfUnit(r *ruleRun) {
	name, ok := r.running("@1.service")
	if !ok {
		return
	}
	status, err := r.backend.GetStatus(r.ctx, name)
	if r.ok("get status", err) && len(status.Machine) != 1 {
		r.failf("%s, which runs, is on %d machines: %+v", name, len(status.Machine), status.Machine)
	}
	for _, m := range status.Machine {
		if m.SystemdActive == "" || m.SystemdSub == "" || m.UnitHash == "" {
			r.failf("%s, which runs, lacks a state or its hash: %+v", name, m)
		}
	}
}

func checkMatcher(r *ruleRun) {
	names := []string{r.unit("@b.service"), r.unit("@a.timer"), r.unit("@a.service"), r.unit(".service")}
	for _, name := range names {
		if !r.submit(name, r.content(1)) {
			return
		}
	}
	prefix := strings.TrimSuffix(names[3], ".service")
	slices.Sort(names)
	r.matches(func(name string) bool { return strings.HasPrefix(name, prefix) }, names)
	r.matches(func(name string) bool { return name == names[1] }, names[1:2])
}

// matches holds what a matcher gives against what it should.
func (r *ruleRun) matches(matcher func(string) bool, want []string) {
	r.eventually(func() (bool, string) {
		statuses, err := r.backend.GetStatusWithMatcher(matcher)
		var got []string
		for _, s := range statuses {
			got = append(got, s.Name)
		}
		return err == nil && slices.Equal(got, want), fmt.Sprintf("of %q the matcher takes, told were %q (%v)", want, got, err)
	})
}

func checkMatcherNothing(r *ruleRun) {
	statuses, err := r.backend.GetStatusWithMatcher(func(string) bool { return false })
	if !fleet.IsUnitNotFound(err) || fleet.IsTemporary(err) {
		r.failf("it gives %+v and %v, which has to be of IsUnitNotFound and not of IsTemporary", statuses, err)
	}
}

func checkNoMatcher(r *ruleRun) {
	if _, err := r.backend.GetStatusWithMatcher(nil); !fleet.IsInvalidRequest(err) {
		r.failf("it gives %v, which is not of IsInvalidRequest", err)
	}
}

func checkCopies(r *ruleRun) {
	name, ok := r.running("@1.service")
	if !ok {
		return
	}
	read := func() (fleet.UnitStatus, bool) {
		statuses, err := r.backend.GetStatusWithMatcher(func(other string) bool { return other == name })
		if !r.ok("get status", err) || len(statuses) != 1 || len(statuses[0].Machine) != 1 {
			return fleet.UnitStatus{}, false
		}
		return statuses[0], true
	}
	for _, read := range []func() (fleet.UnitStatus, bool){read, func() (fleet.UnitStatus, bool) {
		status, err := r.backend.GetStatus(r.ctx, name)
		return status, r.ok("get status", err) && len(status.Machine) == 1
	}} {
		mine, ok := read()
		if !ok {
			return
		}
		mine.Machine[0].UnitHash = "changed by the caller"
		for i := range mine.Machine[0].IP {
			mine.Machine[0].IP[i]++
		}
		if next, ok := read(); ok && (next.Machine[0].UnitHash == mine.Machine[0].UnitHash ||
			len(mine.Machine[0].IP) > 0 && next.Machine[0].IP.Equal(mine.Machine[0].IP)) {
			r.failf("a change of what was returned is seen in the next answer: %+v", next)
		}
	}
}
