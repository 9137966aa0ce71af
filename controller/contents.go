package controller

import (
	"context"
	"strings"

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

// unitFiles keeps what unit files say, by content, so that one call parses and hashes each distinct content once, however
// many units and slices have it. It is not for several goroutines at once.
type unitFiles map[string]unitFile

// unitFile is what a unit file says of itself.
type unitFile struct {
	hash    string
	group   string // the stamp
	stamped bool
	oneshot bool // as that of a service
}

func (f unitFiles) of(content string) (unitFile, error) {
	if file, known := f[content]; known {
		return file, nil
	}
	detail, err := fleet.DetailOf("unit.service", content)
	if err != nil {
		return unitFile{}, err
	}
	f[content] = unitFile{hash: detail.Hash, group: detail.Group, stamped: detail.Stamped, oneshot: detail.Oneshot}
	return f[content], nil
}

// oneshotAs says whether a unit of this name never stays active (R17a).
func (f unitFile) oneshotAs(name string) bool {
	return f.oneshot && strings.HasSuffix(name, ".service")
}
