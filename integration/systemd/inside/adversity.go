package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/systemd"
)

// disturbed leads units through their lives while something happens to systemd, three times.
func (b *bench) disturbed(ctx context.Context, prefix string, disturb func() error) error {
	until, done := context.WithCancel(ctx)
	defer done()
	lived := make(chan error, 1)
	go func() { lived <- b.lives(ctx, until, prefix) }()
	var disturbed error
	for range 3 {
		time.Sleep(300 * time.Millisecond)
		disturbed = errors.Join(disturbed, disturb())
	}
	time.Sleep(300 * time.Millisecond)
	done()
	return errors.Join(<-lived, disturbed)
}

// checkReload has somebody reload systemd all the while.
func checkReload(ctx context.Context, b *bench) error {
	return b.disturbed(ctx, "reloaded", func() error {
		return errors.Join(b.systemctl(ctx, "daemon-reload"), b.systemctl(ctx, "daemon-reload"))
	})
}

// checkReexec has systemd start itself anew.
func checkReexec(ctx context.Context, b *bench) error {
	return b.disturbed(ctx, "reexecuted", func() error { return b.systemctl(ctx, "daemon-reexec") })
}

// checkBusRestart restarts D-Bus: what is under way goes on, and a watch that breaks off says so.
func checkBusRestart(ctx context.Context, b *bench) error {
	watch, err := b.WatchUnits(ctx)
	if err != nil {
		return err
	}
	if err := b.disturbed(ctx, "rebused", func() error { return b.systemctl(ctx, "restart", "dbus.service") }); err != nil {
		return err
	}
	for open := true; open; {
		select {
		case _, open = <-watch:
		case <-time.After(20 * time.Second):
			return errors.New("the watch does not end with its bus")
		}
	}
	return checkWatchAgain(ctx, b)
}

func checkWatchAgain(ctx context.Context, b *bench) error {
	return patiently(ctx, func() error {
		_, err := b.WatchUnits(ctx)
		return err
	})
}

// checkForeign asks for names that the host has from elsewhere.
func checkForeign(ctx context.Context, b *bench) error {
	names := []string{"dbus.service", "basic.target", "-.mount", "-.slice", "transient.service"}
	if !b.user {
		names = append(names, "getty@tty1.service", "tmp.mount", "systemd-journald.socket")
	}
	if err := b.command(ctx, "systemd-run", "--unit=transient.service", "-q", "/bin/sleep", "1000000"); err != nil {
		return err
	}
	defer b.systemctl(ctx, "stop", "transient.service")
	for _, name := range names {
		err := b.SubmitLaunched(ctx, name, service("ours"))
		if !systemd.IsForeignUnit(err) || !fleet.IsConflict(err) {
			return fmt.Errorf("submit of %s gives %v", name, err)
		}
		fmt.Println(err)
		if err := b.Destroy(ctx, name); !fleet.IsUnitNotFound(err) {
			return fmt.Errorf("destroy of %s gives %v", name, err)
		}
	}
	return checkClean(ctx, b)
}

// links is where the manager that is tested looks for links to units.
func (b *bench) links() string {
	if !b.user {
		return "/etc/systemd/system"
	}
	return filepath.Join(os.Getenv("HOME"), ".config/systemd/user")
}

func (b *bench) unitDir() string {
	if !b.user {
		return "/etc/squadron/units"
	}
	return filepath.Join(os.Getenv("HOME"), ".config/squadron/units")
}

// checkHand changes a unit's file by hand, and gives it a drop-in.
func checkHand(ctx context.Context, b *bench) error {
	const name = "hand@1.service"
	if err := b.SubmitLaunched(ctx, name, service("a")); err != nil {
		return err
	}
	file := filepath.Join(b.unitDir(), name)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed := strings.Replace(string(text), "Description=a", "Description=by hand", 1)
	if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
		return err
	}
	want, _ := fleet.UnitHash(service("by hand"))
	if err := b.hashes(ctx, name, want, ""); err != nil {
		return err
	}
	if err := b.systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	if err := b.hashes(ctx, name, want, want); err != nil {
		return err
	}
	dropIn := filepath.Join(b.links(), name+".d", "nice.conf")
	if err := os.MkdirAll(filepath.Dir(dropIn), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(dropIn, []byte("[Unit]\nDocumentation=man:sleep(1)\n"), 0o644); err != nil {
		return err
	}
	if err := b.SubmitLaunched(ctx, name, service("b")); err != nil {
		return err
	}
	if texts := strings.Join(b.warnings.all(), "\n"); !strings.Contains(texts, file) {
		return fmt.Errorf("no warning of what was changed by hand, but: %q", texts)
	}
	want, _ = fleet.UnitHash(service("b"))
	if err := errors.Join(b.hashes(ctx, name, want, want), b.is(ctx, name, "launched", "active"), b.Destroy(ctx, name)); err != nil {
		return err
	}
	if _, err := os.Stat(dropIn); err != nil {
		return fmt.Errorf("the drop-in was touched: %w", err)
	}
	return errors.Join(os.RemoveAll(filepath.Dir(dropIn)), checkClean(ctx, b))
}

// hashes checks the hash of a unit's file, and that of what systemd has loaded.
func (b *bench) hashes(ctx context.Context, name, file, loaded string) error {
	listing, err := b.ReadUnits(ctx, fleet.Selector{Names: []string{name}})
	if err != nil {
		return err
	}
	if unit := listing.Units[0]; unit.Hash != file || unit.Machine[0].UnitHash != loaded {
		return fmt.Errorf("%s has hash %q and %q, not %q and %q", name, unit.Hash, unit.Machine[0].UnitHash, file, loaded)
	}
	return nil
}

// checkBad submits what systemd can't load, and what fails to start, and replaces both.
func checkBad(ctx context.Context, b *bench) error {
	const bad, failing = "bad@1.service", "bad@2.service"
	if err := b.Submit(ctx, bad, "[Service]\nType=simple\n"); err != nil {
		return err
	}
	listing, err := b.ReadUnits(ctx, fleet.Selector{Names: []string{bad}})
	if err != nil || listing.Units[0].LoadError != "bad-setting" {
		return fmt.Errorf("a unit that can't be loaded is told as %+v: %w", listing.Units, err)
	}
	if err := b.Start(ctx, bad); err == nil {
		return errors.New("a unit that can't be loaded was started")
	} else {
		fmt.Println(err)
	}
	if err := b.SubmitLaunched(ctx, failing, "[Service]\nType=notify\nExecStart=/bin/false\n"); err != nil {
		return err
	}
	if err := b.is(ctx, failing, "launched", "failed"); err != nil {
		return err
	}
	for _, name := range []string{bad, failing} {
		if err := b.Submit(ctx, name, service("good")); err != nil {
			return err
		}
		if err := errors.Join(b.is(ctx, name, "loaded", "inactive"), b.Destroy(ctx, name)); err != nil {
			return err
		}
	}
	return checkClean(ctx, b)
}
