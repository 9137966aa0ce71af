package systemd

import (
	"context"
	"sync"

	"github.com/squadronctl/squadron/internal/errmask"
)

// WatchUnits tells of changes of units of ours: what systemd says over D-Bus, what calls of this backend have changed,
// and what other programs change in the directory (where it was there when the watch began; else with systemd's next
// word of the unit). The channel is closed when ctx ends, when the connection to D-Bus breaks, when systemd starts
// anew, and by Close.
func (h *Host) WatchUnits(ctx context.Context) (<-chan struct{}, error) {
	out, err := h.watchUnits(ctx)
	return out, errmask.Maskf(err, "watch units")
}

func (h *Host) watchUnits(ctx context.Context) (<-chan struct{}, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{out: make(chan struct{}, 1)}
	broken, err := h.manager.Watch(ctx, func(name string) {
		if name == "" || h.has(name) {
			w.tell()
		}
	})
	if err != nil {
		cancel()
		return nil, err
	}
	files := watchFiles(w.tell, h.disk.units, h.disk.wants)
	h.watches.add(w, cancel)
	err = h.life.spawn(func() {
		defer w.close()
		defer files.close()
		defer h.watches.remove(w)
		defer cancel()
		<-broken
	})
	if err != nil {
		cancel()
		h.watches.remove(w)
		files.close()
		<-broken
		return nil, err
	}
	return w.out, nil
}

// has says whether there is a unit of that name, without a look into its file.
func (h *Host) has(name string) bool {
	_, ok := h.disk.identify(name)
	return ok && checkName(name) == nil
}

// watcher is one call of WatchUnits.
type watcher struct {
	mutex  sync.Mutex
	closed bool
	out    chan struct{}
}

// tell puts a value on the channel, unless one is there that nobody has taken yet.
func (w *watcher) tell() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.closed {
		return
	}
	select {
	case w.out <- struct{}{}:
	default:
	}
}

func (w *watcher) close() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.closed = true
	close(w.out)
}

// watches are all watchers of a backend. The zero value is ready for use.
type watches struct {
	mutex sync.Mutex
	all   map[*watcher]context.CancelFunc
}

func (w *watches) add(one *watcher, cancel context.CancelFunc) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.all == nil {
		w.all = map[*watcher]context.CancelFunc{}
	}
	w.all[one] = cancel
}

func (w *watches) remove(one *watcher) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.all, one)
}

// changed tells all watchers of a change that this backend has made.
func (w *watches) changed() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for one := range w.all {
		one.tell()
	}
}

// close ends all watches.
func (w *watches) close() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, cancel := range w.all {
		cancel()
	}
}
