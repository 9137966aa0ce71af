package controller

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/task"
)

// updateRun carries an update out. Each round it looks at the cluster, makes a situation of what it sees, lets decide
// say what to do, and does that. What it remembers from round to round is what no look can show: how often in a row
// something was seen, and which slices it has created or taken up itself.
type updateRun struct {
	controller *controller
	req        Request
	opts       UpdateOptions
	content    groupContent
	contents   map[string]string // by unit base
	named      map[string]bool   // the slices that may be replaced; none named: all
	wanted     int
	found      int
	atCall     comparison

	memory   map[string]*sliceMemory // by slice ID
	groupIDs idSet                   // IDs that the group has or had
	usedIDs  idSet                   // and those of units named alike: no new slice gets one of its own choice
	gone     int                     // old slices taken away for good
	owed     int                     // slices taken away whose successor has yet to be made
	ending   error                   // why nothing new is taken up; nil while the update goes on
	vanished []error                 // own slices that somebody else has destroyed
	headway  headway
	moved    time.Time // when something was last done or under way
	seen     time.Time // when the last look succeeded
}

// carryOut runs the update to its end. The context's end makes it take up nothing new, and end what is under way; only
// the end of the whole service, or of the controller, cuts it off.
func (r *updateRun) carryOut(ctx context.Context) error {
	if r.wanted == 0 {
		return errmask.Mask(errUnitNotFound)
	}
	if s := r.situationAtCall(); s.found >= s.wanted && r.namesOnlyMissing(s) {
		return errmask.Maskf(errUnitSliceNotFound, "slices %s", strings.Join(r.req.SliceIDs, ", "))
	}
	if r.upToDate(r.situationAtCall()) {
		return errmask.Mask(errUnitsAlreadyUpToDate)
	}
	r.announce(ctx)
	work, stop := endWith(task.KeepOn(ctx), r.controller.life)
	defer stop()
	r.moved, r.seen, r.headway.at = time.Now(), time.Now(), time.Now()
	for first := true; ; first = false {
		compared, err := r.look(work, first)
		if ctx.Err() != nil {
			r.end(endOf(ctx))
		}
		if err != nil {
			if fatal := r.lookFailed(work, err); fatal != nil {
				return r.fail(work, fatal)
			}
			continue
		}
		finished, err := r.round(work, compared)
		if finished || err != nil {
			return err
		}
	}
}

// round does what one look calls for. It says whether the update has come to its end, and how.
func (r *updateRun) round(work context.Context, compared comparison) (bool, error) {
	s := r.observe(compared)
	d := decide(s)
	if d.done {
		return true, nil
	}
	if over := r.over(s, d); over != nil {
		return true, r.fail(work, over)
	}
	r.apply(work, d, compared)
	if work.Err() != nil {
		return true, r.fail(work, endOf(work))
	}
	return false, nil
}

// headway is a clock that only real headway winds: more new slices ready at once than ever, or more old ones gone. What
// comes and goes, or is undone by somebody else, does not.
type headway struct {
	at          time.Time
	ready, gone int
}

func (h *headway) note(ready, gone int) {
	if ready > h.ready || gone > h.gone {
		h.at = time.Now()
	}
	h.ready, h.gone = max(h.ready, ready), max(h.gone, gone)
}

// over says why the update is over without being done; nil while it goes on. Nothing to do, nothing under way, and no
// headway are each ended by time.
func (r *updateRun) over(s situation, d decision) error {
	limit := r.controller.config.WaitTimeout
	r.headway.note(s.ready(), r.gone)
	if stuck := time.Since(r.headway.at); stuck >= 2*limit+r.readyTime() { // a removal has two waits, a slice one and ReadySecs
		err := errmask.Maskf(errWaitTimeoutReached, "no headway for %v: %s", stuck, s.numbers())
		if r.ending != nil {
			return errorList{r.ending, err}
		}
		r.end(err)
		r.headway.at = time.Now()
	}
	switch idle := time.Since(r.moved); {
	case d.waiting:
		r.moved = time.Now()
	case r.ending != nil:
		return r.ending
	case idle >= limit:
		return errmask.Maskf(errWaitTimeoutReached, "after %v in which nothing could be done within MinAlive %d and MaxGrowth %d: %s",
			idle, s.minAlive, s.maxGrowth, s.numbers())
	}
	return nil
}

// end makes the update take up nothing new. The first reason stands.
func (r *updateRun) end(why error) {
	if r.ending == nil {
		r.ending = why
	}
}

// look lists the group. Units that the update knows of are asked for by name where the listing may have skipped them.
func (r *updateRun) look(ctx context.Context, urgent bool) (comparison, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.controller.config.WaitTimeout, errWaitTimeoutReached)
	defer cancel()
	known := r.knownNames()
	v, err := r.controller.observer.look(ctx, fleet.Selector{Names: known, Groups: []string{r.req.Group}}, urgent)
	if err != nil {
		return comparison{}, err
	}
	asked, err := r.controller.askByName(ctx, v, known)
	if err != nil {
		return comparison{}, err
	}
	details := slices.Clone(v.units)
	for i := range details {
		if byName := asked[details[i].Name]; byName != nil {
			details[i] = *byName
		}
	}
	for name, detail := range asked {
		if v.byName[name] == nil {
			details = append(details, *detail)
		}
	}
	r.seen = time.Now()
	r.noteIDs(details)
	return r.content.compare(details), nil
}

// lookFailed says whether a failed look ends the update: one that a repeat may cure does so after WaitTimeout (R18).
func (r *updateRun) lookFailed(work context.Context, err error) error {
	switch {
	case work.Err() != nil:
		return endOf(work)
	case !fleet.IsTemporary(err):
		return errmask.Maskf(err, "look at the group")
	case time.Since(r.seen) >= r.controller.config.WaitTimeout:
		return errmask.Maskf(bothErrors{errWaitTimeoutReached, err}, "no look at the group succeeded for %v (%v)", r.controller.config.WaitTimeout, err)
	}
	return nil
}

// knownNames are the units whose absence from a listing has to be made sure of: all that a slice has or should have, but
// those being destroyed.
func (r *updateRun) knownNames() []string {
	names := map[string]bool{}
	for id, m := range r.memory {
		if m.removal != nil && m.removal.destroying {
			continue
		}
		for _, name := range r.unitNames(id) {
			names[name] = true
		}
		maps.Copy(names, m.units)
	}
	return slices.Sorted(maps.Keys(names))
}

// noteIDs keeps new slices off the IDs seen. Nobody's unit may be overwritten, so the request's unit bases count whoever
// has them; and an ID once used is not used again, since a destroyed unit's state may be reported for a while. IDs of
// units that are only named alike are left alone, too, unless the request names them.
func (r *updateRun) noteIDs(details []fleet.UnitDetail) {
	for _, detail := range details {
		id := sliceOf(detail.Name)
		r.usedIDs[id] = true
		if _, wanted := r.content.hashes[baseOf(detail.Name)]; wanted {
			r.groupIDs[id] = true
		}
	}
}

func (r *updateRun) replaceable(id string) bool {
	if m := r.memory[id]; m != nil && m.made {
		return true
	}
	return len(r.named) == 0 || r.named[id]
}

func (r *updateRun) newSituation() situation {
	return situation{
		wanted:    r.wanted,
		found:     r.found,
		maxGrowth: r.opts.MaxGrowth,
		minAlive:  r.opts.MinAlive,
		ending:    r.ending != nil,
		owed:      r.owed,
	}
}
