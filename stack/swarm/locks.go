package swarm

import (
	"context"
	"sync"
)

// locks has one lock for each stack, since what changes a stack is done one after the other.
type locks struct {
	mutex  sync.Mutex
	byName map[string]*nameLock
}

type nameLock struct {
	held chan struct{} // has a value while somebody holds the lock
	used int           // by those who hold it or wait for it
}

// lock waits until the stack is free, or ctx ends.
func (l *locks) lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mutex.Lock()
	lock := l.byName[name]
	if lock == nil {
		lock = &nameLock{held: make(chan struct{}, 1)}
		l.byName[name] = lock
	}
	lock.used++
	l.mutex.Unlock()

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

func (l *locks) leave(name string, lock *nameLock) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if lock.used--; lock.used == 0 {
		delete(l.byName, name)
	}
}
