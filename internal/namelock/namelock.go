// Package namelock has a lock for each name, so that what changes one thing is done one after the other, and what changes
// different things side by side.
package namelock

import (
	"context"
	"sync"
)

// Locks has a lock for each name that somebody holds or waits for; it keeps nothing of the others. The zero value is ready
// for use.
type Locks struct {
	mutex  sync.Mutex
	byName map[string]*nameLock
}

type nameLock struct {
	held chan struct{} // has a value while somebody holds the lock
	used int           // by those who hold it or wait for it
}

// Lock waits until the name is free, or ctx ends, whose error it gives then. Who has it calls unlock, once.
func (l *Locks) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	lock := l.join(name)
	select {
	case lock.held <- struct{}{}:
		return func() {
			<-lock.held
			l.leave(name, lock)
		}, nil
	case <-ctx.Done():
		l.leave(name, lock)
		return nil, ctx.Err()
	}
}

func (l *Locks) join(name string) *nameLock {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.byName == nil {
		l.byName = map[string]*nameLock{}
	}
	lock := l.byName[name]
	if lock == nil {
		lock = &nameLock{held: make(chan struct{}, 1)}
		l.byName[name] = lock
	}
	lock.used++
	return lock
}

func (l *Locks) leave(name string, lock *nameLock) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if lock.used--; lock.used == 0 {
		delete(l.byName, name)
	}
}
