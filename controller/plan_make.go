package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// PlanUpdate implements Planner.
func (c *controller) PlanUpdate(ctx context.Context, req Request, opts UpdateOptions) (*Plan, error) {
	operation := "plan the update of group " + req.Group
	req, content, err := c.checkUpdate(req, opts)
	if err != nil {
		return nil, err
	}
	run, err := c.lookBeforeUpdate(ctx, req, opts, content)
	if err != nil {
		return nil, errmask.Maskf(err, "%s", operation)
	}
	plan, err := run.plan(ctx)
	return plan, errmask.Maskf(err, "%s", operation)
}

// PlanScale implements Planner.
func (c *controller) PlanScale(ctx context.Context, req Request, n int, opts UpdateOptions) (*Plan, error) {
	operation := "plan the scaling of group " + req.Group
	req, files, err := c.checkScale(req, n, opts)
	if err != nil {
		return nil, err
	}
	run, err := c.lookBeforeScale(ctx, req, n, opts, files)
	if err != nil {
		return nil, errmask.Maskf(err, "%s", operation)
	}
	plan, err := run.plan(ctx)
	return plan, errmask.Maskf(err, "%s", operation)
}

// plan says what the run would do.
func (r *updateRun) plan(ctx context.Context) (*Plan, error) {
	s := r.situationAtCall()
	if s.wanted == 0 {
		return nil, errmask.Mask(errUnitNotFound)
	}
	plan := &Plan{
		Group:     r.req.Group,
		MaxGrowth: r.opts.MaxGrowth,
		MinAlive:  r.opts.MinAlive,
		ReadySecs: r.opts.ReadySecs,
		Found:     r.found,
		Wanted:    s.wanted,
		LeftAlone: slices.Clone(r.atCall.others),
	}
	if finished, err := r.nothingToDo(); !finished {
		plan.foresee(s)
	} else if IsUnitSliceNotFound(err) {
		return nil, err
	}
	actions := planActions(s, plan.Steps)
	differ := &differ{controller: r.controller, wanted: contentsOf(r.req), old: map[string]string{}, diffs: map[[2]string]string{}}
	for _, view := range s.slices {
		planned := PlannedSlice{ID: view.id, Action: PlanKeep, Running: view.running}
		if action, touched := actions[view.id]; touched {
			planned.Action = action
		}
		if planned.Action == PlanReplace || planned.Action == PlanRemove {
			units, err := differ.units(ctx, r, r.atCall.slices[view.id])
			if err != nil {
				return nil, err
			}
			planned.Units = units
		}
		plan.Slices = append(plan.Slices, planned)
	}
	return plan, nil
}

// foresee goes through the update as decide would have it.
func (p *Plan) foresee(s situation) {
	first := foresee(s, allAtOnce)
	p.Steps = first.steps
	slow := foresee(s, removalsFirst)
	p.LeastRunning = min(first.leastRunning, slow.leastRunning)
	p.MostExisting = max(first.mostExisting, slow.mostExisting)
}

// pace is what comes to its end first of what is under way. The fewest run where slices go before others become ready.
type pace int

const (
	allAtOnce pace = iota
	removalsFirst
)

// foresight is what going through an update has shown.
type foresight struct {
	steps                      []PlanStep
	leastRunning, mostExisting int
}

// foresee goes through an update in which all goes well.
func foresee(s situation, pace pace) foresight {
	s.slices = slices.Clone(s.slices)
	for i := range s.slices {
		s.slices[i].ready = s.slices[i].ready || s.slices[i].isNew && s.slices[i].running
	}
	seen := foresight{leastRunning: len(s.slices)}
	seen.note(s)
	made := 0
	// Each round ends something, or is the last but one.
	for range 4 * (len(s.slices) + s.wanted + 1) {
		d := decide(s)
		if d.done {
			break
		}
		step := s.take(d, &made)
		seen.note(s)
		if !step.empty() {
			seen.steps = append(seen.steps, step)
		}
		if !s.settle(pace) && step.empty() {
			break // it would wait for what is not in its hands
		}
		seen.note(s)
	}
	return seen
}

func (f *foresight) note(s situation) {
	running := 0
	for _, slice := range s.slices {
		if slice.counts() {
			running++
		}
	}
	f.leastRunning, f.mostExisting = min(f.leastRunning, running), max(f.mostExisting, len(s.slices))
}

// take does in a situation what was decided.
func (s *situation) take(d decision, made *int) PlanStep {
	step := PlanStep{Create: d.add, Launch: d.launch}
	for i := range s.slices {
		if slices.Contains(d.launch, s.slices[i].id) {
			s.slices[i].own, s.slices[i].launched = true, true
		}
	}
	for _, taken := range d.remove {
		step.Remove = append(step.Remove, taken.id)
		i := slices.IndexFunc(s.slices, func(v sliceView) bool { return v.id == taken.id })
		s.slices[i].removing = true
	}
	for range d.add {
		*made++
		s.slices = append(s.slices, sliceView{
			id: fmt.Sprintf("\x00new %d", *made), isNew: true, replaceable: true, launched: true, own: true, made: true,
		})
	}
	return step
}

// settle lets what is under way come to its end, as far as the pace has it, and says whether there was anything.
func (s *situation) settle(pace pace) bool {
	before := len(s.slices)
	s.slices = slices.DeleteFunc(s.slices, func(v sliceView) bool { return v.removing })
	removed, started := len(s.slices) < before, false
	for i := range s.slices {
		v := &s.slices[i]
		switch {
		case v.starting() && (pace != removalsFirst || !removed):
			v.ready, v.running, v.down, started = true, true, false, true
		case !v.isNew && !v.running && !v.down && !v.untold:
			v.untold, started = true, true // looks that tell nothing come to an end, too
		}
	}
	return removed || started
}

func (v sliceView) starting() bool {
	return v.isNew && v.replaceable && v.launched && !v.ready && !v.removing
}

// differ makes the diffs of a plan, each distinct one once.
type differ struct {
	controller *controller
	wanted     map[string]string    // by unit base
	old        map[string]string    // by hash
	diffs      map[[2]string]string // by unit base and hash
}

// units gives those units of a slice that are not as wanted.
func (f *differ) units(ctx context.Context, r *updateRun, slice *comparedSlice) ([]PlannedUnit, error) {
	var planned []PlannedUnit
	there := map[string]bool{}
	for _, detail := range slice.units {
		base := baseOf(detail.Name)
		there[base] = true
		hash, wanted := r.content.hashes[base]
		if wanted && r.scales() {
			continue // any content will do
		}
		unit := PlannedUnit{Name: detail.Name}
		switch known := hashOnCluster(detail); {
		case !wanted:
			unit.Reason = UnitGone
		case known == hash:
			continue
		case known == "":
			unit.Reason = UnitUnknown
		default:
			unit.Reason = UnitChanged
			text, err := f.diff(ctx, base, detail)
			if err != nil {
				return nil, err
			}
			unit.Diff = text
		}
		planned = append(planned, unit)
	}
	for _, base := range slices.Sorted(maps.Keys(r.content.hashes)) {
		if !there[base] {
			planned = append(planned, PlannedUnit{Name: extendName(base, slice.id), Reason: UnitMissing})
		}
	}
	return planned, nil
}

// diff compares a unit's content on the cluster with the one wanted.
func (f *differ) diff(ctx context.Context, base string, detail fleet.UnitDetail) (string, error) {
	if f.controller.backend.ContentReader == nil || detail.Hash == "" {
		return "", nil
	}
	key := [2]string{base, detail.Hash}
	if text, made := f.diffs[key]; made {
		return text, nil
	}
	if _, read := f.old[detail.Hash]; !read {
		text, err := f.controller.backend.ReadContent(ctx, detail.Name)
		if fleet.IsUnitNotFound(err) {
			return "", nil // it has gone since the listing
		}
		if err != nil {
			return "", errmask.Maskf(err, "read what is there")
		}
		f.old[detail.Hash] = text
	}
	wanted, err := fleet.CanonicalUnit(f.wanted[base])
	if err != nil {
		return "", err
	}
	f.diffs[key] = string(diff.Diff(base+" (on the cluster)", []byte(f.old[detail.Hash]), base+" (wanted)", []byte(wanted)))
	return f.diffs[key], nil
}
