package controller_test

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
)

// listedFleet is a backend whose units are in memory, and which costs next to nothing: no HTTP, no unit file read, states at
// once. What its callers cost is what a measurement of it shows.
type listedFleet struct {
	hashes map[string]string // by content; read beforehand

	mutex  sync.Mutex
	units  map[string]fleet.UnitDetail
	sorted []string // names; nil where they have to be sorted anew
	looks  int
}

// newListedFleet makes one that knows the contents of a request.
func newListedFleet(t testing.TB, requests ...controller.Request) *listedFleet {
	t.Helper()
	f := &listedFleet{hashes: map[string]string{}, units: map[string]fleet.UnitDetail{}}
	for _, req := range requests {
		for _, unit := range req.Units {
			hash, err := fleet.UnitHash(unit.Content)
			require.NoError(t, err)
			f.hashes[unit.Content] = hash
		}
	}
	return f
}

// fill puts slices of a request on the cluster, launched.
func (f *listedFleet) fill(req controller.Request, slices int) {
	for i := range slices {
		for _, unit := range req.Units {
			f.set(strings.Replace(unit.Name, "@.", fmt.Sprintf("@%05x.", i), 1), f.hashes[unit.Content], "launched")
		}
	}
}

func (f *listedFleet) set(name, hash, state string) {
	active := map[string][2]string{"launched": {"active", "running"}, "loaded": {"inactive", "dead"}}[state]
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.units[name].Name == "" {
		f.sorted = nil
	}
	f.units[name] = fleet.UnitDetail{
		UnitStatus: fleet.UnitStatus{
			Name: name, Current: state, Desired: state,
			Machine: []fleet.MachineStatus{{
				ID: "m1", IP: net.IPv4(192, 0, 2, 1), SystemdActive: active[0], SystemdSub: active[1], UnitHash: hash,
			}},
		},
		Hash: hash,
	}
}

func (f *listedFleet) change(name, state string) error {
	f.mutex.Lock()
	unit, there := f.units[name]
	f.mutex.Unlock()
	if !there {
		return notFound()
	}
	f.set(name, unit.Hash, state)
	return nil
}

func (f *listedFleet) Submit(_ context.Context, name, content string) error {
	f.set(name, f.hashes[content], "loaded")
	return nil
}

func (f *listedFleet) SubmitLaunched(_ context.Context, name, content string) error {
	f.set(name, f.hashes[content], "launched")
	return nil
}

func (f *listedFleet) Start(_ context.Context, name string) error { return f.change(name, "launched") }
func (f *listedFleet) Stop(_ context.Context, name string) error  { return f.change(name, "loaded") }

func (f *listedFleet) Destroy(_ context.Context, name string) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	delete(f.units, name)
	f.sorted = nil
	return nil
}

func (f *listedFleet) GetStatus(_ context.Context, name string) (fleet.UnitStatus, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if unit, there := f.units[name]; there {
		return unit.UnitStatus, nil
	}
	return fleet.UnitStatus{}, notFound()
}

func (f *listedFleet) GetStatusWithMatcher(func(string) bool) ([]fleet.UnitStatus, error) {
	panic("a backend that offers more is asked for more")
}

func (f *listedFleet) ReadUnits(context.Context, fleet.Selector) (fleet.Listing, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.looks++
	if f.sorted == nil {
		f.sorted = make([]string, 0, len(f.units))
		for name := range f.units {
			f.sorted = append(f.sorted, name)
		}
		slices.Sort(f.sorted)
	}
	listing := fleet.Listing{Units: make([]fleet.UnitDetail, 0, len(f.units)), Whole: true}
	for _, name := range f.sorted {
		listing.Units = append(listing.Units, f.units[name])
	}
	return listing, nil
}

// hurried makes a controller's waits as short as they can be where no bubble makes time pass.
func hurried(config *controller.Config) { config.WaitSleep = time.Microsecond }

// once makes waits end with the first look that shows what they wait for.
func once(config *controller.Config) { config.WaitCount = 1 }

// liveHeap is what is live after a collection.
func liveHeap() int {
	runtime.GC()
	runtime.GC() // what finalizers have let go
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
