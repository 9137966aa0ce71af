package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts are what the user presses Ctrl-C for: the first asks for a clean end, the second for an end at once.
type interrupts struct {
	// context ends with the first.
	context context.Context
	// second is closed with the second.
	second chan struct{}

	cancel  context.CancelFunc
	signals chan os.Signal
	group   sync.WaitGroup
}

// catchInterrupts takes the process's interrupts until end is called.
func catchInterrupts() *interrupts {
	i := &interrupts{second: make(chan struct{}), signals: make(chan os.Signal, 2)}
	i.context, i.cancel = context.WithCancel(context.Background())
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	i.group.Go(i.listen)
	return i
}

func (i *interrupts) listen() {
	if _, more := <-i.signals; !more {
		return
	}
	i.cancel()
	if _, more := <-i.signals; more {
		close(i.second)
		for range i.signals { // further ones change nothing
		}
	}
}

// first says whether there was an interrupt.
func (i *interrupts) first() bool { return i.context.Err() != nil }

// end gives the interrupts back.
func (i *interrupts) end() {
	signal.Stop(i.signals)
	close(i.signals)
	i.group.Wait()
	i.cancel()
}
