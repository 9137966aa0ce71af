package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Planner says what an Update or a Scale would do, and touches nothing. The value of NewController satisfies it.
type Planner interface {
	// PlanUpdate checks and looks as Update does, and is refused as it is; but a group that is up to date is a plan without
	// steps, nothing found where no number is given IsUnitNotFound, and a group that is busy no obstacle. Where the backend
	// can read contents (fleet.ContentReader), what changes is shown as a diff. It blocks for its looks, under ctx.
	PlanUpdate(ctx context.Context, req Request, opts UpdateOptions) (*Plan, error)
	// PlanScale is for Scale what PlanUpdate is for Update.
	PlanScale(ctx context.Context, req Request, n int, opts UpdateOptions) (*Plan, error)
}

var _ Planner = (*controller)(nil)

// Plan is what an update would do, as the cluster stood when it was made. It goes by what would happen if all went well:
// every new slice becomes ready, and no other one fails meanwhile.
type Plan struct {
	// Group is the request's group.
	Group string
	// MaxGrowth, MinAlive and ReadySecs are the bounds it is made for.
	MaxGrowth, MinAlive, ReadySecs int
	// Found is how many slices there are now, Wanted how many there are to be.
	Found, Wanted int
	// Slices are the slices that there are, sorted by ID.
	Slices []PlannedSlice
	// Steps are what is done, in order, where each step waits for the one before. In an update the slices of one step need
	// not wait for each other, so steps may overlap.
	Steps []PlanStep
	// LeastRunning and MostExisting are how many slices run at least, and exist at most, at any moment, in whichever order
	// slices become ready and go.
	LeastRunning, MostExisting int
	// LeftAlone are units that look like the group's, and are neither the request's nor stamped as the group's.
	LeftAlone []string
}

// PlannedSlice is a slice that is there, and what is to become of it.
type PlannedSlice struct {
	// ID is the slice's ID; empty for an instance group.
	ID string
	// Action is what is to become of it.
	Action PlanAction
	// Running says that it runs now.
	Running bool
	// Units are those of its units that differ from what is wanted, sorted by name.
	Units []PlannedUnit
}

// PlanAction is what is to become of a slice.
type PlanAction string

// The actions of a plan.
const (
	// PlanKeep: it stays as it is.
	PlanKeep PlanAction = "keep"
	// PlanLaunch: it is of the right content, and is launched.
	PlanLaunch PlanAction = "launch"
	// PlanReplace: it is removed, and a new one takes its place.
	PlanReplace PlanAction = "replace"
	// PlanRemove: it is removed without a successor.
	PlanRemove PlanAction = "remove"
)

// PlannedUnit is a unit that is not as wanted.
type PlannedUnit struct {
	// Name is the unit's name, or the name that it should have.
	Name string
	// Reason is how it differs.
	Reason UnitDifference
	// Diff is what changes in the unit file, as a unified diff of the canonical forms; empty where there is nothing to
	// compare, or the backend can't read contents.
	Diff string
}

// UnitDifference is how a unit on the cluster differs from the request.
type UnitDifference string

// The differences.
const (
	// UnitChanged: it has another content.
	UnitChanged UnitDifference = "changed"
	// UnitMissing: the slice lacks it.
	UnitMissing UnitDifference = "missing"
	// UnitGone: it carries the group's stamp, and the request no longer has it.
	UnitGone UnitDifference = "gone from the request"
	// UnitUnknown: the backend can't tell its content.
	UnitUnknown UnitDifference = "of unknown content"
)

// PlanStep is what is done at one time.
type PlanStep struct {
	// Create is how many new slices are made, straight to launched.
	Create int
	// Launch are the slices that are there and are launched.
	Launch []string
	// Remove are the slices that are stopped and destroyed.
	Remove []string
}

// UpToDate says that there is nothing to do.
func (p *Plan) UpToDate() bool { return len(p.Steps) == 0 }

// String puts the plan on several lines, as for a terminal.
func (p *Plan) String() string {
	var text strings.Builder
	if p.UpToDate() {
		fmt.Fprintf(&text, "group %s: up to date, %d slices\n", p.Group, p.Found)
	} else {
		fmt.Fprintf(&text, "group %s: %d slices now, %d wanted; MaxGrowth %d, MinAlive %d, ReadySecs %d; at least %d running, at most %d there\n",
			p.Group, p.Found, p.Wanted, p.MaxGrowth, p.MinAlive, p.ReadySecs, p.LeastRunning, p.MostExisting)
	}
	shown := map[string]bool{}
	for _, slice := range p.Slices {
		slice.write(&text, shown)
	}
	for i, step := range p.Steps {
		fmt.Fprintf(&text, "step %d: %s\n", i+1, step)
	}
	if len(p.LeftAlone) > 0 {
		fmt.Fprintf(&text, "left alone, since the request does not have them: %s\n", listNames(p.LeftAlone))
	}
	return text.String()
}

// write puts a slice into words. A diff that was shown for another slice is not shown again.
func (s PlannedSlice) write(text *strings.Builder, shown map[string]bool) {
	state := "not running"
	if s.Running {
		state = "running"
	}
	fmt.Fprintf(text, "slice %s: %s (%s)\n", sliceName(s.ID), s.Action, state)
	for _, unit := range s.Units {
		switch {
		case unit.Diff == "":
			fmt.Fprintf(text, "  %s: %s\n", unit.Name, unit.Reason)
		case shown[unit.Diff]:
			fmt.Fprintf(text, "  %s: %s, as above\n", unit.Name, unit.Reason)
		default:
			shown[unit.Diff] = true
			fmt.Fprintf(text, "  %s: %s\n%s", unit.Name, unit.Reason, indent(unit.Diff))
		}
	}
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

// String puts a step on one line.
func (s PlanStep) String() string {
	var parts []string
	if len(s.Launch) > 0 {
		parts = append(parts, "launch "+listSlices(s.Launch))
	}
	if len(s.Remove) > 0 {
		parts = append(parts, "remove "+listSlices(s.Remove))
	}
	if s.Create > 0 {
		parts = append(parts, fmt.Sprintf("create %d", s.Create))
	}
	return strings.Join(parts, ", ")
}

func (s PlanStep) empty() bool { return s.Create == 0 && len(s.Launch) == 0 && len(s.Remove) == 0 }

// planActions says what becomes of each slice in the steps.
func planActions(s situation, steps []PlanStep) map[string]PlanAction {
	actions := map[string]PlanAction{}
	surplus := len(s.slices) - s.wanted // so many of those removed have no successor
	for _, step := range steps {
		for _, id := range step.Launch {
			actions[id] = PlanLaunch
		}
		for _, id := range step.Remove {
			actions[id] = PlanReplace
		}
	}
	// Those without a successor are the last ones to be removed.
	for i := len(steps) - 1; i >= 0 && surplus > 0; i-- {
		for _, id := range slices.Backward(steps[i].Remove) {
			if surplus > 0 {
				actions[id] = PlanRemove
				surplus--
			}
		}
	}
	return actions
}
