package reconcile

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// memory is what a Reconciler knows of a stack from earlier passes. It is about one manifest; another one begins anew.
type memory struct {
	manifest string
	applied  bool // the manifest was deployed, or was seen to be what is there
	pending  bool // a deployment was begun and did not come to its end

	failures  int
	notBefore time.Time
	err       error

	declared    []string // names of the services; valid with knowsNames
	knowsNames  bool
	declaredErr error

	look    look
	lookDue time.Time
}

// look is what was seen of a stack beyond the states of its services.
type look struct {
	at      time.Time
	foreign bool
	changes []Change
	missing []string
	err     error
}

// working is one declared stack in one pass.
type working struct {
	Declared
	mem  *memory
	read reading
	want bool // it has to be deployed
	out  StackReport

	hands *hands // of the deployment in this pass
	held  []func(context.Context) error
}

// pass is one run over all declared stacks.
type pass struct {
	*Reconciler
	dry     bool
	started time.Time
	stacks  []*working
	faults  []Fault
	lacks   map[string]bool

	reads stack.Backend // what the cluster is read by until something is deployed
	wrote bool          // something was deployed, so that what was seen before may be so no more

	networks    map[string]string // names by ID, once asked for
	networksErr error
}

func (p *pass) run(ctx context.Context) error {
	p.admit(p.declared(ctx))
	p.noteLacks(ctx)
	p.readNames(ctx)
	p.readAll(ctx)
	if err := context.Cause(ctx); err != nil {
		return errmask.Mask(err)
	}
	for _, s := range p.stacks {
		p.judge(ctx, s)
	}
	if p.dry {
		p.planned(ctx)
		return nil
	}
	p.deployWaves(ctx)
	if err := context.Cause(ctx); err != nil {
		return errmask.Mask(err)
	}
	if p.cfg.Record != nil {
		if err := p.guarded(ctx, "record", "the pass", func() error { return p.cfg.Record(ctx, p.report()) }); err != nil {
			return errmask.Mask(err)
		}
	}
	return p.release(ctx)
}

func (p *pass) declared(ctx context.Context) (declared []Declared, faults []error) {
	err := p.guarded(ctx, "ask for", "the declared stacks", func() error {
		declared, faults = p.cfg.Source(ctx)
		return nil
	})
	if err != nil {
		return nil, []error{err}
	}
	return declared, faults
}

// admit takes up what is declared. Of two stacks with one name neither is the right one, so both are left alone.
func (p *pass) admit(declared []Declared, faults []error) {
	for _, err := range faults {
		p.faults = append(p.faults, faultOf(err))
	}
	files := map[string][]string{}
	for _, d := range declared {
		files[d.Name] = append(files[d.Name], d.File)
	}
	for _, d := range declared {
		switch {
		case d.Name == "":
			p.faults = append(p.faults, faultOf(errmask.Mask(&stack.ManifestError{File: d.File, Err: errors.New("a stack without a name")})))
		case len(files[d.Name]) > 1:
			p.faults = append(p.faults, faultOf(errmask.Mask(&stack.ManifestError{File: d.File, Err: errTwice(d.Name)})))
		default:
			p.stacks = append(p.stacks, &working{Declared: d, mem: p.recall(d), out: StackReport{Action: ActionNone}})
		}
	}
	slices.SortFunc(p.stacks, func(a, b *working) int { return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.Name, b.Name)) })
	if len(faults) > 0 { // a stack that could not be declared this time may be again
		return
	}
	maps.DeleteFunc(p.memories, func(name string, _ *memory) bool { return len(files[name]) == 0 })
}

func errTwice(name string) error { return errors.New("stack " + name + " is declared more than once") }

func (p *pass) recall(d Declared) *memory {
	if m := p.memories[d.Name]; m != nil && m.manifest == d.Manifest {
		return m
	}
	m := &memory{manifest: d.Manifest}
	p.memories[d.Name] = m
	return m
}

// each runs do for all stacks, Concurrency of them side by side, and returns when all have ended.
func (p *pass) each(stacks []*working, do func(*working)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, p.cfg.Concurrency)
	for _, s := range stacks {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			do(s)
		})
	}
	all.Wait()
}

func (p *pass) names(stacks []*working) []string {
	names := make([]string, len(stacks))
	for i, s := range stacks {
		names[i] = s.Name
	}
	return names
}

func (p *pass) report() Report {
	r := Report{
		Started: p.started, Ended: time.Now(), Faults: slices.Clone(p.faults),
		Stacks: make([]StackReport, len(p.stacks)), Lacks: slices.Sorted(maps.Keys(p.lacks)),
	}
	for i, s := range p.stacks {
		r.Stacks[i] = s.report()
	}
	return r
}

func (s *working) report() StackReport {
	out := s.out
	out.Name, out.Wave, out.File = s.Name, s.Wave, s.File
	out.Sync, out.Health = cmp.Or(out.Sync, SyncUnknown), cmp.Or(out.Health, HealthUnknown)
	out.Services = slices.Clone(s.read.services)
	out.Changes, out.ChangesAt = slices.Clone(s.mem.look.changes), s.mem.look.at
	out.Failures, out.NextTry = s.mem.failures, s.mem.notBefore
	if out.Err != nil {
		out.Error = out.Err.Error()
	}
	return out
}
