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
	// EndAfter makes the unit end so long after it began to run, without failure; 0 is never.
	EndAfter time.Duration
	// Restart makes systemd start the unit again after each failure and each end, instead of leaving it failed: sub state
	// auto-restart for RestartDelay, then another start, for which Config.Behave is asked again.
	Restart bool
	// RestartDelay is systemd's RestartSec; 100 ms by default.
	RestartDelay time.Duration
}

const (
	defaultRestartDelay = 100 * time.Millisecond
	// endsAtOnce is how long a program runs that does nothing.
	endsAtOnce = time.Millisecond
)

// DefaultBehavior reads what a service does off its unit file: it fails when its ExecStart is false (by any path) or a
// command that ends in `exit N`, N not 0, and ends at once when it is true or a command that ends in `exit 0`; it restarts
// when Restart= is always, on-failure or on-abnormal, after RestartSec=. Everything else starts well and runs.
func DefaultBehavior(start Start) Behavior {
	options, err := unit.DeserializeOptions(strings.NewReader(start.Content))
	if err != nil {
		return Behavior{}
	}
	var behavior Behavior
	restart := ""
	for _, option := range options {
		if option.Section != "Service" {
			continue
		}
		switch option.Name {
		case "ExecStart":
			code, known := exitCode(option.Value)
			behavior.Fail = behavior.Fail || known && code != 0
			if known && code == 0 {
				behavior.EndAfter = endsAtOnce
			}
		case "Restart":
			restart = option.Value
		case "RestartSec":
			behavior.RestartDelay = parseSeconds(option.Value)
		}
	}
	switch restart {
	case "always":
		behavior.Restart = true
	case "on-failure", "on-abnormal":
		behavior.Restart = behavior.EndAfter == 0
	case "on-success":
		behavior.Restart = behavior.EndAfter > 0
	}
	return behavior
}

// exitCode tells the exit code of a command line that can be told without running it. A command behind `-` fails without
// harm.
func exitCode(command string) (code int, known bool) {
	words := strings.Fields(strings.TrimLeft(command, "-@:+!"))
	if len(words) == 0 {
		return 0, false
	}
	program := words[0][strings.LastIndexByte(words[0], '/')+1:]
	switch {
	case program == "true" && len(words) == 1:
		known = true
	case program == "false":
		code, known = 1, true
	case len(words) >= 3 && strings.Trim(words[len(words)-2], `"';`) == "exit":
		n, err := strconv.Atoi(strings.Trim(words[len(words)-1], `"';`))
		code, known = n, err == nil
	}
	if strings.HasPrefix(command, "-") {
		code = 0
	}
	return code, known
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
