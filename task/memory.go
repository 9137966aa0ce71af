package task

import (
	"container/list"
	"sync"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
)

const (
	defaultMaxFinal = 10_000
	defaultMaxAge   = 24 * time.Hour
)

// MemoryStorageOptions bounds what a memory storage keeps of tasks that are final. Tasks that run are always kept. Zero
// fields mean their defaults, and so do negative ones.
type MemoryStorageOptions struct {
	// MaxFinal is how many final tasks are kept, 10,000 by default. When there are more, those that ended first go.
	MaxFinal int
	// MaxAge is how long a task is kept after its end, 24 h by default.
	MaxAge time.Duration
}

// NewMemoryStorage returns a Storage in memory with the default MemoryStorageOptions.
func NewMemoryStorage() Storage {
	return NewMemoryStorageWithOptions(MemoryStorageOptions{})
}

// NewMemoryStorageWithOptions returns a Storage in memory, which is a Watcher too. It never waits. A task beyond the
// bounds is gone, and reading it is IsTaskObjectNotFound; only while a wait for it is under way it stays. There is no
// goroutine: each call drops what is due.
func NewMemoryStorageWithOptions(options MemoryStorageOptions) Storage {
	if options.MaxFinal <= 0 {
		options.MaxFinal = defaultMaxFinal
	}
	if options.MaxAge <= 0 {
		options.MaxAge = defaultMaxAge
	}
	return &memoryStorage{options: options, entries: map[string]*entry{}}
}

var _ interface {
	Storage
	Watcher
} = (*memoryStorage)(nil)

type memoryStorage struct {
	options MemoryStorageOptions

	mutex   sync.Mutex
	entries map[string]*entry
	finals  list.List // of *entry, all final, in the order in which they became so
}

// entry is one task. Once final it stands in finals until it is due; then it goes, at the latest with its last watcher.
type entry struct {
	task     Task
	endedAt  time.Time
	place    *list.Element // in finals; nil outside
	watchers int
	final    chan struct{} // for the watchers; nil until the first of a task that runs
}

func (m *memoryStorage) Get(taskID string) (*Task, error) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.dropDue()
	e, ok := m.entries[taskID]
	if !ok {
		return nil, errmask.Mask(errTaskObjectNotFound)
	}
	return clone(&e.task), nil
}

func (m *memoryStorage) Set(taskObject *Task) error {
	if err := checkTask(taskObject); err != nil {
		return errmask.Mask(err)
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	e, ok := m.entries[taskObject.ID]
	if !ok {
		e = &entry{}
		m.entries[taskObject.ID] = e
	}
	wasFinal := ok && HasFinalStatus(&e.task)
	e.task = *taskObject
	switch isFinal := HasFinalStatus(&e.task); {
	case isFinal && !wasFinal:
		m.end(e)
	case !isFinal && wasFinal:
		m.reopen(e)
	}
	m.dropDue()
	return nil
}

// end tells the watchers and puts the entry among the finals.
func (m *memoryStorage) end(e *entry) {
	e.endedAt = time.Now()
	e.place = m.finals.PushBack(e)
	if e.final != nil {
		close(e.final)
		e.final = nil
	}
}

// reopen undoes end, for who uses the storage without a service.
func (m *memoryStorage) reopen(e *entry) {
	if e.place != nil {
		m.finals.Remove(e.place)
		e.place = nil
	}
}

// dropDue takes what is beyond the bounds from the front of finals. Each entry is taken once, so a call costs what one
// call of Set has brought, on average.
func (m *memoryStorage) dropDue() {
	now := time.Now()
	for front := m.finals.Front(); front != nil; front = m.finals.Front() {
		e := front.Value.(*entry)
		if m.finals.Len() <= m.options.MaxFinal && now.Sub(e.endedAt) < m.options.MaxAge {
			return
		}
		m.finals.Remove(front)
		e.place = nil
		m.dropUnwatched(e)
	}
}

// dropUnwatched forgets an entry that is final and due, unless somebody still waits to read it.
func (m *memoryStorage) dropUnwatched(e *entry) {
	if e.watchers == 0 && e.place == nil && HasFinalStatus(&e.task) {
		delete(m.entries, e.task.ID)
	}
}

func (m *memoryStorage) Watch(taskID string) (<-chan struct{}, func()) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	e, ok := m.entries[taskID]
	if !ok {
		return closedChannel(), func() {}
	}
	e.watchers++
	stop := func() { m.unwatch(e) }
	if HasFinalStatus(&e.task) {
		return closedChannel(), stop
	}
	if e.final == nil {
		e.final = make(chan struct{})
	}
	return e.final, stop
}

func (m *memoryStorage) unwatch(e *entry) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	e.watchers--
	m.dropUnwatched(e)
}

func closedChannel() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
