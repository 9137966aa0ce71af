package controller_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// waitAll waits, n times side by side, for something that does not come true, and gives up after d.
func (b *bench) waitAll(n int, d time.Duration) (wait func()) {
	ctx, cancel := context.WithTimeout(b.t.Context(), d)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			req := of(fmt.Sprintf("web%dx", i%20))
			assert.ErrorIs(b.t, b.controller.WaitForStatus(ctx, req, nil, controller.StatusRunning), context.DeadlineExceeded)
		})
	}
	return func() {
		all.Wait()
		cancel()
	}
}

func (b *bench) twentyGroups() {
	for i := range 20 {
		b.put("loaded", fmt.Sprintf("web%dx-app@1.service", i), fmt.Sprintf("web%dx-log@1.service", i))
	}
}

// R19: the number of listings grows with time, and not with the waits; with nobody waiting there is none.
func TestSharedLooksR19(t *testing.T) {
	listings := func(waits int, d time.Duration, adjust func(*controller.Config)) int {
		var counts fleettest.Counts
		onBench(t, fleettest.Config{}, adjust, func(t *testing.T, b *bench) {
			b.twentyGroups()
			b.faults.Set(fleettest.Always(fleettest.Latency(10 * time.Millisecond)))
			b.waitAll(waits, d)()
			counts = b.cluster.Counts()
			time.Sleep(time.Hour)
			assert.Equal(t, counts, b.cluster.Counts())
		})
		assert.Zero(t, counts.UnitReads)
		return counts.UnitListings
	}
	for name, adjust := range map[string]func(*controller.Config){"fleet": nil, "narrow": overNarrow} {
		t.Run(name, func(t *testing.T) {
			few, many := listings(2, 20*time.Second, adjust), listings(60, 20*time.Second, adjust)
			assert.InDelta(t, 20, few, 6) // to find out which units there are takes some more
			assert.InDelta(t, 20, many, 6)
			assert.InDelta(t, 40, listings(60, 40*time.Second, adjust), 6)
		})
	}
}

// R19: so do waits and status calls together: what is asked for at one moment is served by one listing or two.
func TestStatusCallsShareLooksR19(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.twentyGroups()
		b.faults.Set(fleettest.Always(fleettest.Latency(100 * time.Millisecond)))
		wait := b.waitAll(20, 20*time.Second)
		for range 5 {
			var calls sync.WaitGroup
			for i := range 60 {
				calls.Go(func() {
					statuses, err := b.controller.GetStatus(t.Context(), of(fmt.Sprintf("web%dx", i%20)))
					assert.NoError(t, err)
					assert.Len(t, statuses, 2)
				})
			}
			calls.Wait()
		}
		wait()
		assert.LessOrEqual(t, b.cluster.Counts().UnitListings, 20+2*5+6)
	})
}

// R19: a look serves only those who asked before it began: what was done before asking is seen.
func TestLookSeesWhatWasDoneBeforeR19(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend)
		defer b.close()
		b.do(b.controller.Submit, request("web", 0, "1"))
		// A listing takes five seconds and shows what was there when it began.
		slow := &slowLists{memoryFleet: backend, takes: 5 * time.Second}
		c := onBackend(t, slow)
		defer c.close()
		first := make(chan []fleet.UnitStatus, 1)
		go func() {
			statuses, err := c.controller.GetStatus(t.Context(), of("web"))
			assert.NoError(t, err)
			first <- statuses
		}()
		time.Sleep(time.Second)
		require.NoError(t, backend.Start(t.Context(), "web-app@1.service"))
		statuses, err := c.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		assert.Equal(t, "launched", statuses[0].Current)
		<-first
	})
}

// slowLists answers listings late.
type slowLists struct {
	*memoryFleet
	takes time.Duration
}

func (s *slowLists) GetStatusWithMatcher(matcher func(string) bool) ([]fleet.UnitStatus, error) {
	statuses, err := s.memoryFleet.GetStatusWithMatcher(matcher)
	time.Sleep(s.takes)
	return statuses, err
}

// R15, R19: calls that want to know at once don't make the looks of a wait come faster: WaitCount of them last at least
// as long as the pauses between them.
func TestStatusCallsDontHurryWaitsR15R19(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("launched", "web-app@1.service", "web-log@1.service")
		ctx, cancel := context.WithCancel(t.Context())
		var polling sync.WaitGroup
		polling.Go(func() {
			for ctx.Err() == nil {
				_, _ = b.controller.GetStatus(ctx, of("web"))
				time.Sleep(10 * time.Millisecond)
			}
		})
		began := time.Now()
		require.NoError(t, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning))
		took := time.Since(began)
		cancel()
		polling.Wait()
		assert.GreaterOrEqual(t, took, 2*time.Second)
		assert.LessOrEqual(t, took, 5*time.Second)
	})
}

// Many operations on many groups at once, over pages, take each other's units for nobody's.
func TestManyOperationsAtOnce(t *testing.T) {
	for name, adjust := range map[string]func(*controller.Config){"fleet": nil, "narrow": overNarrow} {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{PageLimit: 10}, adjust, func(t *testing.T, b *bench) {
				ops := []operation{b.controller.Submit, b.controller.Start, b.controller.Stop, b.controller.Destroy}
				for step, op := range ops {
					var all sync.WaitGroup
					for i := range 20 {
						all.Go(func() {
							group := fmt.Sprintf("web%dx", i)
							req := of(group)
							if step == 0 {
								req = request(group, 2)
							}
							assert.NoError(t, b.try(op, req))
						})
					}
					all.Wait()
					if step < 3 {
						assert.Len(t, b.names("web"), 80)
					}
				}
				assert.Empty(t, b.names(""))
			})
		})
	}
}
