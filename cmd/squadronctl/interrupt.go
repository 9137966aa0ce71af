package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts are what the user presses Ctrl-C for: the first asks for a clean end, the second for an end at once. SIGTERM
// means the same, and so does the end of the terminal (SIGHUP).
type interrupts struct {
	// context ends with the first.
	context context.Context
	// second is closed with the second.
	second chan struct{}

	cancel  context.CancelFunc
	signals chan os.Signal
	group   sync.WaitGroup
}

// catchInterrupts takes the process's interrupts until end is called. Till then a reader of standard output or standard
// error who goes away ends no command half-way either (SIGPIPE): writing fails, and it is not told what it does not read.
func catchInterrupts() *interrupts {
	i := &interrupts{second: make(chan struct{}), signals: make(chan os.Signal, 2)}
	i.context, i.cancel = context.WithCancel(context.Background())
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(i.signals, syscall.SIGHUP)
	}
	signal.Ignore(syscall.SIGPIPE)
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
	signal.Reset(syscall.SIGPIPE)
	close(i.signals)
	i.group.Wait()
	i.cancel()
}

// orInterrupted says of an error that comes of an interrupt that it does.
func (a *app) orInterrupted(err error) error {
	if err != nil && a.interrupts.first() {
		return errInterrupted
	}
	return err
}
