package systemd

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// batch shares runs of something that is costly and serves many at once: all who ask before a run begins are served by
// that one. Runs follow one another.
type batch[T any] struct {
	// run is given the names of all who asked, and gives an answer for some of them, or one error for all.
	run  func(ctx context.Context, names []string) (map[string]T, error)
	life *lifetime

	expected atomic.Int64 // who are about to ask

	mutex   sync.Mutex
	running bool
	next    *batchRun[T] // asked for, and not begun
}

// batchRun is one run.
type batchRun[T any] struct {
	names   []string
	done    chan struct{}
	answers map[string]T
	err     error
}

// forAll makes a run that is the same whoever asks, and has no answer.
func forAll(run func(context.Context) error) func(context.Context, []string) (map[string]struct{}, error) {
	return func(ctx context.Context, _ []string) (map[string]struct{}, error) { return nil, run(ctx) }
}

// ask returns when a run has ended that began after the call, with its answer for the name, or when ctx ends. A run goes
// on without those who asked for it.
func (b *batch[T]) ask(ctx context.Context, name string) (answer T, err error) {
	run, err := b.join(name)
	if err != nil {
		return answer, err
	}
	return run.await(ctx, name)
}

func (r *batchRun[T]) await(ctx context.Context, name string) (answer T, err error) {
	select {
	case <-r.done:
		return r.answers[name], r.err
	case <-ctx.Done():
		return answer, ctx.Err()
	}
}

// do is ask for those who need no answer.
func (b *batch[T]) do(ctx context.Context, name string) error {
	_, err := b.ask(ctx, name)
	return err
}

func (b *batch[T]) join(name string) (*batchRun[T], error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.next == nil {
		b.next = &batchRun[T]{done: make(chan struct{})}
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

// maxGather bounds how long those who have asked wait for those who are expected.
const maxGather = 200 * time.Millisecond

// expect announces that somebody is about to ask, so that no run begins before. Arrived is called when he has asked or
// won't; calls after the first do nothing.
func (b *batch[T]) expect() (arrived func()) {
	b.expected.Add(1)
	return sync.OnceFunc(func() { b.expected.Add(-1) })
}

// gather returns when all who are expected have asked.
func (b *batch[T]) gather() {
	for until := time.Now().Add(maxGather); b.expected.Load() > 0 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
}

// work runs until nobody asks any more.
func (b *batch[T]) work() {
	for {
		b.gather()
		b.mutex.Lock()
		run := b.next
		b.next = nil
		b.running = run != nil
		b.mutex.Unlock()
		if run == nil {
			return
		}
		run.answers, run.err = b.run(context.Background(), run.names)
		close(run.done)
	}
}
