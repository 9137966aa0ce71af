package controller

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/squadronctl/squadron/internal/errmask"
)

// watch has the backend tell of changes while anybody attends to them. What an observer knows of it is guarded by the
// observer's lock.
type watch struct {
	attendees int
	live      bool // the backend is being watched
	changed   bool // there was a change, or there may have been one, since the last prompt look began

	end  context.CancelFunc
	done chan struct{} // closed when nothing of the watch is left
}

// attend has the backend watched until leave is called, so that prompt looks begin with the next change. The last one to
// leave ends the watch and waits for its end. It does nothing where the backend tells of no changes.
func (o *observer) attend() (leave func()) {
	if o.backend.watcher == nil {
		return func() {}
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.watch == nil {
		ctx, end := context.WithCancel(context.Background())
		o.watch = &watch{end: end, done: make(chan struct{})}
		go o.keepWatching(ctx, o.watch)
	}
	w := o.watch
	w.attendees++
	return func() { o.unattend(w) }
}

func (o *observer) unattend(w *watch) {
	o.mutex.Lock()
	w.attendees--
	last := w.attendees == 0
	if last {
		o.watch = nil
	}
	o.mutex.Unlock()
	if last {
		w.end()
		<-w.done
	}
}

// keepWatching is the watch's goroutine. A watch that breaks off is begun anew after the pause of patient looks, at whose pace
// things go on meanwhile.
func (o *observer) keepWatching(ctx context.Context, w *watch) {
	defer close(w.done)
	for ctx.Err() == nil {
		changes, err := o.backend.watchUnits(ctx)
		if err == nil {
			o.heed(ctx, w, changes)
		} else if ctx.Err() == nil {
			o.backend.logger.Debug(ctx, "the backend can't be watched, so looks go on at their pace: %v", err)
		}
		_ = sleep(ctx, o.interval) // its end is that of ctx
	}
}

// heed passes changes on until the channel is closed or ctx ends.
func (o *observer) heed(ctx context.Context, w *watch, changes <-chan struct{}) {
	o.note(w, true)
	defer o.note(w, false)
	for {
		select {
		case _, open := <-changes:
			if !open {
				return
			}
			o.note(w, true)
		case <-ctx.Done():
			return
		}
	}
}

// note takes down a change, or the begin or the end of being watched, after each of which there is something to be looked at.
func (o *observer) note(w *watch, live bool) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	w.live, w.changed = live, true
	if l := o.pending[prompt]; l != nil && o.watch == w {
		l.hurryTo(o.due(prompt))
	}
}

// watchUnits begins to watch. A panic of the backend is an error; its stack goes to the log.
func (b *backend) watchUnits(ctx context.Context) (changes <-chan struct{}, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the backend panicked: %v", r)
			b.logger.Critical(ctx, "watch units: %v\n%s", err, debug.Stack())
		}
	}()
	changes, err = b.watcher.WatchUnits(ctx)
	return changes, errmask.Maskf(err, "watch units")
}
