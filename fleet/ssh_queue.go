package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/squadronctl/squadron/internal/errmask"
)

const (
	// A refused channel is asked for again after pauses that double from the first to the last of these.
	firstPause = 2 * time.Millisecond
	lastPause  = time.Second
)

// queue is where those wait whom the server refuses a channel because others are open. One of them asks again, the others
// wait for their turn, so that a server with little to grant is not asked, and does not log, more than it takes.
type queue struct {
	turn  chan struct{} // holds one entry while somebody asks again
	freed chan struct{} // holds an entry after a channel was closed here

	mutex sync.Mutex
	pause time.Duration // before the next attempt; 0 after one that succeeded
	since time.Time     // of the first refusal after that
}

func newQueue() *queue {
	return &queue{turn: make(chan struct{}, 1), freed: make(chan struct{}, 1)}
}

// closed says that a channel was closed here; the server may free its place somewhat later.
func (q *queue) closed() {
	select {
	case q.freed <- struct{}{}:
	default:
	}
}

// note notes how an attempt ended.
func (q *queue) note(refused bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if !refused {
		q.pause = 0
		return
	}
	if q.pause == 0 {
		q.since = time.Now()
	}
	q.pause = min(max(2*q.pause, firstPause), lastPause)
}

// hasten begins anew with short pauses, now that there is something to be had.
func (q *queue) hasten() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.pause, q.since = firstPause, time.Now()
}

// state gives the pause before the next attempt, and for how long all attempts have been refused.
func (q *queue) state() (pause, refused time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.pause == 0 {
		return 0, 0
	}
	return q.pause, time.Since(q.since)
}

// untilFree opens a channel, and waits for as long as the server refuses it only because others are open, of which full is
// to judge, knowing for how long all have been refused.
func (t *sshTunnel) untilFree(ctx context.Context, c *sshConnection, full func(error, time.Duration) bool, open func() error) error {
	attempt := func() (err error, again bool) {
		err = t.inTime(c, open)
		if err == nil {
			c.queue.note(false)
			return nil, false
		}
		if _, refused := errors.AsType[*ssh.OpenChannelError](err); !refused {
			return withClass(errTemporary, err), false // the connection is dead, and nothing was sent
		}
		// What is refused for another reason says nothing about how much there is to be had.
		if _, refused := c.queue.state(); !full(err, refused) {
			return err, false
		}
		c.queue.note(true)
		return err, true
	}
	if pause, _ := c.queue.state(); pause == 0 {
		if err, again := attempt(); !again {
			return err
		}
	}
	select {
	case c.queue.turn <- struct{}{}:
		defer func() { <-c.queue.turn }()
	case <-ctx.Done():
		return errmask.Maskf(ctx.Err(), "waited for a free channel")
	}
	for {
		if err := t.waitInQueue(ctx, c); err != nil {
			return err
		}
		if err, again := attempt(); !again {
			return err
		}
	}
}

// waitInQueue waits for the time of the next attempt.
func (t *sshTunnel) waitInQueue(ctx context.Context, c *sshConnection) error {
	pause, _ := c.queue.state()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.queue.freed:
		c.queue.hasten()
	case <-ctx.Done():
		return errmask.Maskf(ctx.Err(), "waited for a free channel")
	case <-t.closing.Done():
		return errTunnelClosed()
	case <-c.dead:
		return withClass(errTemporary, errors.New("the SSH connection ended"))
	}
	return nil
}
