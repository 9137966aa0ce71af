package fleettest

import (
	"container/heap"
	"time"
)

// event is one transition that is due at some moment.
type event struct {
	due   time.Time
	order uint64
	run   func()
}

// eventQueue is a heap of events in the order of time; events of one moment keep the order in which they were added.
type eventQueue struct {
	events []event
	added  uint64
}

func (q *eventQueue) add(due time.Time, run func()) {
	q.added++
	heap.Push((*eventHeap)(&q.events), event{due: due, order: q.added, run: run})
}

// next takes the first event that is due at now.
func (q *eventQueue) next(now time.Time) (event, bool) {
	if len(q.events) == 0 || q.events[0].due.After(now) {
		return event{}, false
	}
	return heap.Pop((*eventHeap)(&q.events)).(event), true
}

type eventHeap []event

func (h eventHeap) Len() int      { return len(h) }
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h eventHeap) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].order < h[j].order
	}
	return h[i].due.Before(h[j].due)
}

func (h *eventHeap) Push(x any) { *h = append(*h, x.(event)) }

func (h *eventHeap) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = event{}
	*h = (*h)[:last]
	return e
}
