package faults_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

const (
	loaded   = "loaded"
	launched = "launched"
	active   = "active"
)

// operation is one operation that a fault comes upon. Each works on two slices of a group of its own; updates on slices of
// two units, of which one can be there without the other.
type operation struct {
	name string
	// prepare brings the group to where the operation begins; nil where it begins with nothing.
	prepare func(b *bench.Bench, group string) error
	// act is the operation, from the call to the end of its task.
	act func(b *bench.Bench, group string) error
	// again says whether an error of the second call means that the first had done the work already; nil: never.
	again func(error) bool
	// wrong says what of a success is not there: empty when all is.
	wrong func(look bench.Snapshot, group string) string
	// repeated: it changes nothing, and is called again and again until the fault has healed.
	repeated bool
	// outlasts: it succeeds where the fault heals within its WaitTimeout (R18).
	outlasts bool
	// bounds are an update's.
	bounds *controller.UpdateOptions
	// waits is how many WaitTimeouts the operation may take at most, by its documentation (limit).
	waits int
}

// Each operation looks for its units, writes, and waits, each for WaitTimeout at most; a request that hangs is given up
// within that. An update without headway ends after two, ends then what is under way, and may be given two more for that;
// its call looks beforehand.
var operations = []operation{
	{name: "submit", act: submit, wrong: unlessLoaded, waits: 3},
	{name: "start", prepare: submit, act: start, wrong: unlessRunning, waits: 3},
	{name: "stop", prepare: run, act: stop, wrong: unlessStopped, waits: 3},
	{name: "destroy", prepare: run, act: destroy, wrong: unlessGone, again: controller.IsUnitNotFound, waits: 3},
	{name: "status", prepare: run, act: status, repeated: true, wrong: unlessThere, waits: 1},
	{name: "wait", prepare: submit, act: launchAndWait, wrong: unlessRunning, waits: 1, outlasts: true},
	{name: "addfirst", prepare: runPairs, act: update(addFirst), wrong: unlessUpdated, again: controller.IsUnitsAlreadyUpToDate, bounds: &addFirst, waits: 6},
	{name: "removefirst", prepare: runPairs, act: update(removeFirst), wrong: unlessUpdated, again: controller.IsUnitsAlreadyUpToDate, bounds: &removeFirst, waits: 6},
}

var (
	addFirst    = controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}
	removeFirst = controller.UpdateOptions{MinAlive: 1}
	sliceIDs    = []string{"a1", "b2"}
)

// cleanupTimeout is the controllers' own for taking back what a failed operation wrote.
const cleanupTimeout = 20 * time.Second

// limit is how long the operation may take at most: the waits, a clean-up or what somebody else does before a wait, and what
// a busy computer takes to notice.
func (o operation) limit(waitTimeout time.Duration) time.Duration {
	return time.Duration(o.waits)*waitTimeout + max(cleanupTimeout, launchWithin) + 20*time.Second
}

// content is an update's request with the n-th content.
func content(group string, n int) controller.Request {
	return bench.Pair(group, exec(n))
}

// single is the request of all other operations.
func single(group string) controller.Request {
	return bench.Slices(bench.Request(group, content(group, 0).Units[0]), sliceIDs...)
}

func exec(n int) string { return fmt.Sprint("/bin/sleep ", 100000+n) }

func submit(b *bench.Bench, group string) error {
	return b.Submit(single(group))
}

// start names its units, so that half a group is not taken for the whole.
func start(b *bench.Bench, group string) error {
	return b.Start(single(group))
}

func stop(b *bench.Bench, group string) error { return b.Stop(bench.Request(group)) }

func destroy(b *bench.Bench, group string) error { return b.Destroy(bench.Request(group)) }

func run(b *bench.Bench, group string) error {
	return b.Update(single(group), controller.UpdateOptions{})
}

func runPairs(b *bench.Bench, group string) error {
	return b.Update(bench.Slices(content(group, 0), sliceIDs...), controller.UpdateOptions{})
}

func update(opts controller.UpdateOptions) func(b *bench.Bench, group string) error {
	return func(b *bench.Bench, group string) error {
		return b.Update(bench.Number(content(group, 1), len(sliceIDs)), opts)
	}
}

// status asks for the status of a group that is there. It fails when it isn't told, and when it is told another's.
func status(b *bench.Bench, group string) error {
	list, err := b.Control.GetStatus(context.Background(), bench.Request(group))
	if err != nil {
		return err
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, unitNames(group)) {
		return fmt.Errorf("the status names %v", names)
	}
	return nil
}

// launchWithin is for how long launchAndWait tries to launch: most faults are over by then.
const launchWithin = 20 * time.Second

// launchAndWait has the backend launch the units, as somebody else would, and waits for them.
func launchAndWait(b *bench.Bench, group string) error {
	deadline := time.Now().Add(launchWithin)
	for _, name := range unitNames(group) {
		err := b.Client.Start(context.Background(), name)
		for fleet.IsTemporary(err) && time.Now().Before(deadline) {
			err = b.Client.Start(context.Background(), name)
		}
		if err != nil {
			return err
		}
	}
	return b.Control.WaitForStatus(context.Background(), single(group), nil, controller.StatusRunning)
}

// unitNames are the units of the two slices of a group that is not updated, sorted.
func unitNames(group string) []string {
	var names []string
	for _, id := range sliceIDs {
		names = append(names, group+"-main@"+id+".service")
	}
	return names
}
