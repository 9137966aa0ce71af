package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/monitor"
	"github.com/squadronctl/squadron/reconcile"
)

// stay runs passes until it is interrupted, which is how it ends, and tells over HTTP how it is doing.
func (p *applying) stay(ctx context.Context) error {
	m := monitor.New()
	a := p.session.app
	stop, err := p.serve(m)
	if err != nil {
		return err
	}
	defer stop()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	config := p.config()
	var last shown
	config.Record = func(ctx context.Context, report reconcile.Report) error {
		o := outcome{Report: report}
		if p.prune {
			p.sweep(ctx, &o)
		}
		pass := monitor.Pass{Report: report, Swept: o.swept, Err: p.declared.err}
		if pass.Err == nil {
			pass.Err = o.sweepErr
		}
		m.Observe(pass)
		if err := last.show(a, p.form, o); err != nil {
			end(err) // nobody reads on
		}
		return nil
	}
	if err := reconcile.New(config).Run(ctx); err != nil {
		return err
	}
	if a.interrupts.first() {
		return nil
	}
	return context.Cause(ctx)
}

// retryListen is the pause between two attempts to listen where a predecessor does.
const retryListen = 50 * time.Millisecond

// serve tells over HTTP how a watch is doing, until stop is called. A process that runs as a unit comes while its predecessor
// is there, which may listen on the same address of the same host: it does so as soon as that one is gone.
func (p *applying) serve(m *monitor.Monitor) (stop func(), err error) {
	a := p.session.app
	tell := func(server *monitor.Server) {
		fmt.Fprintf(a.err, "listening on http://%s: /healthz, /readyz, /metrics\n", server.Addr)
	}
	server, err := m.Listen(p.listen)
	var malformed *net.AddrError
	switch {
	case err == nil:
		tell(server)
		return server.Close, nil
	case monitor.IsNotLoopback(err) || errors.As(err, &malformed):
		return nil, usageError{err: err}
	case p.own == "" || !errors.Is(err, syscall.EADDRINUSE):
		return nil, err
	}
	fmt.Fprintf(a.err, "%s is in use, by the predecessor perhaps: listening there as soon as it is free\n", p.listen)
	ended, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-ended:
				return
			case <-time.After(retryListen):
			}
			if server, err := m.Listen(p.listen); err == nil {
				tell(server)
				<-ended
				server.Close()
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-stopped
	}, nil
}

// shown is what a watch has written last, on either stream.
type shown struct {
	result     string
	complaints string
}

// show writes what is another than before.
func (s *shown) show(a *app, form string, o outcome) error {
	var text bytes.Buffer
	if err := (&app{out: &text}).print(form, o.result()); err != nil {
		return err
	}
	if complaints := o.complaints(); complaints != s.complaints {
		s.complaints = complaints
		fmt.Fprint(a.err, complaints)
	}
	if text.String() == s.result {
		return nil
	}
	blank := ""
	if s.result != "" && (form == formTable || form == formWide) {
		blank = "\n"
	}
	s.result = text.String()
	return a.write(blank + s.result)
}
