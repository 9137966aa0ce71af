package controller

import (
	"context"
	"maps"
	"slices"
	"time"
)

// rollBack brings back what the update has taken away and removes what it has made, after it could not be carried through.
// It gives the update's error, which says what has become of that.
func (r *updateRun) rollBack(ctx, work context.Context, cause error) error {
	r.log(ctx, "roll back: %v", cause)
	r.events.update(PhaseRollingBack, cause)
	back := r.wayBack()
	err := back.converge(ctx, work)
	if err != nil {
		err = back.withFailures(err)
	}
	failure := back.standing(cause)
	failure.RolledBack, failure.RollbackErr = err == nil, err
	return failure
}

// wayBack makes the run that leads back to what was found at the call.
func (r *updateRun) wayBack() *updateRun {
	way := &restoration{made: map[string]bool{}, stopped: map[string]bool{}}
	back := &updateRun{
		controller: r.controller,
		verb:       r.verb,
		req:        r.req,
		opts:       r.opts,
		content:    r.content,
		target:     way,
		found:      max(r.found, r.target.wanted(0)), // the room that the update had is there on the way back, too
		atCall:     r.atCall,
		control:    r.control,
		unnamed:    r.unnamed,
		events:     r.events,
		memory:     map[string]*sliceMemory{},
		taken:      map[string]material{},
		groupIDs:   r.groupIDs,
		usedIDs:    r.usedIDs,
		moved:      time.Now(),
	}
	back.req.SliceIDs = nil // what comes back gets new IDs: an old one's state may still be reported
	for id, m := range r.memory {
		back.memory[id] = newSliceMemory(m.names()...)
		back.memory[id].fresh = m.fresh
		way.made[id] = m.made
	}
	for _, id := range slices.Sorted(maps.Keys(r.taken)) {
		m := r.memory[id]
		switch {
		case m == nil:
			way.lacking = append(way.lacking, r.taken[id])
		case m.made:
			// It was made again under the same name, as that of an instance group is.
			way.lacking = append(way.lacking, r.taken[id])
		case m.removal != nil && m.removal.destroying:
			way.made[id] = true // its rest has to go before it can come back
			way.lacking = append(way.lacking, r.taken[id])
		default:
			way.stopped[id] = len(r.taken[id].loaded) < len(r.taken[id].contents)
			back.memory[id].material = r.taken[id]
		}
	}
	// What ran comes back first: it may be needed for MinAlive before anything else can go on.
	slices.SortStableFunc(way.lacking, func(a, b material) int {
		switch {
		case a.untried == b.untried:
			return 0
		case b.untried:
			return -1
		default:
			return 1
		}
	})
	return back
}
