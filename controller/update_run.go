package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/task"
)

// updateRun carries out an update, a change of the number of slices, or the way back from either. Each round it looks at
// the cluster, makes a situation of what it sees, lets decide say what to do, and does that. What it remembers from round
// to round is what no look can show: how often in a row something was seen, and which slices it has created or taken up
// itself.
type updateRun struct {
	controller *controller
	verb       string // update or scale
	req        Request
	opts       UpdateOptions
	content    groupContent
	target     target
	found      int // how many slices there were at the call
	atCall     comparison
	control    *updateControl
	events     *progress
	checks     sync.WaitGroup // calls of opts.Ready
	archive    *archive       // nil unless what is taken away may have to come back
	unnamed    bool           // the request named no units: it says nothing of which content slices are to be

	memory    map[string]*sliceMemory // by slice ID
	taken     map[string]material     // what slices that were taken away had been made of
	groupIDs  idSet                   // IDs that the group has or had
	usedIDs   idSet                   // and those of units named alike: no new slice gets one of its own choice
	gone      int                     // old slices taken away for good
	owed      int                     // slices taken away whose successor has yet to be made
	ending    error                   // why nothing new is taken up; nil while the update goes on
	cancelled bool                    // the task has been cancelled; nothing is rolled back then
	vanished  []error                 // own slices that somebody else has destroyed
	cadence   cadence                 // of looks, where they may follow changes
	counts    bool                    // whether the look at hand is one of those
	headway   headway
	moved     time.Time // when something was last done or under way
	seen      time.Time // when the last look succeeded
}

// bases are the unit bases that the run may touch: those of its content, and those that the group's stamp adds.
func (r *updateRun) bases() map[string]bool {
	bases := r.content.bases()
	for _, slice := range r.atCall.slices {
		for _, detail := range slice.units {
			bases[baseOf(detail.Name)] = true
		}
	}
	return bases
}

// carryOut runs the update to its end. The context's end makes it take up nothing new, and end what is under way; only
// the end of the whole service, or of the controller, cuts it off.
func (r *updateRun) carryOut(ctx context.Context) error {
	if finished, err := r.nothingToDo(); finished {
		return err
	}
	r.announce(ctx)
	work, stop := endWith(task.KeepOn(ctx), r.controller.life)
	defer stop()
	if err := r.archive.read(work, r.mayGo(r.atCall)); err != nil {
		return errmask.Maskf(err, "read the old contents (nothing has been changed)")
	}
	r.events = newProgress(r.controller, r.req.Group, r.opts.Progress)
	defer r.events.close(ctx)
	r.control.tell(r.events)
	cause := r.converge(ctx, work)
	switch {
	case cause == nil:
		return nil
	case r.opts.Rollback && ctx.Err() == nil && work.Err() == nil:
		return r.rollBack(ctx, work, r.withFailures(cause))
	default:
		return r.fail(work, cause)
	}
}

// converge goes on until the group is as wanted, or gives the reason why that can't be.
func (r *updateRun) converge(ctx, work context.Context) error {
	defer r.endChecks(ctx)
	if r.controller.backend.watcher != nil {
		r.cadence.interval = r.controller.config.WaitSleep
	}
	leave := r.controller.observer.attend()
	defer leave()
	r.moved, r.seen, r.headway.at = time.Now(), time.Now(), time.Now()
	p := urgent
	for {
		compared, err := r.look(work, p)
		p = patient // also after a look that failed
		if ctx.Err() != nil {
			r.cancelled = true
			r.end(endOf(ctx))
		}
		if err != nil {
			if fatal := r.lookFailed(work, err); fatal != nil {
				return fatal
			}
			continue
		}
		finished, err := r.round(work, compared)
		if finished || err != nil {
			return err
		}
		p = r.pace()
	}
}

// pace is that of the next look. Where the backend tells of changes, one follows each as long as something is being taken away,
// and looks that are to see the same end of it follow closely, as in Stop and Destroy.
func (r *updateRun) pace() lookPace {
	pace := patient
	if r.controller.backend.watcher == nil {
		return pace
	}
	for _, m := range r.memory {
		switch {
		case m.removal == nil || m.removal.abandoned != nil:
		case m.removal.steps.settles:
			return settling
		default:
			pace = prompt
		}
	}
	return pace
}

// round does what one look calls for. It says whether the update has come to its end, and how.
func (r *updateRun) round(work context.Context, compared comparison) (bool, error) {
	s := r.observe(work, compared)
	d := decide(s)
	if d.done {
		return true, nil
	}
	if over := r.over(s, d); over != nil {
		return true, over
	}
	r.apply(work, d, compared)
	if work.Err() != nil {
		return true, endOf(work)
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
	if s.paused {
		r.headway.at, r.moved = time.Now(), time.Now()
	}
	// A removal has two waits, a slice one and ReadySecs.
	if stuck := time.Since(r.headway.at); (stuck-r.readyTime())/2 >= max(limit, r.sliceTimeout()) {
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
func (r *updateRun) look(ctx context.Context, p lookPace) (comparison, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.controller.config.WaitTimeout, errWaitTimeoutReached)
	defer cancel()
	known := r.knownNames()
	v, err := r.controller.observer.look(ctx, fleet.Selector{Names: known, Groups: []string{r.req.Group}}, p)
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
	for _, m := range r.memory {
		if m.removal != nil && m.removal.destroying {
			continue
		}
		maps.Copy(names, m.units)
		maps.Copy(names, m.expected)
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
	return r.target.mayRemove(id)
}

// newSituation is a situation that has no slices yet.
func (r *updateRun) newSituation() situation {
	s := situation{
		found:     r.found,
		maxGrowth: r.opts.MaxGrowth,
		minAlive:  r.opts.MinAlive,
		paused:    r.control.paused() && r.ending == nil, // what ends goes on to its end
		owed:      r.owed,
	}
	s.ending = r.ending != nil || s.paused
	if r.ending != nil && r.opts.Rollback && !r.restores() && !r.cancelled {
		s.owed = 0 // what has to come back is old content
	}
	return s
}
