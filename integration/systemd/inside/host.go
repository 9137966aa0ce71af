package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/systemd"
)

// checkDenied is run as a user who may not change the system's units.
func checkDenied(ctx context.Context, b *bench) error {
	if _, err := b.ReadUnits(ctx, fleet.Selector{}); err != nil {
		return fmt.Errorf("reading is for everybody: %w", err)
	}
	err := b.Submit(ctx, "denied.service", service("a"))
	if !systemd.IsNotPermitted(err) || !strings.Contains(err.Error(), "run as root") {
		return fmt.Errorf("submit gives %v", err)
	}
	// What root has submitted.
	for call, do := range map[string]func(context.Context, string) error{"start": b.Start, "stop": b.Stop, "destroy": b.Destroy} {
		if err := do(ctx, "boot@1.service"); !systemd.IsNotPermitted(err) {
			return fmt.Errorf("%s gives %v", call, err)
		}
	}
	return b.is(ctx, "boot@1.service", "launched", "active")
}

// checkUnavailable is run as a user whose manager does not run.
func checkUnavailable(ctx context.Context, b *bench) error {
	_, watch := b.WatchUnits(ctx)
	for _, err := range []error{b.Submit(ctx, "a.service", service("a")), watch} {
		if !systemd.IsUnavailable(err) || fleet.IsTemporary(err) || !strings.Contains(err.Error(), "loginctl enable-linger") {
			return fmt.Errorf("without a manager it gives %v", err)
		}
		fmt.Println(err)
	}
	return nil
}

// checkPrepare brings units into each desired state, for a reboot to come.
func checkPrepare(ctx context.Context, b *bench) error {
	for _, do := range []func() error{
		func() error { return b.Submit(ctx, "boot@1.service", service("a")) },
		func() error { return b.Start(ctx, "boot@1.service") },
		func() error { return b.Submit(ctx, "boot@2.service", service("a")) },
		func() error { return b.SubmitLaunched(ctx, "boot@3.service", service("a")) },
		func() error { return b.Stop(ctx, "boot@3.service") },
		// It is only there late in the boot, and nothing waits for it.
		func() error {
			content := "[Unit]\nAfter=multi-user.target default.target\n" + service("late")
			return b.SubmitLaunched(ctx, "boot@4.service", content)
		},
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// checkVerify looks at them after it.
func checkVerify(ctx context.Context, b *bench) error {
	err := patientlyWrong(ctx, func() error {
		return errors.Join(
			b.is(ctx, "boot@1.service", "launched", "active"), b.is(ctx, "boot@2.service", "loaded", "inactive"),
			b.is(ctx, "boot@3.service", "loaded", "inactive"), b.is(ctx, "boot@4.service", "launched", "active"),
		)
	})
	for _, name := range []string{"boot@1.service", "boot@2.service", "boot@3.service", "boot@4.service"} {
		err = errors.Join(err, b.Destroy(ctx, name))
	}
	return errors.Join(err, checkClean(ctx, b))
}

// checkClean finds nothing of any unit of ours.
func checkClean(ctx context.Context, b *bench) error {
	listing, err := b.ReadUnits(ctx, fleet.Selector{})
	if err != nil || len(listing.Units) > 0 {
		return fmt.Errorf("units are left: %+v: %w", listing.Units, err)
	}
	for _, dir := range []string{b.unitDir(), filepath.Join(b.links(), "squadron.target.wants")} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) || len(entries) > 0 {
			return fmt.Errorf("left in %s: %v: %w", dir, entries, err)
		}
	}
	entries, err := os.ReadDir(b.links())
	if err != nil {
		return err
	}
	for _, entry := range entries {
		target, _ := os.Readlink(filepath.Join(b.links(), entry.Name()))
		if strings.HasPrefix(target, b.unitDir()) {
			return fmt.Errorf("left in %s: %s", b.links(), entry.Name())
		}
	}
	return nil
}
