package systemd

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/logging"
)

// fakeManager is a systemd that knows files, links, jobs and reloads, and does at once what it is asked.
type fakeManager struct {
	mutex        sync.Mutex
	search       []string
	keeps        bool // units stay in memory while nothing runs, as those do that another unit speaks of
	memory       map[string]*fakeUnit
	texts        []string // all that was ever loaded
	counts       map[string]int
	results      map[string]string // of jobs, by unit; "" never comes
	refuse       error             // the answer to Start
	refusesStart bool              // jobs fail before the unit has begun to start
	broken       bool              // connections break while a job runs
	onCall       func(call string) // before each call
	watches      map[chan struct{}]func(string)
	closed       bool
}

type fakeUnit struct {
	state unitState
	text  string
	mtime time.Time
}

func newFake(d disk, others ...string) *fakeManager {
	return &fakeManager{
		search: append([]string{d.links}, others...), memory: map[string]*fakeUnit{}, counts: map[string]int{},
		results: map[string]string{}, watches: map[chan struct{}]func(string){}, onCall: func(string) {},
	}
}

func (f *fakeManager) begin(ctx context.Context, call string) (end func(), err error) {
	f.onCall(call)
	f.mutex.Lock()
	f.counts[call]++
	if err = ctx.Err(); f.closed {
		err = errClosed
	}
	if err != nil {
		f.mutex.Unlock()
		return nil, err
	}
	return f.mutex.Unlock, nil
}

// find gives the file that systemd would read for a unit.
func (f *fakeManager) find(name string) (text string, mtime time.Time, ok bool) {
	for _, dir := range f.search {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if content, err := os.ReadFile(path); err == nil {
			return string(content), info.ModTime(), true
		}
	}
	return "", time.Time{}, false
}

// load gives a unit, read from its file where it is not in memory.
func (f *fakeManager) load(name string) *fakeUnit {
	if unit := f.memory[name]; unit != nil && unit.state.Load != loadNotFound {
		return unit
	}
	unit := &fakeUnit{state: unitState{Load: loadNotFound, Active: "inactive", Sub: "dead"}}
	f.read(name, unit)
	if unit.state.Load != loadNotFound {
		f.memory[name] = unit
	}
	return unit
}

func (f *fakeManager) read(name string, unit *fakeUnit) {
	text, mtime, ok := f.find(name)
	if !ok {
		unit.state.Load = loadNotFound
		return
	}
	unit.text, unit.mtime, unit.state.Load = text, mtime, "loaded"
	if !strings.Contains(text, "\nExecStart=") {
		unit.state.Load = "bad-setting"
	}
	f.texts = append(f.texts, text)
}

// drop forgets what nothing speaks of.
func (f *fakeManager) drop(name string) {
	if unit := f.memory[name]; unit != nil && unit.state.Active == "inactive" && !unit.state.Queued && !f.keeps {
		delete(f.memory, name)
	}
}

func (f *fakeManager) States(ctx context.Context, names []string) (map[string]unitState, error) {
	end, err := f.begin(ctx, "states")
	if err != nil {
		return nil, err
	}
	defer end()
	states := map[string]unitState{}
	for _, name := range names {
		states[name] = f.load(name).state
		f.drop(name)
	}
	return states, nil
}

func (f *fakeManager) Known(ctx context.Context, names []string) (map[string]unitState, error) {
	end, err := f.begin(ctx, "known")
	if err != nil {
		return nil, err
	}
	defer end()
	known := map[string]unitState{}
	for _, name := range names {
		if unit := f.memory[name]; unit != nil {
			known[name] = unit.state
		}
	}
	return known, nil
}

func (f *fakeManager) Outdated(ctx context.Context, name string) (bool, error) {
	end, err := f.begin(ctx, "outdated")
	if err != nil {
		return false, err
	}
	defer end()
	unit := f.load(name)
	_, mtime, ok := f.find(name)
	f.drop(name)
	return !ok || !mtime.Equal(unit.mtime), nil
}

func (f *fakeManager) SearchPath(ctx context.Context) ([]string, error) {
	end, err := f.begin(ctx, "search path")
	if err != nil {
		return nil, err
	}
	defer end()
	return slices.Clone(f.search), nil
}

func (f *fakeManager) Reload(ctx context.Context) error {
	end, err := f.begin(ctx, "reload")
	if err != nil {
		return err
	}
	defer end()
	for name, unit := range f.memory {
		f.read(name, unit)
		if unit.state.Load == loadNotFound && unit.state.Active == "inactive" {
			delete(f.memory, name)
		}
	}
	return nil
}

func (f *fakeManager) Start(ctx context.Context, name string) (<-chan string, error) {
	end, err := f.begin(ctx, "start")
	if err != nil {
		return nil, err
	}
	defer end()
	if f.refuse != nil {
		return nil, f.refuse
	}
	unit := f.load(name)
	if unit.state.Load != "loaded" {
		return nil, errors.New("systemd: refused")
	}
	if f.refusesStart {
		return f.job("failed"), nil
	}
	result, told := f.results[name]
	if !told {
		result = "done"
	}
	unit.state.Active, unit.state.Sub = "active", "running"
	if result == "failed" {
		unit.state.Active, unit.state.Sub = "failed", "failed"
	}
	f.tell(name)
	return f.job(result), nil
}

func (f *fakeManager) Stop(ctx context.Context, name string) (<-chan string, error) {
	end, err := f.begin(ctx, "stop")
	if err != nil {
		return nil, err
	}
	defer end()
	unit := f.memory[name]
	if unit == nil {
		return nil, nil
	}
	if result, told := f.results["stop "+name]; told {
		return f.job(result), nil
	}
	unit.state.Active, unit.state.Sub, unit.state.Queued = "inactive", "dead", false
	f.tell(name)
	f.drop(name)
	return f.job("done"), nil
}

func (f *fakeManager) job(result string) <-chan string {
	told := make(chan string, 1)
	switch {
	case f.broken:
		close(told)
	case result != "":
		told <- result
	}
	return told
}

func (f *fakeManager) ResetFailed(ctx context.Context, name string) error {
	end, err := f.begin(ctx, "reset")
	if err != nil {
		return err
	}
	defer end()
	if unit := f.memory[name]; unit != nil && unit.state.Active == "failed" {
		unit.state.Active, unit.state.Sub = "inactive", "dead"
		if unit.state.Load == loadNotFound {
			delete(f.memory, name)
		}
	}
	return nil
}

func (f *fakeManager) Watch(ctx context.Context, changed func(string)) (<-chan struct{}, error) {
	end, err := f.begin(ctx, "watch")
	if err != nil {
		return nil, err
	}
	defer end()
	ended := make(chan struct{})
	f.watches[ended] = changed
	context.AfterFunc(ctx, func() { f.breakWatch(ended) })
	return ended, nil
}

func (f *fakeManager) breakWatch(ended chan struct{}) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.watches[ended] != nil {
		delete(f.watches, ended)
		close(ended)
	}
}

// tell sends a signal, with the lock held.
func (f *fakeManager) tell(name string) {
	for _, changed := range f.watches {
		changed(name)
	}
}

func (f *fakeManager) Close() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.closed = true
	return nil
}

// reboot forgets all, and starts what is wanted.
func (f *fakeManager) reboot(d disk) {
	f.mutex.Lock()
	f.memory = map[string]*fakeUnit{}
	f.mutex.Unlock()
	if !leadsTo(filepath.Join(d.links, d.boot+".wants", targetName), d.link(targetName)) {
		return
	}
	if _, _, ok := f.find(targetName); !ok {
		return
	}
	entries, _ := os.ReadDir(d.wants)
	for _, entry := range entries {
		_, _ = f.Start(context.Background(), entry.Name())
	}
}

func (f *fakeManager) state(name string) unitState {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.load(name).state
}

func (f *fakeManager) count(call string) int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.counts[call]
}

// site is a host for tests: directories of its own, and a fake systemd.
type site struct {
	t      *testing.T
	dir    string
	disk   disk
	fake   *fakeManager
	host   *Host
	config Config
	log    *recorder
}

const ownID = "0123456789abcdef0123456789abcdef"

func newSite(t *testing.T, config Config) *site {
	t.Helper()
	s := &site{t: t, dir: memoryDir(t), log: &recorder{Logger: logging.Silent()}, config: config}
	s.disk = newDisk(places{
		units: filepath.Join(s.dir, "units"), links: filepath.Join(s.dir, "etc"), boot: "multi-user.target",
	})
	s.fake = newFake(s.disk, filepath.Join(s.dir, "lib"))
	require.NoError(t, os.MkdirAll(filepath.Join(s.dir, "lib"), 0o755))
	s.config.Logger = s.log
	s.restart()
	return s
}

// memoryDir gives a directory in memory, where the host has one: what is written out there costs no time.
func memoryDir(t *testing.T) string {
	const memory = "/dev/shm"
	if info, err := os.Stat(memory); err != nil || !info.IsDir() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "squadron-test-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// restart gives the site a new backend, as a new program would make it.
func (s *site) restart() {
	s.host = newHost(s.config, s.disk, s.fake, hostFacts{
		machineID: func() (string, error) { return ownID, nil },
		address:   func() net.IP { return net.IPv4(192, 0, 2, 1) },
		lingers:   func() (string, bool) { return "alice", false },
	})
	s.t.Cleanup(func() { _ = s.host.Close() })
}

// put writes a file of somebody else's.
func (s *site) put(text string, path ...string) string {
	s.t.Helper()
	file := filepath.Join(append([]string{s.dir}, path...)...)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(s.t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// left lists all files and links below the site, but for those of the target.
func (s *site) left() []string {
	s.t.Helper()
	var left []string
	require.NoError(s.t, filepath.WalkDir(s.dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() != targetName {
			rest, _ := filepath.Rel(s.dir, path)
			left = append(left, rest)
		}
		return err
	}))
	return left
}

// service gives a unit file, another for each word.
func service(word string, more ...string) string {
	return "[Unit]\nDescription=" + word + "\n\n[Service]\nExecStart=/bin/sleep 1000\n" + strings.Join(more, "")
}
