package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
)

// applying is one run of the command.
type applying struct {
	stackFlags
	session      *stackSession
	declared     *source
	prune        bool
	dryRun       bool
	correctDrift bool

	watch    bool
	listen   string
	interval time.Duration
}

func (a *app) applyCommand() *cobra.Command {
	p := &applying{interval: 30 * time.Second}
	command := &cobra.Command{
		Use:        "apply DIR",
		SuggestFor: []string{"deploy", "reconcile", "sync"},
		Short:      "Bring the cluster to what a directory of stacks declares",
		Long: `Deploys what a directory declares and the cluster has not, or not like that. DIR has a manifest NAME.txtar for each stack, or a
group's directory NAME; docs/stacks.md describes manifests. What is as declared is not written again. What somebody has
changed by hand is reported, and set right only with --correct-drift. What carries another owner's stamp, or none, is refused.

A manifest that can't be used is refused with its file and line, and the others are deployed. With --prune stacks that carry
this owner's stamp and are not declared are removed, and of declared ones what --state proves that an older manifest of the owner's
had declared. Nothing is removed while a manifest can't be read. The exit code is 1 when a stack could not be deployed, read or removed, and else 2 when a manifest was
refused. It says nothing of stacks' health, as status does. But stacks of a higher wave, which a manifest's "wave: N" says, are
not deployed while one of a lower wave is not healthy, and then the exit code is 1 as well.

With --watch it stays, reads the directory again each --interval, and writes its table when that is another, until it is
interrupted, which is its exit code 0. It answers on --listen: /healthz as long as it lives, /readyz while it can read the
cluster and the directory, /metrics for Prometheus. A directory without any stack, as one has where a file system is not
mounted, then removes nothing.

With --engine swarm DIR has compose files, NAME.yaml or NAME/compose.yaml, which docs/swarm.md describes. They go to the Docker
Swarm of the manager that the docker command would talk to, by DOCKER_HOST, DOCKER_CONTEXT or its current context. What they
use outside of their stacks, such as paths of hosts and external networks, has to be allowed by --allow-host-path and the like;
so it has to be for units.`,
		Example:           "  squadronctl apply ./stacks --dry-run\n  squadronctl apply ./stacks --prune\n  squadronctl apply ./stacks --prune --correct-drift --watch\n  squadronctl apply ./stacks --engine swarm --allow-network proxy",
		Args:              stackDirArgs,
		ValidArgsFunction: completeDirectories,
		RunE: func(command *cobra.Command, args []string) error {
			if err := p.check(command); err != nil {
				return err
			}
			return p.over(a, command, args[0], p.run)
		},
	}
	flags := command.Flags()
	flags.BoolVar(&p.prune, "prune", false, "remove what the owner deployed and no longer declares")
	flags.BoolVar(&p.dryRun, "dry-run", false, "only say what would be done")
	flags.BoolVar(&p.correctDrift, "correct-drift", false, "set right what somebody has changed by hand")
	flags.BoolVar(&p.watch, "watch", false, "stay, and see to it again and again")
	flags.Var((*seconds)(&p.interval), "interval", "the pause between two passes of --watch, as in 30s; a mere number is of seconds")
	flags.StringVar(&p.listen, "listen", "127.0.0.1:9642", "the `host:port` of this host on which --watch tells how it is doing; port 0 is a free one")
	flags.StringVar(&p.own, "own", "", "the `stack` that this process runs in itself: it is deployed last")
	flags.StringVar(&p.ownService, "own-service", "", "the `service` of that stack that this process is; by default its only one, or the one with a container of this host's name")
	a.addStackFlags(command, &p.stackFlags)
	completeFlag(command, "own")
	completeFlag(command, "own-service")
	completeFlag(command, "listen")
	completeFlag(command, "interval")
	return command
}

// check refuses flags that don't go together.
func (p *applying) check(command *cobra.Command) error {
	if p.watch && p.dryRun {
		return usagef("--watch and --dry-run don't go together")
	}
	for _, flag := range []string{"listen", "interval"} {
		if !p.watch && command.Flags().Changed(flag) {
			return usagef("--%s has a meaning with --watch only", flag)
		}
	}
	return nil
}

// over runs what needs the stacks that a directory declares, and those that are there.
func (p *applying) over(a *app, command *cobra.Command, dir string, work func(context.Context, *stackSession) error) error {
	if err := a.settleStacks(command, &p.stackFlags); err != nil {
		return err
	}
	declared, files := a.newSource(dir, p.engineFlags)
	if err := declared.check(); err != nil {
		return err
	}
	p.declared = declared
	return a.withStacks(p.stackFlags, files, work)
}

// run does what the flags say, once or again and again.
func (p *applying) run(ctx context.Context, s *stackSession) error {
	p.session = s
	if p.watch {
		return p.stay(ctx)
	}
	reconciler := reconcile.New(p.config())
	run := reconciler.Pass
	if p.dryRun {
		run = reconciler.Plan
	}
	report, err := run(ctx)
	o := outcome{Report: report, dryRun: p.dryRun}
	if err == nil && p.prune {
		p.sweep(ctx, &o)
	}
	if failed := o.show(s.app, p.form); failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	return o.err()
}

func (p *applying) config() reconcile.Config {
	s := p.session
	return reconcile.Config{
		Backend: s.engine, Owner: s.owner, Source: p.declared.read, Store: s.store, CorrectDrift: p.correctDrift,
		Own: p.own, Interval: p.interval, Logger: s.app.logger(),
		Begin: func(name string, reason reconcile.Reason) {
			fmt.Fprintf(s.app.err, "deploying %s (%s)\n", name, reason)
		},
	}
}

var (
	errFaultsKeep = errors.New("nothing is swept while something can't be read of what is declared")
	errEmptyKeep  = errors.New("nothing is swept while nothing is declared: a directory that is not mounted looks like that")
)

// sweep follows a pass. A stack that is not as it should be, for whatever reason, is kept whole.
func (p *applying) sweep(ctx context.Context, o *outcome) {
	switch {
	case len(o.Faults) > 0:
		o.unswept = errFaultsKeep
		return
	case p.watch && len(o.Stacks) == 0:
		o.unswept = errEmptyKeep
		return
	}
	settled := map[string]bool{}
	for _, s := range o.Stacks {
		settled[s.Name] = s.Settled() || p.dryRun && s.Action == reconcile.ActionDeploy && !isFailed(s)
	}
	o.swept, o.sweepErr = p.session.sweep(ctx, p.declared, p.dryRun, func(name string) bool { return !settled[name] })
}

// outcome is what became of a directory of stacks.
type outcome struct {
	reconcile.Report
	dryRun   bool
	swept    prune.Report
	sweepErr error // what ended the sweep
	unswept  error // why there was none
}
