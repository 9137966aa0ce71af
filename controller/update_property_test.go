package controller_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// scenario is one random update.
type scenario struct {
	slices     int
	desired    int
	opts       controller.UpdateOptions
	startDelay []time.Duration // of new slices, in turn
	failing    []bool          // whether a new slice fails at its start
	failLater  []time.Duration // or so long after it began to run
	deadBefore int             // old slices that have failed before the update
	newBefore  int             // slices that have the new content already
	idleBefore int             // of all, the last so many are stopped
	named      int             // slices that the request names, 0 for none
	loses      []loss          // what is lost while it runs
	errorEvery int             // every nth request is a 500
	pageLimit  int
	shiftPages bool
}

type loss struct {
	after time.Duration
	slice int
}

func drawScenario(t *rapid.T) scenario {
	s := scenario{
		slices:  rapid.IntRange(0, 7).Draw(t, "slices"),
		desired: rapid.SampledFrom([]int{0, 0, 0, 1, 3, 5, 8}).Draw(t, "desired"),
		opts: controller.UpdateOptions{
			MaxGrowth: rapid.IntRange(0, 3).Draw(t, "growth"),
			MinAlive:  rapid.IntRange(0, 7).Draw(t, "alive"),
			ReadySecs: rapid.SampledFrom([]int{0, 0, 2, 10}).Draw(t, "ready"),
		},
		newBefore:  rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "new"),
		idleBefore: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "idle"),
		named:      rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "named"),
		deadBefore: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "dead"),
		errorEvery: rapid.SampledFrom([]int{0, 0, 3, 7}).Draw(t, "errors"),
		pageLimit:  rapid.SampledFrom([]int{0, 0, 3, 5}).Draw(t, "page limit"),
		shiftPages: rapid.Bool().Draw(t, "shift pages"),
	}
	for range 4 {
		s.startDelay = append(s.startDelay, time.Duration(rapid.SampledFrom([]int{0, 0, 1, 20}).Draw(t, "start delay"))*time.Second)
		s.failing = append(s.failing, rapid.IntRange(0, 9).Draw(t, "fails") == 0)
		later := 0
		if rapid.IntRange(0, 9).Draw(t, "fails later") == 0 {
			later = rapid.IntRange(1, 15).Draw(t, "fails after")
		}
		s.failLater = append(s.failLater, time.Duration(later)*time.Second)
	}
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "losses") {
		s.loses = append(s.loses, loss{
			after: time.Duration(rapid.IntRange(0, 60_000).Draw(t, "loss after")) * time.Millisecond,
			slice: rapid.IntRange(0, 7).Draw(t, "lost slice"),
		})
	}
	return s
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

// TestUpdateKeepsItsBounds checks R22 at every state change that the cluster saw, and R21 and R25 at the end.
func TestUpdateKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScenario(rt)
		var finding string
		// A failure inside of the bubble would end the process, so it is brought outside.
		synctest.Test(t, func(t *testing.T) { finding = s.run(t) })
		if finding != "" {
			rt.Fatalf("%+v\n%s", s, finding)
		}
	})
}

func (s scenario) run(t *testing.T) string {
	b := newBench(t, fleettest.Config{Timing: fleettest.Fast(), PageLimit: s.pageLimit, Behave: s.behave()},
		func(config *controller.Config) { config.WaitTimeout = 100 * time.Second })
	defer b.close()
	check := newBoundsCheck("web", s.opts, s.desired)
	b.cluster.OnChange(check.take)
	b.do(b.controller.Submit, request("webhook", 2))
	b.do(b.controller.Start, of("webhook"))
	others := strings.Join(b.states("webhook"), "\n")
	if s.slices > 0 {
		b.do(b.controller.Submit, request("web", s.slices))
		b.do(b.controller.Start, of("web"))
	}
	var ids []string
	for _, name := range b.names("web-app@") {
		ids = append(ids, strings.TrimSuffix(strings.TrimPrefix(name, "web-app@"), ".service"))
	}
	s.prepare(b, ids)
	time.Sleep(10 * time.Second)
	b.cluster.Advance()
	b.setFaults(s)
	check.begin()
	for _, l := range s.loses {
		if l.slice < len(ids) {
			defer in(l.after, func() { b.cluster.FailUnit("web-app@" + ids[l.slice] + ".service") })()
		}
	}
	before := b.desires("web-")
	named := ids[:min(s.named, len(ids))]
	err := b.update(withVersion(request("web", s.desired, named...), "v2"), s.opts)
	b.faults.Set()
	b.cluster.Advance()
	return s.judge(b, check, err, named, before, others)
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

// judge gives what was wrong with the end of the update, or with the way there.
func (s scenario) judge(b *bench, check *boundsCheck, err error, named []string, before, others string) string {
	refused := controller.IsUpdateNotAllowed(err) || controller.IsUnitNotFound(err) || controller.IsUnitsAlreadyUpToDate(err)
	if len(check.findings) > 0 && !refused {
		return strings.Join(check.findings[:min(3, len(check.findings))], "\n") + fmt.Sprintf("\nended with %v", err)
	}
	if now := strings.Join(b.states("webhook"), "\n"); now != others {
		return "another group was touched:\n" + others + "\n" + now
	}
	old, fresh, incomplete := b.sliceContents("web")
	switch {
	case err == nil:
		wanted := s.desired
		if wanted == 0 {
			wanted = s.slices
		}
		for _, id := range named {
			if unit, there := b.cluster.Unit("web-app@" + id + ".service"); there && !isV2(unit.Content) {
				return "succeeded, and slice " + id + " is old"
			}
		}
		if old > 0 && len(named) == 0 || incomplete > 0 || old+fresh != wanted {
			return fmt.Sprintf("succeeded with %d old, %d new, %d incomplete slices of %d wanted", old, fresh, incomplete, wanted)
		}
	case controller.IsUpdateFailed(err):
		if incomplete > 0 {
			return fmt.Sprintf("left %d incomplete slices: %v\n%v", incomplete, err, b.states("web-"))
		}
	case refused:
		if now := b.desires("web-"); now != before {
			return fmt.Sprintf("refused (%v), and yet changed\n%s\n%s", err, before, now)
		}
	default:
		return fmt.Sprintf("an error of no known kind: %v", err)
	}
	return ""
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

// sliceContents counts the slices that have the old content, the new content, and not all of their units.
func (b *bench) sliceContents(group string) (old, fresh, incomplete int) {
	units, v2 := map[string]int{}, map[string]bool{}
	for _, unit := range b.cluster.Units() {
		if !strings.HasPrefix(unit.Name, group+"-") {
			continue
		}
		id := unit.Name[strings.Index(unit.Name, "@")+1 : strings.LastIndex(unit.Name, ".")]
		units[id]++
		v2[id] = v2[id] || strings.Contains(unit.Content, "/bin/serve v2")
	}
	for id, n := range units {
		switch {
		case n != 2:
			incomplete++
		case v2[id]:
			fresh++
		default:
			old++
		}
	}
	return old, fresh, incomplete
}
