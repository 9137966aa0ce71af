package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/monitor"
	"github.com/squadronctl/squadron/reconcile"
)

// stay runs passes until it is interrupted, which is how it ends, and tells over HTTP how it is doing.
func (p *applying) stay(ctx context.Context) error {
	m := monitor.New()
	server, err := m.Listen(p.listen)
	var malformed *net.AddrError
	if monitor.IsNotLoopback(err) || errors.As(err, &malformed) {
		return usageError{err: err}
	}
	if err != nil {
		return err
	}
	defer server.Close()
	a := p.session.app
	fmt.Fprintf(a.err, "listening on http://%s: /healthz, /readyz, /metrics\n", server.Addr)
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
