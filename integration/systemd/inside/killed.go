package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/systemd"
)

const (
	killedPrefix = "killed"
	killedRounds = 40
	endMark      = "# the end of the file\n"
)

// checkChurn leads units through their lives until it is killed.
func checkChurn(ctx context.Context, b *bench) error {
	return b.marked().lives(ctx, ctx, killedPrefix)
}

// marked is the bench with contents that end in a mark.
func (b *bench) marked() *bench {
	with := *b
	with.mark = endMark
	return &with
}

// checkKilled kills the program, which leads units through their lives, at any moment, again and again. No file is ever
// half-written, systemd loads none that it can't read, and the same calls bring all units through their lives then.
func checkKilled(ctx context.Context, b *bench) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for round := range killedRounds {
		args := []string{"churn"}
		if b.user {
			args = []string{"-user", "churn"}
		}
		cmd := exec.CommandContext(ctx, self, args...)
		if err := cmd.Start(); err != nil {
			return err
		}
		time.Sleep(10*time.Millisecond + rand.N(400*time.Millisecond))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if err := b.whole(ctx); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if round%4 == 3 {
			if err := b.heal(ctx); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
	}
	// What was being written when it was killed goes with the next program that begins.
	time.Sleep(2 * time.Second)
	next, err := systemd.New(systemd.Config{User: b.user})
	if err != nil {
		return err
	}
	return errors.Join(next.(*systemd.Host).Close(), checkClean(ctx, b))
}

// whole looks at all files that systemd is led to.
func (b *bench) whole(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(b.unitDir(), killedPrefix+"@*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil && !strings.HasSuffix(string(text), endMark) {
			err = fmt.Errorf("%s is half-written: %q", file, text)
		}
		if err != nil {
			return err
		}
	}
	listing, err := b.ReadUnits(ctx, fleet.Selector{})
	for _, unit := range listing.Units {
		if unit.LoadError != "" && unit.LoadError != "not-found" {
			err = errors.Join(err, fmt.Errorf("%s is %s", unit.Name, unit.LoadError))
		}
	}
	return err
}

// heal leads all units through their lives once.
func (b *bench) heal(ctx context.Context) error {
	until, done := context.WithCancel(ctx)
	done()
	return b.marked().lives(ctx, until, killedPrefix)
}
