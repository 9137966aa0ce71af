package systemd

import (
	"context"
	"sync"
)

// nameLocks lets one change at a time have a unit. The zero value is ready for use.
type nameLocks struct {
	mutex sync.Mutex
	held  map[string]*nameLock
}

type nameLock struct {
	slot  chan struct{}
	users int
}

// lock waits for the unit until ctx ends. Who has it calls unlock.
func (l *nameLocks) lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mutex.Lock()
	if l.held == nil {
		l.held = map[string]*nameLock{}
	}
	lock := l.held[name]
	if lock == nil {
		lock = &nameLock{slot: make(chan struct{}, 1)}
		l.held[name] = lock
	}
	lock.users++
	l.mutex.Unlock()
	select {
	case lock.slot <- struct{}{}:
		return func() { <-lock.slot; l.leave(name, lock) }, nil
	case <-ctx.Done():
		l.leave(name, lock)
		return nil, ctx.Err()
	}
}

func (l *nameLocks) leave(name string, lock *nameLock) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if lock.users--; lock.users == 0 {
		delete(l.held, name)
	}
}
