package controller_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

// scenario is one random update, or change of the number of slices, and what happens to it.
type scenario struct {
	slices     int
	desired    int
	scaleTo    int // above 0: it is a Scale
	opts       controller.UpdateOptions
	startDelay []time.Duration // of new slices, in turn
	failing    []bool          // whether a new slice fails at its start
	failLater  []time.Duration // or so long after it began to run
	notReady   []int           // how often its ready check fails
	deadBefore int             // old slices that have failed before the update
	newBefore  int             // slices that have the new content already
	idleBefore int             // of all, the last so many are stopped
	named      int             // slices that the request names, 0 for none
	loses      []loss          // what is lost while it runs
	errorEvery int             // every nth request is a 500
	pageLimit  int
	shiftPages bool
	watched    bool          // the backend tells of changes
	eager      bool          // and does so without a pause
	pause      time.Duration // when it is paused, for 30 s; 0: never
	cancel     time.Duration // when its task is cancelled; 0: never
	kill       time.Duration // when its process is killed, and started again with the same request; 0: never
}

// loss is the end of a slice's unit, or of a whole machine for a minute.
type loss struct {
	after   time.Duration
	slice   int
	machine bool
}

func drawScenario(t *rapid.T) scenario {
	s := scenario{
		slices:  rapid.SampledFrom([]int{0, 1, 2, 3, 3, 4, 5, 6, 7, 12, 40}).Draw(t, "slices"),
		desired: rapid.SampledFrom([]int{0, 0, 0, 1, 3, 5, 8}).Draw(t, "desired"),
		opts: controller.UpdateOptions{
			MaxGrowth: rapid.IntRange(0, 3).Draw(t, "growth"),
			MinAlive:  rapid.IntRange(0, 7).Draw(t, "alive"),
			ReadySecs: rapid.SampledFrom([]int{0, 0, 2, 10}).Draw(t, "ready"),
			Rollback:  rapid.Bool().Draw(t, "rollback"),
			Force:     rapid.IntRange(0, 4).Draw(t, "force") == 0,
		},
		newBefore:  rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "new"),
		idleBefore: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "idle"),
		named:      rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "named"),
		deadBefore: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "dead"),
		errorEvery: rapid.SampledFrom([]int{0, 0, 3, 7}).Draw(t, "errors"),
		pageLimit:  rapid.SampledFrom([]int{0, 0, 3, 5}).Draw(t, "page limit"),
		shiftPages: rapid.Bool().Draw(t, "shift pages"),
		pause:      drawMoment(t, "pause"),
		cancel:     drawMoment(t, "cancel"),
		kill:       drawMoment(t, "kill"),
	}
	if rapid.IntRange(0, 3).Draw(t, "scales") == 0 {
		s.scaleTo = rapid.IntRange(1, 8).Draw(t, "scale to")
		s.opts.Force, s.desired, s.named = false, 0, 0
	}
	if rapid.IntRange(0, 3).Draw(t, "watched") == 0 { // such a backend lists all at once
		s.watched, s.pageLimit, s.shiftPages = true, 0, false
		s.eager = rapid.Bool().Draw(t, "eager")
	}
	if s.slices > 7 { // many slices and small pages with errors take long, and show nothing that few don't
		s.pageLimit = 0
	}
	for range 4 {
		s.startDelay = append(s.startDelay, time.Duration(rapid.SampledFrom([]int{0, 0, 1, 20}).Draw(t, "start delay"))*time.Second)
		s.failing = append(s.failing, rapid.IntRange(0, 9).Draw(t, "fails") == 0)
		later := 0
		if rapid.IntRange(0, 9).Draw(t, "fails later") == 0 {
			later = rapid.IntRange(1, 15).Draw(t, "fails after")
		}
		s.failLater = append(s.failLater, time.Duration(later)*time.Second)
		s.notReady = append(s.notReady, rapid.SampledFrom([]int{0, 0, 0, 2, 200}).Draw(t, "not ready"))
	}
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "losses") {
		s.loses = append(s.loses, loss{
			after:   time.Duration(rapid.IntRange(0, 60_000).Draw(t, "loss after")) * time.Millisecond,
			slice:   rapid.IntRange(0, 7).Draw(t, "lost slice"),
			machine: rapid.IntRange(0, 2).Draw(t, "machine") == 0,
		})
	}
	return s
}

// drawMoment gives a time within the update, or 0 in three of four cases.
func drawMoment(t *rapid.T, what string) time.Duration {
	if rapid.IntRange(0, 3).Draw(t, what+"s") > 0 {
		return 0
	}
	return time.Duration(rapid.IntRange(1, 90_000).Draw(t, what+" after")) * time.Millisecond
}

// behave gives new units the behaviour that the scenario has for their slices, in the order in which they start.
func (s scenario) behave() func(fleettest.Start) fleettest.Behavior {
	turns := map[string]int{}
	return func(start fleettest.Start) fleettest.Behavior {
		if !strings.Contains(start.Content, "/bin/serve v2") {
			return fleettest.Behavior{}
		}
		if _, known := turns[start.Name]; !known {
			turns[start.Name] = len(turns)
		}
		i := turns[start.Name] % len(s.failing)
		return fleettest.Behavior{StartDelay: s.startDelay[i], Fail: s.failing[i], FailAfter: s.failLater[i]}
	}
}

// check is a ready check that fails so often as the scenario has it.
func (s scenario) check() controller.ReadyCheck {
	turns := map[string]int{}
	calls := map[string]int{}
	var mutex = make(chan struct{}, 1)
	return func(_ context.Context, slice controller.SliceStatus) error {
		mutex <- struct{}{}
		defer func() { <-mutex }()
		if _, known := turns[slice.ID]; !known {
			turns[slice.ID] = len(turns)
		}
		calls[slice.ID]++
		if calls[slice.ID] <= s.notReady[turns[slice.ID]%len(s.notReady)] {
			return errors.New("not yet")
		}
		return nil
	}
}

// TestUpdateKeepsItsBounds checks R22 at every state change that the cluster saw, in updates with everything that can
// happen to them, and R21, R25 and R27 at the end. Each half goes through -rapid.checks random ones.
func TestUpdateKeepsItsBounds(t *testing.T) {
	for _, half := range []string{"a", "b"} { // side by side: one of them leaves a processor idle half of the time
		t.Run(half, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				s := drawScenario(rt)
				var finding string
				// A failure inside of the bubble would end the process, so it is brought outside.
				synctest.Test(t, func(t *testing.T) { finding = s.run(t) })
				if finding != "" {
					rt.Fatalf("%+v\n%s", s, finding)
				}
			})
		})
	}
}

// process is one process that updates: a client of its own, and a controller.
type process struct {
	killed     atomic.Bool
	controller controller.Controller
	tasks      task.Service
}

var errKilled = errors.New("the process has been killed")

// newProcess starts a process on the bench's cluster.
func (b *bench) newProcess(s scenario) *process {
	p := &process{tasks: task.NewTaskService(task.DefaultConfig())}
	config := fleettest.ClientConfig(b.faults)
	config.Client = &http.Client{Transport: lifeline{&p.killed, config.Client.Transport}}
	client, err := fleet.NewFleet(config)
	if err != nil {
		panic(err)
	}
	if s.watched {
		client = newWatchedClient(client, b.cluster, s.eager)
	}
	p.controller = controller.NewController(controller.Config{Fleet: client, TaskService: p.tasks, WaitTimeout: 100 * time.Second})
	return p
}

// lifeline sends nothing more once its process has been killed.
type lifeline struct {
	cut  *atomic.Bool
	next http.RoundTripper
}

func (l lifeline) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.cut.Load() {
		return nil, errKilled
	}
	return l.next.RoundTrip(r)
}

// kill ends the process: whatever it still does reaches nobody.
func (p *process) kill() {
	p.killed.Store(true)
	p.close()
}

func (p *process) close() {
	if err := p.controller.(io.Closer).Close(); err != nil {
		panic(err)
	}
}

// run goes through a scenario, and gives what was wrong with it.
func (s scenario) run(t *testing.T) string {
	b := newBench(t, fleettest.Config{Timing: fleettest.Fast(), PageLimit: s.pageLimit, Behave: s.behave()},
		func(config *controller.Config) { config.WaitTimeout = 100 * time.Second })
	defer b.close()
	check := newBoundsCheck("web", s.opts, s.wanted())
	b.cluster.OnChange(check.take)
	b.do(b.controller.Submit, request("webhook", 2))
	b.do(b.controller.Start, of("webhook"))
	others := b.desires("webhook")
	if s.slices > 0 {
		b.do(b.controller.Submit, request("web", s.slices))
		b.do(b.controller.Start, of("web"))
	}
	ids := b.idsOf("web")
	s.prepare(b, ids)
	time.Sleep(10 * time.Second)
	b.cluster.Advance()
	b.setFaults(s)
	wait := s.loseThings(b, ids)

	record := s.call(b, check, ids, s.desired)
	if record.killed {
		desired := s.desired
		if desired == 0 {
			desired = s.slices // the caller knows how many there were
		}
		again := s
		again.kill, again.cancel, again.pause = 0, 0, 0
		record = again.call(b, check, ids, desired)
	}
	wait()
	b.faults.Set()
	b.cluster.Advance()
	if now := b.desires("webhook"); now != others {
		return "another group was touched:\n" + others + "\n" + now
	}
	return s.judge(b, check, record)
}

// wanted is how many slices the scenario's request asks for, 0 for as many as there are.
func (s scenario) wanted() int {
	if s.scaleTo > 0 {
		return s.scaleTo
	}
	return s.desired
}

// loseThings lets happen what the scenario has, and gives a function that waits for the last of it.
func (s scenario) loseThings(b *bench, ids []string) (wait func()) {
	var waits []func()
	for _, l := range s.loses {
		switch {
		case l.machine:
			machine := fleettest.DefaultMachines(3)[l.slice%3].ID
			waits = append(waits, in(l.after, func() { b.cluster.KillMachine(machine) }))
			waits = append(waits, in(l.after+time.Minute, func() { b.cluster.RestoreMachine(machine) }))
		case l.slice < len(ids):
			waits = append(waits, in(l.after, func() { b.cluster.FailUnit("web-app@" + ids[l.slice] + ".service") }))
		}
	}
	return func() {
		for _, wait := range waits {
			wait()
		}
	}
}

// record is what a call came to.
type record struct {
	before map[string]string // content of web-app by slice, at the call
	asked  string            // what fleet was asked for, at the call
	named  []string
	events []controller.UpdateEvent
	err    error
	killed bool
}

// call updates or scales the group by a process of its own, from the call to the end of its task or of its process.
func (s scenario) call(b *bench, check *boundsCheck, ids []string, desired int) *record {
	p := b.newProcess(s)
	defer p.close()
	b.cluster.Advance()
	r := &record{before: b.contentBySlice("web"), asked: b.desires("web-"), named: ids[:min(s.named, len(ids))]}
	check.want(max(desired, s.scaleTo))
	check.begin()
	opts := s.opts
	opts.Ready = s.check()
	opts.Progress = func(event controller.UpdateEvent) { r.events = append(r.events, event) }
	req := withVersion(request("web", desired, r.named...), "v2")
	var created *task.Task
	if s.scaleTo > 0 {
		req.DesiredSlices = 0
		created, r.err = p.controller.(controller.Scaler).Scale(b.t.Context(), req, s.scaleTo, opts)
	} else {
		created, r.err = p.controller.Update(b.t.Context(), req, opts)
	}
	if r.err != nil {
		return r
	}
	final := s.follow(b, p, created)
	if p.killed.Load() {
		r.killed = true
		return r
	}
	r.err = final.Error
	return r
}

// follow waits for the task's end, and does to it meanwhile what the scenario has.
func (s scenario) follow(b *bench, p *process, created *task.Task) *task.Task {
	ended := make(chan struct{})
	var waits []func()
	later := func(after time.Duration, f func()) {
		done := make(chan struct{})
		waits = append(waits, func() { <-done })
		go func() {
			defer close(done)
			select {
			case <-ended:
			case <-time.After(after):
				f()
			}
		}()
	}
	pauser := p.controller.(controller.Pauser)
	if s.pause > 0 {
		later(s.pause, func() { _ = pauser.Pause(b.t.Context(), created.ID) }) // it may have ended just now
		later(s.pause+30*time.Second, func() { _ = pauser.Resume(b.t.Context(), created.ID) })
	}
	if s.cancel > 0 {
		later(s.cancel, func() { _ = p.tasks.(task.Canceler).Cancel(b.t.Context(), created.ID) })
	}
	if s.kill > 0 {
		later(s.kill, p.kill)
	}
	final, err := p.tasks.WaitForFinalStatus(b.t.Context(), created.ID, nil)
	if err != nil {
		panic(err)
	}
	close(ended)
	for _, wait := range waits {
		wait()
	}
	return final
}

// prepare makes a group as updates may find one: broken off, half stopped, half failed.
func (s scenario) prepare(b *bench, ids []string) {
	for i := range min(s.deadBefore, len(ids)) {
		b.cluster.FailUnit("web-app@" + ids[i] + ".service")
	}
	for i := range min(s.newBefore, len(ids)) {
		if err := b.cluster.Put("web-app@"+ids[len(ids)-1-i]+".service", service("v2"), "launched"); err != nil {
			panic(err)
		}
	}
	for i := range min(s.idleBefore, len(ids)) {
		for _, unit := range []string{"web-app@", "web-log@"} {
			_ = b.client.Stop(context.Background(), unit+ids[len(ids)-1-i]+".service")
		}
	}
}

func (b *bench) setFaults(s scenario) {
	var faults []fleettest.Fault
	if s.errorEvery > 0 {
		faults = append(faults, fleettest.Every(s.errorEvery, fleettest.Fail(500, "")))
	}
	if s.shiftPages {
		faults = append(faults, fleettest.ShiftPages(b.cluster, 3))
	}
	b.faults.Set(faults...)
}

// desires gives what fleet has been asked for: names, contents and desired states.
func (b *bench) desires(prefix string) string {
	var text strings.Builder
	for _, unit := range b.cluster.Units() {
		if strings.HasPrefix(unit.Name, prefix) {
			fmt.Fprintln(&text, unit.Name, unit.Hash, unit.Desired)
		}
	}
	return text.String()
}

// idsOf gives the IDs of a group's slices, by what is in the cluster.
func (b *bench) idsOf(group string) []string {
	var ids []string
	for _, name := range b.names(group + "-app@") {
		ids = append(ids, strings.TrimSuffix(strings.TrimPrefix(name, group+"-app@"), ".service"))
	}
	return ids
}

// contentBySlice gives of each slice v1, v2, or that not all of its units are there.
func (b *bench) contentBySlice(group string) map[string]string {
	units, content := map[string]int{}, map[string]string{}
	for _, unit := range b.cluster.Units() {
		if !strings.HasPrefix(unit.Name, group+"-") {
			continue
		}
		id := unit.Name[strings.Index(unit.Name, "@")+1 : strings.LastIndex(unit.Name, ".")]
		units[id]++
		switch {
		case strings.Contains(unit.Content, "/bin/serve v2"):
			content[id] = "v2"
		case strings.HasPrefix(unit.Name, group+"-app@"):
			content[id] = "v1"
		}
	}
	for id, n := range units {
		if n != 2 {
			content[id] = "incomplete"
		}
	}
	return content
}

// having gives the slices of a content, sorted.
func having(contents map[string]string, content string) []string {
	var ids []string
	for id, has := range contents {
		if has == content {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// sliceContents counts the slices that have the old content, the new content, and not all of their units.
func (b *bench) sliceContents(group string) (old, fresh, incomplete int) {
	contents := b.contentBySlice(group)
	return len(having(contents, "v1")), len(having(contents, "v2")), len(having(contents, "incomplete"))
}
