package reconcile

import (
	"errors"
	"fmt"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// Sync is whether the cluster is as declared.
type Sync string

// The values of Sync.
const (
	Synced      Sync = "synced"
	OutOfSync   Sync = "out-of-sync"
	SyncUnknown Sync = "unknown" // something could not be read
)

// Health is whether what is there of a stack works.
type Health string

// The values of Health.
const (
	Healthy       Health = "healthy"     // all services run, as many copies as there should be
	Progressing   Health = "progressing" // some are on their way
	Degraded      Health = "degraded"    // a service failed, stopped, or is not there
	Missing       Health = "missing"     // nothing of the stack is there
	HealthUnknown Health = "unknown"     // the cluster could not be read
)

// Action is what a pass did about a stack.
type Action string

// The actions.
const (
	ActionNone     Action = "none"         // nothing was to be done, or nothing is known
	ActionDeploy   Action = "would-deploy" // only in the report of Plan
	ActionRefuse   Action = "would-refuse" // only in the report of Plan: the backend would refuse it; Error says why
	ActionDeployed Action = "deployed"
	ActionFailed   Action = "failed"  // the deployment failed; Error says how
	ActionBackoff  Action = "backoff" // it failed before, and is let be until NextTry; Error is from then
	ActionWaiting  Action = "waiting" // a lower wave is not healthy yet
	ActionHeld     Action = "held"    // the process's own stack: its write is issued once the report is recorded
	ActionOwn      Action = "own"     // the process's own stack, which the backend can't deploy
)

// Reason is why a stack has to be deployed, or is not synced.
type Reason string

// The reasons.
const (
	ReasonMissing    Reason = "missing"    // nothing of the stack is there
	ReasonIncomplete Reason = "incomplete" // declared services are not there: Missing names them
	ReasonManifest   Reason = "manifest"   // the manifest is not the one that was deployed last
	ReasonUnfinished Reason = "unfinished" // the last deployment did not come to its end
	ReasonDrift      Reason = "drift"      // somebody changed it by hand: Changes says what
	ReasonForeign    Reason = "foreign"    // what is there carries another owner's stamp, or none
	ReasonUnproven   Reason = "unproven"   // nobody knows how it is, or whether its last deployment ended: it is deployed to be sure
	ReasonUnreadable Reason = "unreadable" // the cluster, or the revision store, could not be read
)

// Change is one field that is not as declared.
type Change struct {
	// Service is the service's name on the cluster.
	Service string `json:"service"`
	// Field is the field's name, as the engine has it.
	Field string `json:"field"`
	// Old is what is declared, and New what is there instead; empty where there is none.
	Old string `json:"old"`
	New string `json:"new"`
}

// String is "web_app image: web:1 -> web:2".
func (c Change) String() string {
	return fmt.Sprintf("%s %s: %s -> %s", c.Service, c.Field, c.Old, c.New)
}

// StackReport is how one declared stack is after a pass.
type StackReport struct {
	Name string `json:"name"`
	Wave int    `json:"wave"`
	File string `json:"file,omitempty"`

	Sync   Sync   `json:"sync"`
	Health Health `json:"health"`
	Action Action `json:"action"`
	// Reason is why the stack was, or has to be, deployed, or why Sync is unknown; empty when nothing was to be done.
	Reason Reason `json:"reason,omitempty"`
	// Error is what went wrong: with a read, or with a deployment of this pass or, in ActionBackoff, of an earlier one.
	Error string `json:"error,omitempty"`
	Err   error  `json:"-"`
	// Failures is how often in a row the deployment has failed, and NextTry when it is tried again.
	Failures int       `json:"failures,omitempty"`
	NextTry  time.Time `json:"nextTry,omitzero"`

	// Services are what is there, those that the manifest does not declare included.
	Services []stack.ServiceState `json:"services,omitempty"`
	// Missing are the declared services that are not there; Undeclared are services that are there and not declared.
	Missing    []string `json:"missing,omitempty"`
	Undeclared []string `json:"undeclared,omitempty"`
	// Changes are the fields that are not as declared, as they were at ChangesAt. After a deployment there are none.
	Changes   []Change  `json:"changes,omitempty"`
	ChangesAt time.Time `json:"changesAt,omitzero"`
	// OutOfBand are the services of which a write lost its compare-and-swap in this pass: somebody else writes to them
	// too.
	OutOfBand []string `json:"outOfBand,omitempty"`
}

// Settled says that nothing is left to do about the stack.
func (s StackReport) Settled() bool { return s.Sync == Synced && s.Health == Healthy }

// Fault is something that could not be declared.
type Fault struct {
	// File and Line are from a stack.ManifestError; empty in other errors.
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	Error string `json:"error"`
	Err   error  `json:"-"`
}

// Report is what one pass saw and did.
type Report struct {
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	// Stacks are the declared ones, by wave and name.
	Stacks []StackReport `json:"stacks"`
	// Faults are what Source could not declare, and stacks declared twice or without a name.
	Faults []Fault `json:"faults,omitempty"`
	// Lacks are the capabilities that the pass would have used and the backend does not offer, sorted.
	Lacks []string `json:"lacks,omitempty"`
}

// Settled says that every declared stack is synced and healthy, and nothing was at fault.
func (r Report) Settled() bool {
	for _, s := range r.Stacks {
		if !s.Settled() {
			return false
		}
	}
	return len(r.Faults) == 0
}

// Err joins all faults and the errors of all stacks; nil when there are none.
func (r Report) Err() error {
	var errs []error
	for _, f := range r.Faults {
		errs = append(errs, f.Err)
	}
	for _, s := range r.Stacks {
		if s.Err != nil {
			errs = append(errs, errmask.Maskf(s.Err, "%s", s.Name))
		}
	}
	return errors.Join(errs...)
}

func faultOf(err error) Fault {
	f := Fault{Error: err.Error(), Err: err}
	errmask.Find(err, func(e error) bool {
		m, ok := e.(*stack.ManifestError)
		if ok {
			f.File, f.Line = m.File, m.Line
		}
		return ok
	})
	return f
}
