package systemd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
)

// killedAt runs an operation whose goroutine ends at its nth step, as if the program was killed there. It says at which
// step that was; empty where the operation had fewer.
func killedAt(h *Host, n int, operation func() error) (step string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.step = func(s string) {
			if n--; n == 0 {
				step = s
				runtime.Goexit()
			}
		}
		err = operation()
	}()
	<-done
	return step, err
}

// killing is an operation that is killed between every two of its steps.
type killing struct {
	before func(context.Context, *Host) error
	do     func(context.Context, *Host) error
	want   string // desired state, systemd's state, description
}

const killedUnit = "web@1.service"

var killings = map[string]killing{
	"submit": {
		do:   func(ctx context.Context, h *Host) error { return h.Submit(ctx, killedUnit, service("new")) },
		want: "loaded inactive new",
	},
	"submit launched": {
		do:   func(ctx context.Context, h *Host) error { return h.SubmitLaunched(ctx, killedUnit, service("new")) },
		want: "launched active new",
	},
	"replace what runs": {
		before: func(ctx context.Context, h *Host) error { return h.SubmitLaunched(ctx, killedUnit, service("old")) },
		do:     func(ctx context.Context, h *Host) error { return h.Submit(ctx, killedUnit, service("new")) },
		want:   "loaded inactive new",
	},
	"replace launched": {
		before: func(ctx context.Context, h *Host) error { return h.SubmitLaunched(ctx, killedUnit, service("old")) },
		do:     func(ctx context.Context, h *Host) error { return h.SubmitLaunched(ctx, killedUnit, service("new")) },
		want:   "launched active new",
	},
	"start": {
		before: func(ctx context.Context, h *Host) error { return h.Submit(ctx, killedUnit, service("old")) },
		do:     func(ctx context.Context, h *Host) error { return h.Start(ctx, killedUnit) },
		want:   "launched active old",
	},
	"stop": {
		before: func(ctx context.Context, h *Host) error { return h.SubmitLaunched(ctx, killedUnit, service("old")) },
		do:     func(ctx context.Context, h *Host) error { return h.Stop(ctx, killedUnit) },
		want:   "loaded inactive old",
	},
	"destroy": {
		before: func(ctx context.Context, h *Host) error { return h.SubmitLaunched(ctx, killedUnit, service("old")) },
		do:     func(ctx context.Context, h *Host) error { return h.Destroy(ctx, killedUnit) },
	},
	"destroy what failed": {
		before: func(ctx context.Context, h *Host) error {
			h.manager.(*fakeManager).results[killedUnit] = "failed"
			return h.SubmitLaunched(ctx, killedUnit, service("old"))
		},
		do: func(ctx context.Context, h *Host) error { return h.Destroy(ctx, killedUnit) },
	},
}

// Killed between any two steps, with a reboot after it or without, an operation leaves no half-written file that
// systemd ever loads, and a repeat of it by another program heals what is left.
func TestKilledBetweenSteps(t *testing.T) {
	for name, k := range killings {
		for _, keeps := range []bool{false, true} {
			for _, reboot := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, keeps %v, reboot %v", name, keeps, reboot), func(t *testing.T) {
					t.Parallel()
					steps := 0
					for n := 1; killOnce(t, k, n, keeps, reboot); n++ {
						steps = n
					}
					assert.Positive(t, steps)
				})
			}
		}
	}
}

// killOnce walks one kill, and says whether there was one.
func killOnce(t *testing.T, k killing, n int, keeps, reboot bool) bool {
	s := newSite(t, Config{})
	s.fake.keeps = keeps
	if k.before != nil {
		require.NoError(t, k.before(t.Context(), s.host))
	}
	step, err := killedAt(s.host, n, func() error { return k.do(t.Context(), s.host) })
	if step == "" {
		require.NoError(t, err)
		s.host.step = func(string) {}
		s.is(k.want, "not killed")
		return false
	}
	require.NoError(t, s.fake.Reload(t.Context()), "anybody may reload")
	if reboot {
		s.fake.reboot(s.disk)
	}
	s.wholeTexts(step)
	s.age()
	s.restart()
	_, err = s.host.GetStatusWithMatcher(func(string) bool { return true })
	if k.want == "" && fleet.IsUnitNotFound(err) {
		s.is(k.want, step) // it was done but for the answer
		return true
	}
	require.NoError(t, k.do(t.Context(), s.host), "repeated after a kill at %q", step)
	s.is(k.want, step)
	s.wholeTexts(step)
	return true
}

// wholeTexts checks what systemd has ever loaded.
func (s *site) wholeTexts(step string) {
	s.t.Helper()
	whole := []string{sign(service("old")), sign(service("new")), sign(targetContent)}
	s.fake.mutex.Lock()
	defer s.fake.mutex.Unlock()
	for _, text := range s.fake.texts {
		assert.True(s.t, slices.Contains(whole, text), "killed at %q: loaded %q", step, text)
	}
}

// age makes temporary files old.
func (s *site) age() {
	for _, file := range s.left() {
		if strings.HasSuffix(file, temporarySuffix) {
			old := time.Now().Add(-2 * leftoverAge)
			require.NoError(s.t, os.Chtimes(filepath.Join(s.dir, file), old, old))
		}
	}
}

// is checks how the unit stands in the end, and that nothing else is there.
func (s *site) is(want, step string) {
	s.t.Helper()
	if want == "" {
		assert.Empty(s.t, s.left(), "killed at %q", step)
		s.fake.mutex.Lock()
		defer s.fake.mutex.Unlock()
		assert.Empty(s.t, s.fake.memory, "killed at %q", step)
		return
	}
	status, err := s.host.GetStatus(s.t.Context(), killedUnit)
	require.NoError(s.t, err)
	text, err := s.host.ReadContent(s.t.Context(), killedUnit)
	require.NoError(s.t, err)
	_, rest, _ := strings.Cut(text, "Description=")
	description, _, _ := strings.Cut(rest, "\n")
	assert.Equal(s.t, want, status.Desired+" "+status.Machine[0].SystemdActive+" "+description, "killed at %q", step)
	assert.Equal(s.t, status.Desired, status.Current)
	assert.NotEmpty(s.t, status.Machine[0].UnitHash)
	links := 2
	if status.Desired == stateLaunched {
		links = 3
	}
	assert.Len(s.t, s.left(), links, "killed at %q", step)
}
