// Package reconcile sees to it, again and again, that a cluster is as its declared stacks say.
//
// A Reconciler holds a stack.Backend and knows no engine. In each pass it reads the cluster, decides which stacks
// differ from what is declared, deploys those, and reports. What a backend can do beyond stack.Backend makes a pass
// cheaper, or lets it see more; a Report says what was lacking.
//
// Two questions are kept apart for each stack: Sync, whether the cluster is as declared, and Health, whether what is
// there works. Neither is ever guessed: a cluster that could not be read is unknown, and never missing.
//
// Nothing is ever removed here. Package prune does that.
package reconcile

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/stack"
)

var errInvalidArgument = errors.New("invalid argument")

// IsInvalidArgument is true for the error of a Config that lacks its Backend, Owner or Source.
func IsInvalidArgument(err error) bool { return errmask.Has(err, errInvalidArgument) }

// Declared is one stack that is to be there.
type Declared struct {
	// Name is the stack's name.
	Name string
	// Manifest is what to deploy, in the engine's own form.
	Manifest string
	// Wave orders stacks: those of a higher wave are deployed only when all of the lower ones are healthy. It may be
	// negative.
	Wave int
	// File says where the stack is declared. It is only reported.
	File string
	// Allow are the references outside of the stack that its manifest may make. The zero Allow leaves the backend as it
	// is.
	Allow stack.Allow
	// Credentials are what the stack's images are pulled with; nil leaves the backend as it is.
	Credentials stack.Credentials
}

// Source gives the stacks that are declared at the moment. It is asked once in each pass. The errors are faults of what
// could not be declared, such as a file that can't be read; they are reported, and the other stacks are seen to. What a
// Source leaves out is let be.
type Source func(ctx context.Context) ([]Declared, []error)

// Fixed is a Source of stacks that never change.
func Fixed(declared ...Declared) Source {
	declared = append([]Declared(nil), declared...)
	return func(context.Context) ([]Declared, []error) { return declared, nil }
}

// Retry says how long a stack whose deployment failed is let be: Min after the first failure, twice as long after each
// further one, and never longer than Max.
type Retry struct {
	// Min is 10 s by default.
	Min time.Duration
	// Max is 5 minutes by default, and at least Min.
	Max time.Duration
}

// Config is what a Reconciler works with. Backend, Owner and Source have to be set; for all else a zero value is the
// default.
type Config struct {
	// Backend deploys and reads the stacks.
	Backend stack.Backend
	// Owner is stamped on what is deployed.
	Owner string
	// Source gives the declared stacks.
	Source Source
	// Store is the one in which the backend records what it deploys. The Reconciler keeps there, beside, which manifest
	// of a stack was deployed to its end. Without it, nil, each stack is deployed once after a start, to be sure of it.
	Store stack.RevisionStore

	// CorrectDrift deploys a stack again when somebody has changed it by hand. By default such a change is only
	// reported.
	CorrectDrift bool
	// Concurrency is how many stacks of a wave are deployed, and where the backend has no StacksReader read, side by
	// side; 4 by default.
	Concurrency int
	// Interval is the time between the end of a pass of Run and the next; 30 s by default.
	Interval time.Duration
	// Jitter is the longest time that is added at random to each Interval; by default a tenth of it.
	Jitter time.Duration
	// DriftInterval is how long what was seen of a stack's fields and its owner stands before they are read again; 5
	// minutes by default. A pass in between takes one look at the cluster, for all stacks. A change by hand is seen
	// that much later, but a service that is gone or fails is seen in each pass.
	DriftInterval time.Duration
	// Retry is how long a stack whose deployment failed is let be.
	Retry Retry

	// Own is the stack that this process runs in. It needs to be said only for a backend without
	// capability.SelfRelease: that stack is then not deployed.
	Own string
	// ForbiddenSecrets are the secrets and configs that no stack may use, by the names they have on the cluster.
	ForbiddenSecrets map[string]struct{}

	// Begin is called where a stack is about to be deployed, with its name and why; from several goroutines at once. nil
	// means that nobody wants to know.
	Begin func(name string, reason Reason)
	// Record is called with the report of each Pass, before the write that replaces the process itself is issued. When
	// it fails, that write is not issued. It must not change the report.
	Record func(ctx context.Context, report Report) error
	// Logger may be nil.
	Logger logging.Logger
}

func (c Config) withDefaults() Config {
	positive := func(value *time.Duration, otherwise time.Duration) {
		if *value <= 0 {
			*value = otherwise
		}
	}
	positive(&c.Interval, 30*time.Second)
	positive(&c.Jitter, c.Interval/10)
	positive(&c.DriftInterval, 5*time.Minute)
	positive(&c.Retry.Min, 10*time.Second)
	positive(&c.Retry.Max, 5*time.Minute)
	c.Retry.Max = max(c.Retry.Max, c.Retry.Min)
	if c.Concurrency <= 0 {
		c.Concurrency = 4
	}
	c.ForbiddenSecrets = maps.Clone(c.ForbiddenSecrets)
	c.Logger = logging.OrSilent(c.Logger)
	return c
}

func (c Config) validate() error {
	switch {
	case c.Backend == nil:
		return errmask.Maskf(errInvalidArgument, "reconcile: no Backend")
	case c.Owner == "":
		return errmask.Maskf(errInvalidArgument, "reconcile: no Owner")
	case c.Source == nil:
		return errmask.Maskf(errInvalidArgument, "reconcile: no Source")
	}
	return nil
}

// Reconciler runs passes over declared stacks. Its methods are safe for use by many goroutines at once; one pass runs
// at a time.
type Reconciler struct {
	cfg      Config
	turn     chan struct{} // holds a value while a pass runs
	memories map[string]*memory
	told     bool // what the backend lacks has been logged
}

// New gives a Reconciler that remembers nothing yet. A Config that can't work is the error of each pass.
func New(cfg Config) *Reconciler {
	return &Reconciler{cfg: cfg.withDefaults(), turn: make(chan struct{}, 1), memories: map[string]*memory{}}
}

// Pass reads the cluster, deploys what differs, records the report with Config.Record, issues the write that replaces
// the process itself if there is one, and gives the report. It waits for a pass that is under way.
//
// What fails of one stack stands in the report, and stops no other; Report.Err has it as one error. The error of Pass
// itself is a Config that can't work, a Record that failed, or the context's end: then the report says how far the pass
// had come.
func (r *Reconciler) Pass(ctx context.Context) (Report, error) {
	return r.pass(ctx, false)
}

// Plan is a Pass that changes nothing: its report says which stacks Pass would deploy, and why. It reads the fields of
// every stack, and asks the backend what it would refuse (DeployChecker). Record is not called. A stack that waits for
// its wave, or is let be after a failure, is shown as one that would be deployed.
func (r *Reconciler) Plan(ctx context.Context) (Report, error) {
	return r.pass(ctx, true)
}

func (r *Reconciler) pass(ctx context.Context, dry bool) (Report, error) {
	if err := r.cfg.validate(); err != nil {
		return Report{}, err
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return Report{}, errmask.Maskf(context.Cause(ctx), "reconcile")
	}
	p := &pass{Reconciler: r, dry: dry, started: time.Now(), lacks: map[string]bool{}}
	if err := p.run(ctx); err != nil {
		return p.report(), errmask.Maskf(err, "reconcile")
	}
	return p.report(), nil
}
