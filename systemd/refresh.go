package systemd

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// refresh sees to it that systemd has the text that the files of these units have now. A file that is new to it systemd
// finds by itself; for one that it has read before it has to be reloaded, once for all of them.
func (h *Host) refresh(ctx context.Context, names []string) (map[string]error, error) {
	stale, _, err := h.stale(ctx, names)
	if err != nil || len(stale) == 0 {
		return nil, err
	}
	if err := h.reloads.do(ctx, ""); err != nil {
		return nil, err
	}
	// One that is stale still was changed once more, by somebody who will see to it.
	_, absent, err := h.stale(ctx, stale)
	errs := map[string]error{}
	for _, name := range absent {
		errs[name] = fmt.Errorf("systemd does not find the unit in %s", h.disk.links)
	}
	return errs, err
}

// stale gives the units of which systemd does not have the text that their files have now, and those of them that it
// does not find at all. The others are noted.
func (h *Host) stale(ctx context.Context, names []string) (stale, absent []string, err error) {
	var asked []string
	ids := map[string]fileID{}
	for _, name := range names {
		id, there := h.disk.identify(name)
		if !there || !h.facts.isLoaded(name, id) {
			asked, ids[name] = append(asked, name), id
		}
	}
	if len(asked) == 0 {
		return nil, nil, nil
	}
	states, err := h.manager.States(ctx, asked)
	if err != nil {
		return nil, nil, err
	}
	var found []string
	for _, name := range asked {
		if states[name].Load == loadNotFound {
			absent = append(absent, name)
		} else {
			found = append(found, name)
		}
	}
	outdated, err := h.outdated(ctx, found)
	if err != nil {
		return nil, nil, err
	}
	stale = absent
	for i, name := range found {
		if outdated[i] {
			stale = append(stale[:len(stale):len(stale)], name)
		} else {
			h.facts.noteLoaded(name, ids[name])
		}
	}
	return stale, absent, nil
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
