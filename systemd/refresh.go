package systemd

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// refresh sees to it that systemd has the text that the files of these units have now, and gives errors of those that it
// does not find. A file that is new to it systemd finds by itself; for one that it has read before it has to be reloaded,
// once for all of them.
func (h *Host) refresh(ctx context.Context, names []string) (map[string]error, error) {
	asked := map[string]fileID{}
	for _, name := range names {
		id, there := h.disk.identify(name)
		if _, loaded := h.facts.loadedAs(name, id); !there || !loaded {
			asked[name] = id
		}
	}
	stale, _, err := h.stale(ctx, asked)
	if err != nil || len(stale) == 0 {
		return nil, err
	}
	if err := h.reloads.do(ctx, ""); err != nil {
		return nil, err
	}
	again := map[string]fileID{}
	for _, name := range stale {
		again[name], _ = h.disk.identify(name)
	}
	// One that is stale still was changed once more, by somebody who will see to it.
	_, states, err := h.stale(ctx, again)
	absent := map[string]error{}
	for name, state := range states {
		if state.Load == loadNotFound {
			absent[name] = fmt.Errorf("systemd does not find the unit in %s", h.disk.links)
		}
	}
	return absent, err
}

// stale gives the units of which systemd does not have the text that their files had when they were identified. What it
// has of the others is noted. States has all of them.
//
// Systemd reads the file of a unit that it does not have in memory when it is asked for its state, so only what it had
// before can be old.
func (h *Host) stale(ctx context.Context, files map[string]fileID) (stale []string, states map[string]unitState, err error) {
	if len(files) == 0 {
		return nil, nil, nil
	}
	names := sortedKeys(files)
	known, err := h.manager.Known(ctx, names)
	if err != nil {
		return nil, nil, err
	}
	if states, err = h.manager.States(ctx, names); err != nil {
		return nil, nil, err
	}
	var doubtful []string
	for _, name := range names {
		_, had := known[name]
		switch {
		case states[name].Load == loadNotFound:
			stale = append(stale, name)
		case had:
			doubtful = append(doubtful, name)
		default:
			h.facts.noteLoaded(name, files[name], states[name].Load)
		}
	}
	outdated, err := h.outdated(ctx, doubtful)
	if err != nil {
		return nil, nil, err
	}
	for i, name := range doubtful {
		if outdated[i] {
			stale = append(stale, name)
		} else {
			h.facts.noteLoaded(name, files[name], states[name].Load)
		}
	}
	return stale, states, nil
}

// outdated asks about units one by one, since systemd has no call for many, but side by side.
func (h *Host) outdated(ctx context.Context, names []string) ([]bool, error) {
	outdated := make([]bool, len(names))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(asksAtOnce)
	for i, name := range names {
		group.Go(func() (err error) {
			outdated[i], err = h.manager.Outdated(groupCtx, name)
			return err
		})
	}
	return outdated, group.Wait()
}
