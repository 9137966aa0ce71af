// Command inside checks the backend for one host from inside a machine. It is built and run by the tests of the
// directory above, once for each check, and prints what it found wrong; its exit code is 1 then.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/systemd"
)

// checks are what can be asked for, by name.
var checks = map[string]func(context.Context, *bench) error{
	"contract":    checkContract,
	"group":       checkGroup,
	"watch":       checkWatch,
	"quiet":       checkQuiet,
	"others":      checkOthers,
	"reload":      checkReload,
	"dbus":        checkBusRestart,
	"reexec":      checkReexec,
	"foreign":     checkForeign,
	"hand":        checkHand,
	"bad":         checkBad,
	"denied":      checkDenied,
	"unavailable": checkUnavailable,
	"prepare":     checkPrepare,
	"verify":      checkVerify,
	"clean":       checkClean,
	"speed":       checkSpeed,
	"churn":       checkChurn,
	"killed":      checkKilled,
}

// bench is what a check works on.
type bench struct {
	*systemd.Host
	user     bool
	warnings *warnings
	mark     string // ends the files of lives
}

func main() {
	user := flag.Bool("user", false, "the user's manager")
	runtime := flag.Bool("runtime", false, "units that a reboot takes away")
	flag.Parse()
	check := checks[flag.Arg(0)]
	if check == nil {
		fmt.Fprintf(os.Stderr, "there is no check %q\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	b := &bench{user: *user, warnings: &warnings{Logger: logging.Silent()}}
	host, err := systemd.New(systemd.Config{User: *user, Runtime: *runtime, Logger: b.warnings})
	if err == nil {
		b.Host = host.(*systemd.Host)
		err = errors.Join(check(ctx, b), b.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// service gives a unit file that runs, another for each word.
func service(word string) string {
	return "[Unit]\nDescription=" + word + "\n\n[Service]\nExecStart=/bin/sleep 1000000\n"
}

// systemctl runs systemctl for the manager that is tested.
func (b *bench) systemctl(ctx context.Context, args ...string) error {
	return b.command(ctx, "systemctl", args...)
}

// command runs one of systemd's commands for the manager that is tested.
func (b *bench) command(ctx context.Context, name string, args ...string) error {
	_, err := b.output(ctx, name, args...)
	return err
}

// output does the same, and gives what the command prints.
func (b *bench) output(ctx context.Context, name string, args ...string) (string, error) {
	if b.user {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("XDG_RUNTIME_DIR=/run/user/%d", os.Getuid()))
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %.200q: %w: %.500s", name, args, err, text)
	}
	return string(text), nil
}

// is looks at a unit once.
func (b *bench) is(ctx context.Context, name, desired, active string) error {
	status, err := b.GetStatus(ctx, name)
	if err == nil && (status.Desired != desired || status.Machine[0].SystemdActive != active) {
		err = fmt.Errorf("%s is %+v, not %s and %s", name, status, desired, active)
	}
	return err
}

// patiently repeats what fails for a moment.
func patiently(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !fleet.IsTemporary(err) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// lives leads eight units through their lives, over and over until ctx ends, as the controller would.
func (b *bench) lives(ctx, until context.Context, prefix string) error {
	errs := make([]error, 8)
	var wait sync.WaitGroup
	for i := range errs {
		name := fmt.Sprintf("%s@%d.service", prefix, i)
		wait.Go(func() {
			for errs[i] == nil {
				errs[i] = b.life(ctx, name)
				if until.Err() != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func (b *bench) life(ctx context.Context, name string) error {
	for _, content := range []string{service("a") + b.mark, service("b") + b.mark} {
		if err := patiently(ctx, func() error { return b.SubmitLaunched(ctx, name, content) }); err != nil {
			return err
		}
		if err := patiently(ctx, func() error { return b.is(ctx, name, "launched", "active") }); err != nil {
			return err
		}
	}
	if err := patiently(ctx, func() error { return b.Stop(ctx, name) }); err != nil {
		return err
	}
	if err := patiently(ctx, func() error { return b.is(ctx, name, "loaded", "inactive") }); err != nil {
		return err
	}
	err := patiently(ctx, func() error { return b.Destroy(ctx, name) })
	if fleet.IsUnitNotFound(err) {
		return nil // an attempt before had done it and could not say so
	}
	return err
}

// warnings is a Logger that keeps warnings.
type warnings struct {
	logging.Logger
	mutex sync.Mutex
	texts []string
}

func (w *warnings) Warning(_ context.Context, f string, v ...any) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.texts = append(w.texts, fmt.Sprintf(f, v...))
}

func (w *warnings) all() []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return append([]string(nil), w.texts...)
}

// patientlyWrong repeats what is wrong at first, for half a minute.
func patientlyWrong(ctx context.Context, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := do()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}
