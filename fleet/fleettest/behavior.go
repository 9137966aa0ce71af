package fleettest

import (
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/unit"
)

// Start is one start of a unit on a machine, as Config.Behave sees it.
type Start struct {
	// Name is the unit's name.
	Name string
	// Content is the unit file's text in its canonical serialisation.
	Content string
	// Machine is the ID of the machine.
	Machine string
	// Attempt counts the starts of this content on this machine, automatic restarts included; the first is 1.
	Attempt int
	// At is the cluster's time.
	At time.Time
}

// Behavior is what a unit does once it is started. The zero Behavior starts well and runs until it is stopped.
//
// A unit that flaps has FailAfter and Restart; one that restarts for ever and never runs has Fail and Restart.
type Behavior struct {
	// StartDelay is how much longer than Timing.Start the start takes.
	StartDelay time.Duration
	// Fail makes the start itself fail, at its end.
	Fail bool
	// FailAfter makes the unit fail so long after it began to run; 0 is never.
	FailAfter time.Duration
	// Restart makes systemd start the unit again after each failure, instead of leaving it failed: sub state
	// auto-restart for RestartDelay, then another start, for which Config.Behave is asked again.
	Restart bool
	// RestartDelay is systemd's RestartSec; 100 ms by default.
	RestartDelay time.Duration
}

const defaultRestartDelay = 100 * time.Millisecond

// DefaultBehavior reads what a service does off its unit file: it fails when its ExecStart is false (by any path) or a
// command that ends in `exit N`, N not 0; it restarts when Restart= is always, on-failure or on-abnormal, after
// RestartSec=. Everything else starts well and runs.
func DefaultBehavior(start Start) Behavior {
	options, err := unit.DeserializeOptions(strings.NewReader(start.Content))
	if err != nil {
		return Behavior{}
	}
	var behavior Behavior
	for _, option := range options {
		if option.Section != "Service" {
			continue
		}
		switch option.Name {
		case "ExecStart":
			behavior.Fail = behavior.Fail || commandFails(option.Value)
		case "Restart":
			behavior.Restart = option.Value == "always" || option.Value == "on-failure" || option.Value == "on-abnormal"
		case "RestartSec":
			behavior.RestartDelay = parseSeconds(option.Value)
		}
	}
	return behavior
}

// commandFails tells a command line whose exit code is known to be other than 0 without running it. A command behind
// `-` fails without harm.
func commandFails(command string) bool {
	if strings.HasPrefix(command, "-") {
		return false
	}
	words := strings.Fields(strings.TrimLeft(command, "@:+!"))
	if len(words) == 0 {
		return false
	}
	program := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if program == "false" {
		return true
	}
	if len(words) < 3 || strings.Trim(words[len(words)-2], `"';`) != "exit" {
		return false
	}
	code, err := strconv.Atoi(strings.Trim(words[len(words)-1], `"';`))
	return err == nil && code != 0
}

// parseSeconds reads a systemd time span of one part: 5, 5s, 100ms, 2min. Anything else is 0, which means the default.
func parseSeconds(text string) time.Duration {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second))
	}
	span, err := time.ParseDuration(strings.Replace(text, "min", "m", 1))
	if err != nil || span < 0 {
		return 0
	}
	return span
}
