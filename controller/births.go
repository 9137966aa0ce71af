package controller

import (
	"slices"
	"sync"
)

// births counts the slices that a controller makes, so that the youngest is known: a cluster does not tell. It remembers
// the last maxBirths at least.
type births struct {
	mutex sync.Mutex
	count int
	ages  map[sliceKey]int
	order []sliceKey // oldest first
}

type sliceKey struct{ group, id string }

const maxBirths = 10_000

func newBirths() *births { return &births{ages: map[sliceKey]int{}} }

// note says that a slice is being made.
func (b *births) note(group, id string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.count++
	key := sliceKey{group, id}
	if _, again := b.ages[key]; !again {
		b.order = append(b.order, key)
	}
	b.ages[key] = b.count
	if len(b.order) > 2*maxBirths { // trimmed seldom, since the rest has to be moved
		for _, old := range b.order[:maxBirths] {
			delete(b.ages, old)
		}
		b.order = slices.Clone(b.order[maxBirths:])
	}
}

// age gives which one a slice was; 0 where this controller has not made it, or does not remember.
func (b *births) age(group, id string) int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.ages[sliceKey{group, id}]
}
