package dockertest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"sort"
	"strings"

	"github.com/moby/moby/api/types/swarm"
)

// newID gives an ID such as Swarm's: 25 characters, no order in them.
func (s *Swarm) newID() string {
	s.made++
	sum := sha256.Sum256(fmt.Appendf(nil, "id %d", s.made))
	id := new(big.Int).SetBytes(sum[:]).Text(36)
	return id[len(id)-25:]
}

// longID gives an ID such as a container's or a local network's: 64 hexadecimal digits.
func longID(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:])
}

// written is the version of what is written now.
func (s *Swarm) written(meta *swarm.Meta) {
	s.index++
	meta.Version.Index = s.index
	meta.UpdatedAt = s.now.UTC()
	if meta.CreatedAt.IsZero() {
		meta.CreatedAt = meta.UpdatedAt
	}
}

// find looks a thing up as Docker does: by its ID, then by its name, then by the only one whose ID begins so.
func find[T any](all map[string]T, name func(T) string, key string) (string, error) {
	if _, ok := all[key]; ok {
		return key, nil
	}
	var begin []string
	for _, id := range sortedIDs(all) {
		if name(all[id]) == key {
			return id, nil
		}
		if strings.HasPrefix(id, key) {
			begin = append(begin, id)
		}
	}
	switch len(begin) {
	case 0:
		return "", errNotThere
	case 1:
		return begin[0], nil
	}
	return "", fmt.Errorf("%w (%d matches found)", errAmbiguous, len(begin))
}

func sortedIDs[T any](all map[string]T) []string {
	ids := make([]string, 0, len(all))
	for id := range all {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	return ids
}
