package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/systemd"
)

// checkContract walks the rules that every backend owes.
func checkContract(ctx context.Context, b *bench) error {
	if err := fleettest.TestBackend(ctx, b, fleettest.BackendOptions{Sleep: 50 * time.Millisecond}); err != nil {
		return err
	}
	return checkClean(ctx, b)
}

// within is how soon after a change a watch has to tell of it. A machine that is busy with something else may take
// longer now and then, so this holds for most of the changes.
const within = 50 * time.Millisecond

// checkWatch has systemctl, and so somebody else, change a unit again and again, and measures from the moment that
// systemctl has returned.
func checkWatch(ctx context.Context, b *bench) error {
	const name, rounds = "watched@1.service", 20
	if err := b.SubmitLaunched(ctx, name, service("a")); err != nil {
		return err
	}
	defer b.Destroy(ctx, name)
	watch, err := b.WatchUnits(ctx)
	if err != nil {
		return err
	}
	var took []time.Duration
	for round := range rounds {
		verb, active := "stop", "inactive"
		if round%2 == 1 {
			verb, active = "start", "active"
		}
		changed := make(chan time.Time, 1)
		failed := make(chan error, 1)
		go func() {
			failed <- b.systemctl(ctx, verb, name)
			changed <- time.Now()
		}()
		if err := b.awaitActive(ctx, watch, name, active); err != nil {
			return err
		}
		seen := time.Now()
		if err := <-failed; err != nil {
			return err
		}
		took = append(took, seen.Sub(<-changed))
	}
	slices.Sort(took)
	fmt.Printf("watch: median %v, longest %v\n", took[rounds/2], took[rounds-1])
	if took[rounds/2] > within {
		return fmt.Errorf("a change is told of later than %v after it: %v", within, took)
	}
	return nil
}

// awaitActive looks whenever the watch says so.
func (b *bench) awaitActive(ctx context.Context, watch <-chan struct{}, name, active string) error {
	for {
		select {
		case _, ok := <-watch:
			if !ok {
				return errors.New("the watch broke off")
			}
		case <-time.After(20 * time.Second):
			return fmt.Errorf("the watch is silent, and %s is not %s", name, active)
		}
		status, err := b.GetStatus(ctx, name)
		if err != nil {
			return err
		}
		if status.Machine[0].SystemdActive == active {
			return nil
		}
	}
}

// checkQuiet looks after each value, as a wait does; that must not make values of its own.
func checkQuiet(ctx context.Context, b *bench) error {
	names := []string{"quiet@1.service", "quiet@2.service"}
	for _, name := range names {
		if err := b.Submit(ctx, name, service("a")); err != nil {
			return err
		}
		defer b.Destroy(ctx, name)
	}
	watch, err := b.WatchUnits(ctx)
	if err != nil {
		return err
	}
	values := 0
	for end := time.After(2 * time.Second); ; {
		for _, name := range names {
			if err := b.is(ctx, name, "loaded", "inactive"); err != nil {
				return err
			}
		}
		select {
		case <-watch:
			values++
		case <-time.After(100 * time.Millisecond):
		case <-end:
			// Somebody else's reload is told as well.
			if values > 5 {
				return fmt.Errorf("%d values without a change", values)
			}
			return nil
		}
	}
}

// checkOthers watches what another program changes by a backend of its own.
func checkOthers(ctx context.Context, b *bench) error {
	const name = "others@1.service"
	other, err := systemd.New(systemd.Config{User: b.user})
	if err != nil {
		return err
	}
	defer other.(*systemd.Host).Close()
	if err := b.Submit(ctx, "others@0.service", service("a")); err != nil { // so that the directory is there
		return err
	}
	defer b.Destroy(ctx, "others@0.service")
	watch, err := b.WatchUnits(ctx)
	if err != nil {
		return err
	}
	for _, change := range []struct {
		do   func() error
		want string
	}{
		{func() error { return other.Submit(ctx, name, service("a")) }, "loaded"},
		{func() error { return other.Start(ctx, name) }, "launched"},
		{func() error { return other.Stop(ctx, name) }, "loaded"},
		{func() error { return other.Destroy(ctx, name) }, ""},
	} {
		if err := change.do(); err != nil {
			return err
		}
		for desired := "?"; desired != change.want; {
			select {
			case <-watch:
			case <-time.After(20 * time.Second):
				return fmt.Errorf("the watch is silent, and %s is %q, not %q", name, desired, change.want)
			}
			status, _ := b.GetStatus(ctx, name)
			desired = status.Desired
		}
	}
	return nil
}
