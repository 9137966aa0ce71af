package controller

import (
	"context"
	"sync"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// archive keeps the contents of what an update takes away, so that it can come back (R25). A nil archive keeps nothing.
type archive struct {
	controller *controller
	mutex      sync.Mutex
	texts      map[string]string // by hash, or by name where the backend tells no hash
}

// read reads the contents of slices that are to go, each distinct one once, and keeps them.
func (a *archive) read(ctx context.Context, going []*comparedSlice) error {
	if a == nil {
		return nil
	}
	units := map[string]fleet.UnitDetail{} // one for each text to be read
	for _, slice := range going {
		for _, detail := range slice.units {
			if _, kept := a.texts[archiveKey(detail)]; !kept {
				units[archiveKey(detail)] = detail
			}
		}
	}
	keyOf := make(map[string]string, len(units))
	names := make([]string, 0, len(units))
	for key, detail := range units {
		keyOf[detail.Name] = key
		names = append(names, detail.Name)
	}
	_, err := a.controller.forEach(ctx, "read", names, func(ctx context.Context, name string) error {
		text, err := a.controller.readSeen(ctx, units[keyOf[name]])
		if err != nil {
			return err
		}
		a.mutex.Lock()
		defer a.mutex.Unlock()
		a.texts[keyOf[name]] = text
		return nil
	})
	return err
}

func archiveKey(detail fleet.UnitDetail) string {
	if detail.Hash != "" {
		return "hash " + detail.Hash
	}
	return "name " + detail.Name
}

// materialOf gives what a slice is made of, which has been kept.
func (a *archive) materialOf(slice *comparedSlice, down bool) material {
	m := material{contents: map[string]string{}, loaded: map[string]bool{}, untried: down || !slice.launched()}
	for _, detail := range slice.units {
		m.contents[baseOf(detail.Name)] = a.texts[archiveKey(detail)]
		if detail.Desired != "launched" {
			m.loaded[baseOf(detail.Name)] = true
		}
	}
	return m
}

// keep sees to it that a slice which is about to be taken away can come back. It says whether the slice may go.
func (r *updateRun) keep(ctx context.Context, id string, slice *comparedSlice) bool {
	switch {
	case r.archive == nil || r.memory[id].made:
		return true
	case slice == nil:
		return false // the last look lacks it
	}
	if err := r.archive.read(ctx, []*comparedSlice{slice}); err != nil {
		if !fleet.IsTemporary(err) && !errmask.Has(err, errContentChanged) {
			r.end(errmask.Maskf(err, "read the old content of slice %s", sliceName(id)))
		}
		return false
	}
	m := r.memory[id]
	r.taken[id] = r.archive.materialOf(slice, m.down)
	return true
}

// mayGo gives the slices that the run may take away, as far as they are known at the call.
func (r *updateRun) mayGo(found comparison) []*comparedSlice {
	var going []*comparedSlice
	surplus := len(found.slices) > r.target.wanted(len(found.slices))
	for id, slice := range found.slices {
		if r.target.mayRemove(id) && (surplus || !r.target.isNew(slice, false)) {
			going = append(going, slice)
		}
	}
	return going
}
