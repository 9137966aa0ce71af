package controller_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// perUnit reports the time that each unit of a group costs, which is the same for a large group as for a small one.
func perUnit(b *testing.B, slices int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*slices*unitsPerSlice), "ns/unit")
}

// BenchmarkGroupNeedsUpdate compares a group with a request, on a listing in memory.
func BenchmarkGroupNeedsUpdate(b *testing.B) {
	for _, slices := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("slices=%d", slices), func(b *testing.B) {
			wanted := withVersion(request("web", 0), "v2")
			on := onBackend(b, newListedFleet(b, request("web", 0)), hurried).filled(slices)
			defer on.close()
			b.ReportAllocs()
			for b.Loop() {
				on.mustNeedUpdate(wanted, slices)
			}
			perUnit(b, slices)
		})
	}
}

// BenchmarkGetStatus selects a group's units out of a listing in memory, of which another group has as many.
func BenchmarkGetStatus(b *testing.B) {
	for _, slices := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("slices=%d", slices), func(b *testing.B) {
			backend := newListedFleet(b, request("web", 0))
			on := onBackend(b, backend, hurried).filled(slices)
			backend.fill(request("webhook", 0), slices)
			defer on.close()
			b.ReportAllocs()
			for b.Loop() {
				if n := len(on.statuses(b)); n != slices*unitsPerSlice {
					b.Fatal(n)
				}
			}
			perUnit(b, slices)
		})
	}
}

// BenchmarkValidateSubmitRequest validates a request of a pair of units for many slices.
func BenchmarkValidateSubmitRequest(b *testing.B) {
	for _, slices := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("slices=%d", slices), func(b *testing.B) {
			req := manyUnits(slices)
			req.Units = request("web", 0).Units
			for b.Loop() {
				mustBeValid(b, req)
			}
			perUnit(b, slices)
		})
	}
}

// onCluster makes a controller on a simulated cluster without a network and without latency, whose waits are as short as can
// be: what is left is computing, the cluster's as well as the library's.
func onCluster(b *testing.B) *bench {
	return newBench(b, fleettest.Config{}, hurried)
}

// reportRequests reports what each of the units has cost the cluster, of which there are so many in each iteration.
func (b *bench) reportRequests(on *testing.B, units int) {
	counts := b.cluster.Counts()
	iterations := float64(on.N)
	on.ReportMetric(float64(counts.Puts)/iterations/float64(units), "PUTs/unit")
	on.ReportMetric(float64(counts.Deletes)/iterations/float64(units), "DELETEs/unit")
	on.ReportMetric(float64(counts.UnitListings)/iterations, "listings")
}

// BenchmarkSubmitStart submits and starts slices of two units.
func BenchmarkSubmitStart(b *testing.B) {
	for _, slices := range []int{50, 500} {
		b.Run(fmt.Sprintf("slices=%d", slices), func(b *testing.B) {
			on := onCluster(b)
			defer on.close()
			on.cluster.ResetCounts()
			for b.Loop() {
				on.do(on.controller.Submit, request("web", slices))
				on.do(on.controller.Start, of("web"))
				b.StopTimer()
				on.removeAll()
				b.StartTimer()
			}
			perUnit(b, slices)
			on.reportRequests(b, slices*unitsPerSlice)
		})
	}
}

// removeAll empties the cluster without a request.
func (b *bench) removeAll() {
	for _, name := range b.names("") {
		b.cluster.Remove(name)
	}
}

// BenchmarkRollingUpdate updates slices of two units with MaxGrowth 10 while all of them run.
func BenchmarkRollingUpdate(b *testing.B) {
	for _, slices := range []int{10, 100} {
		b.Run(fmt.Sprintf("slices=%d", slices), func(b *testing.B) {
			on := onCluster(b)
			defer on.close()
			on.runs(slices)
			update := on.updates(controller.UpdateOptions{MaxGrowth: 10, MinAlive: slices})
			for b.Loop() {
				update()
			}
			perUnit(b, slices)
			on.reportRequests(b, slices*unitsPerSlice)
		})
	}
}

// BenchmarkControllerMemory runs 100,000 operations' tasks to their ends in one controller, beyond those that fill what is
// remembered on purpose, and reports how much the heap has grown by them: nothing, but for noise.
func BenchmarkControllerMemory(b *testing.B) {
	const tasks = 100_000
	for b.Loop() {
		on := onBackend(b, newListedFleet(b, request("web", 0)), hurried, once)
		on.churn(remembered)
		before := liveHeap()
		on.churn(tasks)
		after := liveHeap()
		b.ReportMetric(float64(after), "heap-B")
		b.ReportMetric(float64(after-before)/tasks, "growth-B/task")
		runtime.KeepAlive(on)
		on.close()
	}
}

// remembered is after how many tasks of churn all is full that is remembered on purpose: final tasks, and the slices made.
const remembered = 50_000

// churn runs so many tasks, which submit and destroy a slice in turns.
func (b *bench) churn(tasks int) {
	for range tasks / 2 {
		b.do(b.controller.Submit, request("web", 1))
		b.do(b.controller.Destroy, of("web"))
	}
}

// BenchmarkOperation is the cost of one operation by itself: a Stop of one unit that has stopped.
func BenchmarkOperation(b *testing.B) {
	backend := newListedFleet(b, request("web", 0))
	on := onBackend(b, backend, hurried, once).filled(1)
	defer on.close()
	b.ReportAllocs()
	for b.Loop() {
		on.do(on.controller.Stop, of("web"))
	}
}
