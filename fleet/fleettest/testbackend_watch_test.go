package fleettest_test

import (
	"context"
	"slices"
	"sync"
)

// feed tells those who watch of changes.
type feed struct {
	mutex   sync.Mutex
	watches []chan struct{}
}

func (f *feed) watch(ctx context.Context) (<-chan struct{}, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	changes := make(chan struct{}, 1)
	f.watches = append(f.watches, changes)
	context.AfterFunc(ctx, func() { f.end(changes) })
	return changes, nil
}

func (f *feed) end(changes chan struct{}) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.watches = slices.DeleteFunc(f.watches, func(other chan struct{}) bool { return other == changes })
	close(changes)
}

func (f *feed) tell() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, changes := range f.watches {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
}

// brokenWatches are backends that break the rules about hearing of changes.
var brokenWatches = map[string]map[string]func(*tampered){
	"watch": {
		"tells nothing": func(f *tampered) { f.tell = func() {} },
		"ends early": func(f *tampered) {
			f.watch = func(context.Context) (<-chan struct{}, error) {
				changes := make(chan struct{})
				close(changes)
				return changes, nil
			}
		},
	},
	"watch without changes": {"never rests": func(f *tampered) {
		f.watch = func(context.Context) (<-chan struct{}, error) {
			changes := make(chan struct{})
			close(changes)
			return changes, nil
		}
	}},
	"watch that ends": {"context ignored": func(f *tampered) {
		f.watch = func(ctx context.Context) (<-chan struct{}, error) { return f.feed.watch(context.WithoutCancel(ctx)) }
	}},
}
