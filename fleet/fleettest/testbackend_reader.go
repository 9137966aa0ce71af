package fleettest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/fleet"
)

// readerRules are about fleet.UnitReader.
func readerRules() []backendRule {
	rules := []backendRule{
		{
			name:  "read every unit",
			why:   "the zero selector takes every unit, none twice, sorted by name",
			check: checkReadAll,
		}, {
			name:  "read by name",
			why:   "a reader may return more than asked for but never less, so that the caller can decide exactly",
			check: checkReadNames,
		}, {
			name:  "read a group",
			why:   "a unit may belong to a group by its name or by its stamp",
			check: checkReadGroup,
		}, {
			name:  "read nothing",
			why:   "nothing found is an empty listing, not an error",
			check: checkReadNothing,
		}, {
			name:  "read exactly",
			why:   "a listing of exact names is whole: what is missing in it was not there",
			check: checkReadExact,
		}, {
			name:  "read details",
			why:   "hash, stamp and kind are those of the current content, at once: a machine may still report those before",
			check: checkReadDetails,
		}, {
			name:  "read states",
			why:   "one look tells the same as GetStatus",
			check: checkReadStates,
		}, {
			name:  "read with ended context",
			why:   "a caller whose context has ended finds the context's error in the chain, and does not try again",
			check: checkReadEnded,
		},
	}
	for i := range rules {
		rules[i].has = isReader
	}
	return rules
}

func isReader(backend fleet.Fleet) bool { _, ok := backend.(fleet.UnitReader); return ok }

// read makes one look.
func (r *ruleRun) read(selector fleet.Selector) (fleet.Listing, error) {
	return r.backend.(fleet.UnitReader).ReadUnits(r.ctx, selector)
}

// reads looks until a look has the units wanted, in order; more is right too, where the selector does not ask for exact
// names.
func (r *ruleRun) reads(selector fleet.Selector, want ...string) (listing fleet.Listing, ok bool) {
	slices.Sort(want)
	ok = r.eventually(func() (bool, string) {
		var err error
		if listing, err = r.read(selector); err != nil {
			return false, fmt.Sprintf("read of %+v: %v", selector, err)
		}
		var names []string
		for _, unit := range listing.Units {
			if slices.Contains(want, unit.Name) || selector.Exact {
				names = append(names, unit.Name)
			}
		}
		return slices.Equal(names, want), fmt.Sprintf("read of %+v: of %q it tells %q", selector, want, names)
	})
	if ok && !slices.IsSortedFunc(listing.Units, func(a, b fleet.UnitDetail) int { return strings.Compare(a.Name, b.Name) }) {
		r.failf("read of %+v: units are not sorted by name", selector)
	}
	return listing, ok
}

// several submits units.
func (r *ruleRun) several(rests ...string) (names []string, ok bool) {
	ok = true
	for _, rest := range rests {
		name := r.unit(rest)
		names = append(names, name)
		ok = r.submit(name, r.content(1)) && ok
	}
	return names, ok
}

func checkReadAll(r *ruleRun) {
	if names, ok := r.several("@b.service", "@a.timer", "@a.service", ".service"); ok {
		r.reads(fleet.Selector{}, names...)
	}
}

func checkReadNames(r *ruleRun) {
	if names, ok := r.several("@1.service", "@2.service", "@11.service"); ok {
		r.reads(fleet.Selector{Names: names[:2]}, names[:2]...)
		r.reads(fleet.Selector{Names: append([]string{names[0] + "x"}, names[2])}, names[2])
	}
}

func checkReadGroup(r *ruleRun) {
	names, ok := r.several("-app@1.service", "-db.timer")
	stamped := r.unit("-stranger.service")
	group, stamp := strings.TrimSuffix(names[0], "-app@1.service")+"-", r.options.Prefix+"stamp"
	if !ok || !r.submit(stamped, r.content(1)+"\n[X-Squadron]\nGroup="+stamp+"\n") {
		return
	}
	r.reads(fleet.Selector{Groups: []string{group}}, names...)
	r.reads(fleet.Selector{Groups: []string{stamp, group}, Names: []string{names[0]}}, append(names, stamped)...)
}

func checkReadNothing(r *ruleRun) {
	name := r.unit("@1.service")
	for _, selector := range []fleet.Selector{
		{Names: []string{name}}, {Groups: []string{name}}, {Names: []string{name}, Exact: true},
	} {
		listing, err := r.read(selector)
		if err != nil {
			r.failf("read of %+v: %w", selector, err)
		}
		for _, unit := range listing.Units {
			if unit.Name == name {
				r.failf("read of %+v tells of a unit that is not there", selector)
			}
		}
	}
}

func checkReadExact(r *ruleRun) {
	names, ok := r.several("@1.service", "@2.service")
	if !ok {
		return
	}
	absent := r.unit("@absent.service")
	listing, ok := r.reads(fleet.Selector{Names: append(names, absent), Exact: true}, names...)
	if ok && !listing.Whole {
		r.failf("the listing is not whole")
	}
	if !r.destroy(names[0]) || !r.vanishes(names[0]) {
		return
	}
	r.reads(fleet.Selector{Names: names, Exact: true}, names[1])
}

func checkReadDetails(r *ruleRun) {
	name := r.unit("@1.service")
	for _, extra := range []string{
		"", "[X-Squadron]\nGroup=" + name + "\n", "[X-Squadron]\nGroup=other\nOwner=somebody\n\n[X-Fleet]\nGlobal=true\n", "[Service]\nType=oneshot\n",
	} {
		content := r.content(1) + "\n" + extra
		want, err := fleet.DetailOf(name, content)
		if !r.ok("read BackendOptions.Content", err) || !r.submit(name, content) {
			return
		}
		r.eventually(func() (bool, string) {
			listing, err := r.read(fleet.Selector{Names: []string{name}})
			at := slices.IndexFunc(listing.Units, func(unit fleet.UnitDetail) bool { return unit.Name == name })
			if err != nil || at < 0 {
				return false, fmt.Sprintf("%s is not told: %v", name, err)
			}
			got := listing.Units[at]
			// An empty hash says that the backend does not know the unit's content.
			ok := got.Hash == "" || got.Hash == want.Hash && got.Group == want.Group && got.Owner == want.Owner && got.Stamped == want.Stamped &&
				got.Global == want.Global && got.Oneshot == want.Oneshot
			return ok, fmt.Sprintf("of the content %q it tells %+v, not %+v", content, got, want)
		})
	}
}

func checkReadStates(r *ruleRun) {
	name, ok := r.running("@1.service")
	if !ok {
		return
	}
	r.eventually(func() (bool, string) {
		listing, err := r.read(fleet.Selector{Names: []string{name}})
		if err != nil {
			return false, fmt.Sprintf("read of %s: %v", name, err)
		}
		at := slices.IndexFunc(listing.Units, func(unit fleet.UnitDetail) bool { return unit.Name == name })
		want, err := r.backend.GetStatus(r.ctx, name)
		if at < 0 || err != nil {
			return false, fmt.Sprintf("%s is not told: %v", name, err)
		}
		got := listing.Units[at].UnitStatus
		return same(got, want), fmt.Sprintf("of %s it tells %+v, and GetStatus %+v", name, got, want)
	})
}

// same compares two statuses.
func same(a, b fleet.UnitStatus) bool {
	return a.Name == b.Name && a.SliceID == b.SliceID && a.Current == b.Current && a.Desired == b.Desired &&
		slices.EqualFunc(a.Machine, b.Machine, func(a, b fleet.MachineStatus) bool {
			return a.ID == b.ID && a.IP.Equal(b.IP) && a.SystemdActive == b.SystemdActive && a.SystemdSub == b.SystemdSub &&
				a.UnitHash == b.UnitHash
		})
}

func checkReadEnded(r *ruleRun) {
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	_, err := r.backend.(fleet.UnitReader).ReadUnits(ctx, fleet.Selector{})
	r.endedAs("ReadUnits", err)
}

// endedAs holds an error against what a call with an ended context has to give.
func (r *ruleRun) endedAs(call string, err error) {
	if !errors.Is(err, context.Canceled) || fleet.IsTemporary(err) {
		r.failf("%s with a context that has ended gives %v, which has to be context.Canceled and not of IsTemporary", call, err)
	}
}
