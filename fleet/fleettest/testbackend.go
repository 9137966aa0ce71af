package fleettest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/squadronctl/squadron/fleet"
)

// BackendOptions are what TestBackend can be told. The zero value will do for a backend that is empty and quick.
type BackendOptions struct {
	// Prefix begins the names of all units that are made; "fleettest-" by default. Nothing else on the backend is touched,
	// and no unit whose name begins so should be there.
	Prefix string
	// Content is a unit file that runs on the backend until it is stopped; a service that sleeps by default. Other contents
	// are made from it by adding sections whose names begin with X-.
	Content string
	// Wait is how long the backend is given for each thing that it does after it has taken a request; 1 minute by default.
	Wait time.Duration
	// Sleep is the pause between two looks; 20 ms by default.
	Sleep time.Duration
}

// backendRule is one thing that every backend owes, or every backend with an upgrade.
type backendRule struct {
	// name tells the rule in a word or two, why what relies on it.
	name, why string
	// has says whether the backend offers what the rule is about; nil: every backend does.
	has   func(fleet.Fleet) bool
	check func(*ruleRun)
}

// backendRules are all rules.
func backendRules() []backendRule {
	return slices.Concat(contractRules(), statusRules(), readerRules(), upgradeRules(), watchRules())
}

// TestBackend tests whether a backend keeps the contract of fleet.Fleet and of those upgrades (fleet.UnitReader,
// fleet.ContentReader, fleet.MachineReader, fleet.Launcher, fleet.UnitWatcher) that it offers. It returns nil when it found nothing wrong, else
// an error that joins all that it found: for each finding the rule, why there is such a rule, and what was seen. The rules
// are walked side by side, each on units of its own, so TestBackend blocks for as long as the slowest takes: moments on a
// good backend that acts at once, a multiple of Wait at worst. An end of ctx is a finding of whatever was under way.
//
// The units are destroyed in the end, also when ctx has ended; that one can't be is a finding too. A backend that takes
// the request may be rid of them somewhat later.
//
// A panic of the backend is a finding. Races are for the race detector to find.
func TestBackend(ctx context.Context, backend fleet.Fleet, options BackendOptions) error {
	if backend == nil {
		return errors.New("test backend: there is none")
	}
	t := &backendTest{backend: backend, options: options.withDefaults()}
	rules := backendRules()
	findings := make([]error, len(rules))
	var wait sync.WaitGroup
	for i, rule := range rules {
		if rule.has == nil || rule.has(backend) {
			wait.Go(func() { findings[i] = t.run(ctx, rule) })
		}
	}
	wait.Wait()
	return errors.Join(append(findings, t.cleanUp(ctx))...)
}

func (o BackendOptions) withDefaults() BackendOptions {
	if o.Prefix == "" {
		o.Prefix = "fleettest-"
	}
	if o.Content == "" {
		o.Content = "[Unit]\nDescription=fleettest\n\n[Service]\nExecStart=/bin/sleep 1000000\n"
	}
	if o.Wait <= 0 {
		o.Wait = time.Minute
	}
	if o.Sleep <= 0 {
		o.Sleep = 20 * time.Millisecond
	}
	return o
}

// backendTest is one call of TestBackend.
type backendTest struct {
	backend fleet.Fleet
	options BackendOptions

	mu   sync.Mutex
	made []string // the names of all units that there may be
}

// ruleRun is the walk of one rule.
type ruleRun struct {
	*backendTest
	ctx      context.Context
	rule     backendRule
	findings []error
}

// run walks one rule and gives what it found.
func (t *backendTest) run(ctx context.Context, rule backendRule) error {
	r := &ruleRun{backendTest: t, ctx: ctx, rule: rule}
	func() {
		defer func() {
			if p := recover(); p != nil {
				r.failf("panic: %v", p)
			}
		}()
		rule.check(r)
	}()
	return errors.Join(r.findings...)
}

func (r *ruleRun) failf(format string, v ...any) {
	err := fmt.Errorf(format, v...)
	r.findings = append(r.findings, fmt.Errorf("rule %q: %w (%s)", r.rule.name, err, r.rule.why))
}

// ok notes an error as a finding.
func (r *ruleRun) ok(doing string, err error) bool {
	if err != nil {
		r.failf("%s: %w", doing, err)
	}
	return err == nil
}

// unit gives a name that no other rule uses, and has the unit destroyed in the end.
func (r *ruleRun) unit(rest string) string {
	name := r.options.Prefix + strings.ReplaceAll(r.rule.name, " ", "-") + rest
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = append(r.made, name)
	return name
}

// content gives a unit file that runs, another for each n.
func (r *ruleRun) content(n int) string {
	return fmt.Sprintf("%s\n[X-Fleettest]\nContent=%d\n", r.options.Content, n)
}

// hash is the hash of a content.
func (r *ruleRun) hash(content string) string {
	hash, err := fleet.UnitHash(content)
	r.ok("hash of BackendOptions.Content", err)
	return hash
}

// submit submits and says whether that went well.
func (r *ruleRun) submit(name, content string) bool {
	return r.ok("submit "+name, r.backend.Submit(r.ctx, name, content))
}

func (r *ruleRun) start(name string) bool { return r.ok("start "+name, r.backend.Start(r.ctx, name)) }

func (r *ruleRun) destroy(name string) bool {
	return r.ok("destroy "+name, r.backend.Destroy(r.ctx, name))
}

// becomes looks at a unit until it is as it should, and says so where it doesn't become that.
func (r *ruleRun) becomes(name, what string, as func(fleet.UnitStatus) bool) bool {
	return r.eventually(func() (bool, string) {
		status, err := r.backend.GetStatus(r.ctx, name)
		if err != nil {
			return false, fmt.Sprintf("%s is not %s: %v", name, what, err)
		}
		return as(status), fmt.Sprintf("%s is not %s: it is %+v", name, what, status)
	})
}

// vanishes looks until a unit is no longer there.
func (r *ruleRun) vanishes(name string) bool {
	return r.eventually(func() (bool, string) {
		status, err := r.backend.GetStatus(r.ctx, name)
		return fleet.IsUnitNotFound(err), fmt.Sprintf("destroyed, %s still is there: %+v, %v", name, status, err)
	})
}

// eventually looks until a look is content, for Wait at most; then what the last one saw is a finding.
func (r *ruleRun) eventually(look func() (bool, string)) bool {
	for end := time.Now().Add(r.options.Wait); ; {
		content, seen := look()
		if content {
			return true
		}
		if time.Now().After(end) {
			r.failf("after %v %s", r.options.Wait, seen)
			return false
		}
		if err := sleep(r.ctx, r.options.Sleep); err != nil {
			r.failf("%s: %w", seen, err)
			return false
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cleanUp destroys what was made.
func (t *backendTest) cleanUp(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.options.Wait)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, fmt.Errorf("clean up: panic: %v", p))
		}
	}()
	for _, name := range t.made {
		if e := t.backend.Destroy(ctx, name); e != nil && !fleet.IsUnitNotFound(e) {
			err = errors.Join(err, fmt.Errorf("clean up: destroy %s: %w", name, e))
		}
	}
	return err
}
