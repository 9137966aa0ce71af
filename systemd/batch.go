package systemd

import (
	"context"
	"sync"
	"time"
)

// batch shares runs of something that is costly and serves many at once: all who ask before a run begins are served by
// that one. Runs follow one another.
type batch struct {
	// run is given the names of all who asked, and gives the errors of some of them, or one for all.
	run  func(ctx context.Context, names []string) (map[string]error, error)
	life *lifetime
	// linger is how long a run waits for more to ask.
	linger time.Duration

	mutex   sync.Mutex
	running bool
	next    *batchRun // asked for, and not begun
}

// batchRun is one run.
type batchRun struct {
	names []string
	done  chan struct{}
	errs  map[string]error
	err   error
}

// forAll makes a run that is the same whoever asks.
func forAll(run func(context.Context) error) func(context.Context, []string) (map[string]error, error) {
	return func(ctx context.Context, _ []string) (map[string]error, error) { return nil, run(ctx) }
}

// do returns when a run has ended that began after the call, with what it gave for the name, or when ctx ends. A run
// goes on without those who asked for it.
func (b *batch) do(ctx context.Context, name string) error {
	run, err := b.join(name)
	if err != nil {
		return err
	}
	select {
	case <-run.done:
		if run.err != nil {
			return run.err
		}
		return run.errs[name]
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *batch) join(name string) (*batchRun, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.next == nil {
		b.next = &batchRun{done: make(chan struct{})}
	}
	run := b.next
	run.names = append(run.names, name)
	if !b.running {
		if err := b.life.spawn(b.work); err != nil {
			return nil, err
		}
		b.running = true
	}
	return run, nil
}

// work runs until nobody asks any more.
func (b *batch) work() {
	for {
		time.Sleep(b.linger)
		b.mutex.Lock()
		run := b.next
		b.next = nil
		b.running = run != nil
		b.mutex.Unlock()
		if run == nil {
			return
		}
		run.errs, run.err = b.run(context.Background(), run.names)
		close(run.done)
	}
}
