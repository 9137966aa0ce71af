package systemd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// R20, R39: the contract of fleet.Fleet and its upgrades holds, whether systemd forgets idle units or keeps them, and
// nothing is left.
func TestBackendContract(t *testing.T) {
	for name, keeps := range map[string]bool{"forgets": false, "keeps": true} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, Config{})
			s.fake.keeps = keeps
			assert.NoError(t, fleettest.TestBackend(t.Context(), s.host, fleettest.BackendOptions{Wait: 10 * time.Second}))
			assert.Empty(t, s.left())
			assert.Empty(t, s.log.all())
		})
	}
}

// New units cost no reload where systemd finds them by itself.
func TestNewUnitNeedsNoReload(t *testing.T) {
	s := newSite(t, Config{})
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", service("a")))
	require.NoError(t, s.host.Start(t.Context(), "web@1.service"))
	assert.Zero(t, s.fake.count("reload"))
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", service("b")))
	assert.Zero(t, s.fake.count("reload"), "systemd had forgotten the old one once it had stopped")
}

// What is launched comes back after a reboot, what is loaded stays stopped.
func TestRebootKeepsWhatIsDesired(t *testing.T) {
	s := newSite(t, Config{})
	for _, name := range []string{"web@1.service", "web@2.service", "web@3.service"} {
		require.NoError(t, s.host.Submit(t.Context(), name, service("a")))
	}
	require.NoError(t, s.host.Start(t.Context(), "web@1.service"))
	require.NoError(t, s.host.SubmitLaunched(t.Context(), "web@3.service", service("b")))
	require.NoError(t, s.host.Stop(t.Context(), "web@3.service"))
	s.fake.reboot(s.disk)
	s.restart()
	statuses, err := s.host.GetStatusWithMatcher(func(string) bool { return true })
	require.NoError(t, err)
	var got []string
	for _, status := range statuses {
		got = append(got, status.Name+" "+status.Desired+" "+status.Machine[0].SystemdActive)
	}
	assert.Equal(t, []string{"web@1.service launched active", "web@2.service loaded inactive", "web@3.service loaded inactive"}, got)
}

// The desired state is on disk before systemd is asked to start or stop a unit, so that a reboot in between finds it.
func TestDesiredStateComesFirst(t *testing.T) {
	const name = "web@1.service"
	s := newSite(t, Config{})
	var seen []string
	s.fake.onCall = func(call string) {
		if call == "start" || call == "stop" {
			seen = append(seen, fmt.Sprintf("%s %v", call, s.disk.launched(name)))
		}
	}
	require.NoError(t, s.host.Submit(t.Context(), name, service("a")))
	require.NoError(t, s.host.Start(t.Context(), name))
	require.NoError(t, s.host.Stop(t.Context(), name))
	require.NoError(t, s.host.SubmitLaunched(t.Context(), name, service("b")))
	require.NoError(t, s.host.Submit(t.Context(), name, service("c")))
	require.NoError(t, s.host.Start(t.Context(), name))
	require.NoError(t, s.host.Destroy(t.Context(), name))
	assert.Equal(t, []string{"start true", "stop false", "start true", "stop false", "start true", "stop false"}, seen)
}

// A launched unit of the same content keeps running over SubmitLaunched, and is stopped by Submit.
func TestSubmitSameContent(t *testing.T) {
	s := newSite(t, Config{})
	require.NoError(t, s.host.SubmitLaunched(t.Context(), "web@1.service", service("a")))
	require.NoError(t, s.host.SubmitLaunched(t.Context(), "web@1.service", "# as before\n"+service("a")))
	assert.Equal(t, "active", s.fake.state("web@1.service").Active)
	assert.Zero(t, s.fake.count("stop"))
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", service("a")))
	assert.Equal(t, "inactive", s.fake.state("web@1.service").Active)
}

// A start that fails is told by the unit's state; one whose end no state tells is an error; a failure is forgotten when
// the content is replaced.
func TestStartResults(t *testing.T) {
	const name = "web@1.service"
	for result, failed := range map[string]bool{
		"done": false, "failed": false, "canceled": false, "skipped": false, "dependency": true, "timeout": true, "assert": true,
	} {
		s := newSite(t, Config{})
		require.NoError(t, s.host.Submit(t.Context(), name, service("a")))
		s.fake.results[name] = result
		err := s.host.Start(t.Context(), name)
		assert.Equal(t, failed, err != nil, "%s: %v", result, err)
		status, err := s.host.GetStatus(t.Context(), name)
		require.NoError(t, err)
		assert.Equal(t, "launched", status.Desired, result)
		if result == "failed" {
			assert.Equal(t, "failed", status.Machine[0].SystemdActive)
			require.NoError(t, s.host.Submit(t.Context(), name, service("b")))
			assert.Equal(t, "inactive", s.fake.state(name).Active)
		}
	}
}

// A job that takes long ends neither Start nor Stop with an error, nor does a connection that breaks; but what is to be
// replaced or destroyed has to have stopped.
func TestJobsThatTakeLong(t *testing.T) {
	const name = "web@1.service"
	s := newSite(t, Config{Timeouts: Timeouts{Job: time.Millisecond, Stop: time.Millisecond}})
	require.NoError(t, s.host.Submit(t.Context(), name, service("a")))
	s.fake.results[name], s.fake.results["stop "+name] = "", ""
	require.NoError(t, s.host.Start(t.Context(), name))
	for call, err := range map[string]error{
		"destroy": s.host.Destroy(t.Context(), name), "submit": s.host.Submit(t.Context(), name, service("b")),
	} {
		assert.True(t, fleet.IsTemporary(err), "%s: %v", call, err)
	}
	require.NoError(t, s.host.Stop(t.Context(), name))
	text, err := s.host.ReadContent(t.Context(), name)
	require.NoError(t, err)
	assert.Contains(t, text, "Description=a", "not replaced while it runs")
	s.fake.broken = true
	assert.True(t, fleet.IsTemporary(s.host.Destroy(t.Context(), name)))
	require.NoError(t, s.host.Stop(t.Context(), name))
	s.fake.broken = false
	delete(s.fake.results, "stop "+name)
	require.NoError(t, s.host.Destroy(t.Context(), name))
	assert.Empty(t, s.left())
}

// A start that waits for other units' jobs does not come upon a unit that is replaced or destroyed.
func TestQueuedStartIsTakenBack(t *testing.T) {
	const name = "web@1.service"
	s := newSite(t, Config{})
	for call, do := range map[string]func() error{
		"submit":  func() error { return s.host.Submit(t.Context(), name, service("b")) },
		"destroy": func() error { return s.host.Destroy(t.Context(), name) },
	} {
		require.NoError(t, s.host.Submit(t.Context(), name, service("a")))
		s.fake.memory[name] = &fakeUnit{state: unitState{Load: "loaded", Active: "inactive", Sub: "dead", Queued: true}}
		require.NoError(t, do(), call)
		assert.False(t, s.fake.state(name).Queued, call)
	}
}

// A stop that comes to no good end keeps the unit, unless it has stopped all the same.
func TestStopResults(t *testing.T) {
	const name = "web@1.service"
	for _, result := range []string{"failed", "timeout", "canceled"} {
		s := newSite(t, Config{})
		require.NoError(t, s.host.SubmitLaunched(t.Context(), name, service("a")))
		s.fake.results["stop "+name] = result
		assert.True(t, fleet.IsTemporary(s.host.Destroy(t.Context(), name)), result)
		assert.True(t, s.disk.linked(name), result)
		s.fake.memory[name].state = unitState{Load: "loaded", Active: "failed", Sub: "failed"}
		require.NoError(t, s.host.Destroy(t.Context(), name), result)
	}
}

// A manager that does not look where we put links is told before anything is written.
func TestManagerSearchesElsewhere(t *testing.T) {
	s := newSite(t, Config{})
	s.fake.search = []string{"/nowhere"}
	err := s.host.Submit(t.Context(), "web@1.service", service("a"))
	assert.True(t, IsUnavailable(err), "%v", err)
	assert.ErrorContains(t, err, s.disk.links)
	assert.Empty(t, s.left())
}

// What systemd refuses is an error, and a context that ends while a job runs ends the wait for it.
func TestStartRefused(t *testing.T) {
	const name = "web@1.service"
	s := newSite(t, Config{})
	require.NoError(t, s.host.Submit(t.Context(), name, service("a")))
	s.fake.refuse = errors.New("systemd: refused")
	assert.ErrorIs(t, s.host.Start(t.Context(), name), s.fake.refuse)
	s.fake.refuse, s.fake.results[name] = nil, ""
	ctx, cancel := context.WithCancel(t.Context())
	s.host.step = func(step string) {
		if step == "started" {
			cancel()
		}
	}
	assert.ErrorIs(t, s.host.Start(ctx, name), context.Canceled)
}

// Names and contents that can't be a unit's are told as such, before anything is written.
func TestInvalidRequests(t *testing.T) {
	s := newSite(t, Config{})
	for _, name := range []string{"", "x", "a/b.service", "web@.service", "a.snapshot", "a.scope", "a.device", "x y.service"} {
		assert.True(t, fleet.IsInvalidRequest(s.host.Submit(t.Context(), name, service("a"))), name)
	}
	for _, content := range []string{"", "no section", "[Service]\nExecStart=\xff\n", "[Service]\nExecStart=\x00\n"} {
		assert.True(t, fleet.IsInvalidRequest(s.host.Submit(t.Context(), "web.service", content)), "%q", content)
	}
	assert.Empty(t, s.left())
	for _, config := range []Config{{Directory: "units"}, {Directory: "/etc/systemd/system"}} {
		_, err := New(config)
		assert.True(t, fleet.IsInvalidRequest(err), "%v", err)
	}
}

// The directory of a user and of the runtime follows the environment.
func TestPlaces(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/home/alice/config")
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/7")
	for _, test := range []struct {
		config Config
		want   places
	}{
		{Config{}, places{"/etc/squadron/units", "/etc/systemd/system", "multi-user.target"}},
		{Config{Runtime: true}, places{"/run/squadron/units", "/run/systemd/system", ""}},
		{Config{User: true}, places{"/home/alice/config/squadron/units", "/home/alice/config/systemd/user", "default.target"}},
		{Config{User: true, Runtime: true}, places{"/run/user/7/squadron/units", "/run/user/7/systemd/user", ""}},
		{Config{Directory: "/srv/u/"}, places{"/srv/u", "/etc/systemd/system", "multi-user.target"}},
	} {
		got, err := placesOf(test.config)
		require.NoError(t, err)
		assert.Equal(t, test.want, got)
	}
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "")
	_, err := placesOf(Config{User: true})
	assert.Error(t, err)
}

// R44: after Close every call fails, and nothing is left running (goleak).
func TestClose(t *testing.T) {
	s := newSite(t, Config{})
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", service("a")))
	watch, err := s.host.WatchUnits(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.host.Close())
	require.NoError(t, s.host.Close())
	for range watch { // until it is closed
	}
	assert.Error(t, s.host.Submit(t.Context(), "web@2.service", service("a")))
	_, err = s.host.ReadUnits(t.Context(), fleet.Selector{})
	assert.Error(t, err)
	_, err = s.host.WatchUnits(t.Context())
	assert.Error(t, err)
}

// R44: a watch that begins while the backend is closed is refused or ends with it, and Close waits for nobody's context.
func TestCloseWhileAWatchBegins(t *testing.T) {
	s := newSite(t, Config{})
	s.host.manager = &slowToClose{fakeManager: s.fake, then: func() {
		watch, err := s.host.WatchUnits(context.WithoutCancel(t.Context()))
		assert.ErrorIs(t, err, errClosed)
		assert.Nil(t, watch)
	}}
	require.NoError(t, s.host.Close())
}

// slowToClose is a manager that still answers while it is closed.
type slowToClose struct {
	*fakeManager
	then func()
}

func (s *slowToClose) Close() error {
	s.then()
	return s.fakeManager.Close()
}

// R36, R42: without a Logger nothing is said, and what the caller passed is not shared.
func TestConfigIsCloned(t *testing.T) {
	metadata := map[string]string{"zone": "a"}
	s := newSite(t, Config{Metadata: metadata})
	s.host.logger = newHost(Config{}, s.disk, s.fake, s.host.host).logger
	metadata["zone"] = "b"
	machines, err := s.host.ReadMachines(t.Context())
	require.NoError(t, err)
	require.Equal(t, []fleet.Machine{{ID: ownID, IP: net.IPv4(192, 0, 2, 1), Metadata: map[string]string{"zone": "a"}}}, machines)
	machines[0].Metadata["zone"] = "c"
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", service("a", "[X-Fleet]\nMachineMetadata=zone=a\n")))
	s.put(service("by hand"), "units", "web@1.service")
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", service("b")))
	assert.Empty(t, s.log.all())
}

// A user who doesn't linger is told once.
func TestWarnsOfLogout(t *testing.T) {
	s := newSite(t, Config{User: true})
	for range 2 {
		require.NoError(t, s.host.SubmitLaunched(t.Context(), "web@1.service", service("a")))
	}
	require.Len(t, s.log.all(), 1)
	assert.Contains(t, s.log.all()[0], "loginctl enable-linger alice")
}

// What may not be written is an error that says what helps.
func TestNotPermitted(t *testing.T) {
	err := permitted(&os.PathError{Op: "open", Path: "/etc/squadron", Err: os.ErrPermission})
	assert.True(t, IsNotPermitted(err))
	assert.ErrorContains(t, err, "run as root")
	assert.ErrorIs(t, err, os.ErrPermission)
}
