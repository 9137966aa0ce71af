package controller

import (
	"context"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// hashOnCluster is the hash of the unit's content there: the one of its options, or, where the backend does not know
// them, the one that its machines agree on; empty where neither is known.
func hashOnCluster(detail fleet.UnitDetail) string {
	if detail.Hash != "" || len(detail.Machine) == 0 {
		return detail.Hash
	}
	hash := detail.Machine[0].UnitHash
	for _, machine := range detail.Machine {
		if machine.UnitHash != hash {
			return ""
		}
	}
	return hash
}

// readSeen reads the content of a unit that a look has shown, and refuses another one than that.
func (c *controller) readSeen(ctx context.Context, seen fleet.UnitDetail) (string, error) {
	text, err := c.backend.ReadContent(ctx, seen.Name)
	if err != nil {
		return "", err
	}
	if hash, err := fleet.UnitHash(text); err == nil && seen.Hash != "" && seen.Hash != hash {
		return "", errmask.Maskf(errContentChanged, "%s", seen.Name)
	}
	return text, nil
}

// hashes are the hashes of contents, each computed once.
type hashes map[string]string

func (h hashes) of(content string) (string, error) {
	if hash, known := h[content]; known {
		return hash, nil
	}
	hash, err := fleet.UnitHash(content)
	if err != nil {
		return "", err
	}
	h[content] = hash
	return hash, nil
}
