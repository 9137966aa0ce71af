package demo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
	"github.com/squadronctl/squadron/validator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runningDemo is a demo that a test has started.
type runningDemo struct {
	socket, dir string
	said        string
	end         func() error // ends it, and gives what Run returned
}

// start runs a demo and returns when it can be reached. The end of the test ends it.
func start(t *testing.T, config Config) runningDemo {
	ctx, cancel := context.WithCancel(context.Background())
	out := &announcement{ready: make(chan struct{})}
	config.Out = out
	if config.Socket == "" {
		config.Socket = filepath.Join(shortDir(t), "demo.sock")
	}
	if config.Timing == (fleettest.Timing{}) {
		config.Timing = fleettest.Fast()
	}
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, config) }()
	end := sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { assert.NoError(t, end()) })
	select {
	case <-out.ready:
	case err := <-ended:
		ended <- nil
		require.NoError(t, err)
	}
	_, rest, _ := strings.Cut(out.text.String(), "are in\n  ")
	dir, _, _ := strings.Cut(rest, "\n")
	return runningDemo{socket: config.Socket, dir: dir, said: out.text.String(), end: end}
}

// announcement is an output that tells when it was written to.
type announcement struct {
	text  bytes.Buffer
	ready chan struct{}
}

func (a *announcement) Write(p []byte) (int, error) {
	defer close(a.ready)
	return a.text.Write(p)
}

// shortDir is a directory whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "demo")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func control(t *testing.T, d runningDemo) controller.Controller {
	client, err := fleet.NewFleet(fleet.Config{Endpoint: url.URL{Scheme: "unix", Path: d.socket}})
	require.NoError(t, err)
	ctl := controller.NewController(controller.Config{
		Fleet:       client,
		TaskService: task.NewTaskService(task.DefaultConfig()),
		WaitSleep:   10 * time.Millisecond,
	})
	t.Cleanup(func() { assert.NoError(t, ctl.(io.Closer).Close()) })
	return ctl
}

// readGroup is the request of a directory that the demo has written.
func readGroup(t *testing.T, dir string) controller.Request {
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	req := controller.NewRequest(controller.RequestConfig{Group: filepath.Base(dir)})
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(dir, file.Name()))
		require.NoError(t, err)
		req.Units = append(req.Units, controller.Unit{Name: file.Name(), Content: string(content)})
	}
	return req
}

func update(t *testing.T, ctl controller.Controller, req controller.Request, opts controller.UpdateOptions) error {
	created, err := ctl.Update(t.Context(), req, opts)
	require.NoError(t, err)
	ended, err := ctl.WaitForTask(t.Context(), created.ID, nil)
	require.NoError(t, err)
	return ended.Error
}

// However slow the cluster is, its groups are in their states when it is reached.
func TestGroupsAreThereAtOnce(t *testing.T) {
	d := start(t, Config{Timing: pleasant()})
	ctl := control(t, d)
	for group, want := range map[string]map[string]int{
		"web":    {"active running": 6},
		"ledger": {"active running": 2},
		"queue":  {"active running": 2, "failed failed": 1},
		"mail":   {"active running": 2},
		"report": {"active waiting": 1, "inactive dead": 1},
	} {
		units, err := ctl.GetStatus(t.Context(), controller.NewRequest(controller.RequestConfig{Group: group}))
		require.NoError(t, err)
		got := map[string]int{}
		for _, unit := range units {
			for _, machine := range unit.Machine {
				got[machine.SystemdActive+" "+machine.SystemdSub]++
			}
		}
		assert.Equal(t, want, got, group)
	}
}

func TestGroupsAreValid(t *testing.T) {
	d := start(t, Config{})
	dirs, err := filepath.Glob(filepath.Join(d.dir, "[^bs]*"))
	require.NoError(t, err)
	require.Len(t, dirs, len(running))
	for _, dir := range append(dirs, filepath.Join(d.dir, "broken", "web")) {
		req := readGroup(t, dir)
		req.DesiredSlices = 1
		valid, err := controller.ValidateSubmitRequest(req)
		assert.True(t, valid, "%s: %v", dir, err)
		for _, unit := range req.Units {
			assert.NoError(t, validator.UnitFile(unit.Name, unit.Content))
		}
	}
}

// What the directories hold is newer than what runs, where a group has releases.
func TestUpdate(t *testing.T) {
	d := start(t, Config{})
	ctl := control(t, d)
	bounds := controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}
	require.NoError(t, update(t, ctl, readGroup(t, filepath.Join(d.dir, "web")), bounds))
	require.NoError(t, update(t, ctl, readGroup(t, filepath.Join(d.dir, "ledger")), controller.UpdateOptions{}))
	require.NoError(t, update(t, ctl, readGroup(t, filepath.Join(d.dir, "mail")), controller.UpdateOptions{MaxGrowth: 1}))
	err := update(t, ctl, readGroup(t, filepath.Join(d.dir, "report")), controller.UpdateOptions{})
	assert.True(t, controller.IsUnitsAlreadyUpToDate(err), "%v", err)

	bounds.Rollback = true
	err = update(t, ctl, readGroup(t, filepath.Join(d.dir, "broken", "web")), bounds)
	assert.True(t, controller.IsUpdateFailed(err), "%v", err)
	var failure *controller.UpdateFailure
	require.True(t, errors.As(err, &failure))
	assert.True(t, failure.RolledBack)
}

func TestInvitation(t *testing.T) {
	d := start(t, Config{})
	assert.Contains(t, d.said, "\n  export SQUADRON_ENDPOINT=unix://"+d.socket+"\n")
	assert.Contains(t, d.said, "\n  export SQUADRON_STATE="+d.dir+"/state\n", "nothing of what was tried stays")
	assert.Equal(t, 8, strings.Count(d.said, "\n  squadronctl "))
	assert.Contains(t, d.said, "  squadronctl update "+d.dir+"/web\n")
	for word, want := range map[string]string{"/a/b.c": "/a/b.c", "/a b": "'/a b'", "it's": `'it'\''s'`, "": "''"} {
		assert.Equal(t, want, quoted(word))
	}
}

// The end of ctx ends everything, and leaves nothing that was not there.
func TestNothingIsLeft(t *testing.T) {
	base := shortDir(t)
	d := start(t, Config{Socket: filepath.Join(base, "demo.sock")})
	info, err := os.Stat(d.socket)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode().Perm())
	require.DirExists(t, filepath.Join(d.dir, "web"))
	require.NoError(t, d.end())
	left, err := os.ReadDir(base)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A directory that was named stays, and what somebody has changed there is not overwritten.
func TestDirectoryOfTheUsers(t *testing.T) {
	base := shortDir(t)
	dir := filepath.Join(base, "groups")
	unit := filepath.Join(dir, "web", "web-app@.service")
	require.NoError(t, os.MkdirAll(filepath.Dir(unit), 0o700))
	require.NoError(t, os.WriteFile(unit, []byte("mine"), 0o600))
	d := start(t, Config{Dir: dir})
	assert.Equal(t, dir, d.dir)
	require.NoError(t, d.end())
	content, err := os.ReadFile(unit)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(content))
	assert.FileExists(t, filepath.Join(dir, "web", "web-cache@.service"))
}

func TestSockets(t *testing.T) {
	base := shortDir(t)
	path := filepath.Join(base, "demo.sock")

	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	dead.SetUnlinkOnClose(false)
	require.NoError(t, dead.Close())
	require.FileExists(t, path)
	start(t, Config{Socket: path})

	err = Run(t.Context(), Config{Socket: path})
	assert.ErrorContains(t, err, "demo: another demo listens on "+path)
	control(t, runningDemo{socket: path}) // which still is there

	file := filepath.Join(base, "notes")
	require.NoError(t, os.WriteFile(file, []byte("notes"), 0o600))
	require.NoError(t, os.Symlink(file, filepath.Join(base, "link")))
	for socket, says := range map[string]string{
		file:                               "is there already, and is no socket",
		filepath.Join(base, "link"):        "is there already, and is no socket",
		"demo.sock":                        "the path must be absolute",
		"/tmp/" + strings.Repeat("x", 103): "has 108 characters, and a socket's can have 107",
		filepath.Join(base, "no", "s"):     "no such file or directory",
		filepath.Join(file, "s"):           "not a directory",
	} {
		err := Run(t.Context(), Config{Socket: socket})
		require.ErrorContains(t, err, says, socket)
		assert.True(t, strings.HasPrefix(err.Error(), "demo: "), "%v", err)
		assert.NotContains(t, err.Error(), "\n")
	}
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "notes", string(content))
}

// What fails after the cluster was started takes it away again.
func TestFailures(t *testing.T) {
	base := shortDir(t)
	socket := filepath.Join(base, "demo.sock")
	file := filepath.Join(base, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.ErrorContains(t, Run(t.Context(), Config{Socket: socket, Dir: filepath.Join(file, "groups")}), "demo: write the groups: ")
	assert.ErrorIs(t, Run(t.Context(), Config{Socket: socket, Out: closedPipe{}}), io.ErrClosedPipe)
	left, err := os.ReadDir(base)
	require.NoError(t, err)
	assert.Len(t, left, 1)
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestDefaults(t *testing.T) {
	assert.Equal(t, "/run/user/7/squadron-demo.sock", defaultSocket("/run/user/7"))
	assert.Regexp(t, `/squadron-demo-\d+\.sock$`, defaultSocket(""))
	config := withDefaults(Config{})
	assert.Equal(t, pleasant(), config.Timing)
	assert.NotEmpty(t, config.Socket)
}
