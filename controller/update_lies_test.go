package controller_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// sayNothing answers as a fleetd whose registry has lost everything.
func sayNothing(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprint(w, "{}")
}

// skipAtBorder destroys a unit of nobody's between the first page and the second of each listing of a kind, so that the
// entry at the border is skipped in every one of them.
func skipAtBorder(c *fleettest.Cluster, kind string) fleettest.Fault {
	return func(r *http.Request) fleettest.Action {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, kind) || r.URL.Query().Has("unitName") {
			return nil
		}
		first := !r.URL.Query().Has("nextPageToken")
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if first {
				_ = c.Put(fleettest.Nobody, service("x"), "loaded")
			} else {
				c.Remove(fleettest.Nobody)
			}
			next.ServeHTTP(w, r)
		}
	}
}

// onFastCluster runs a test on a cluster of fast machines with slices of web running, and a WaitTimeout of a minute.
func onFastCluster(t *testing.T, slices int, behave func(fleettest.Start) fleettest.Behavior, f func(t *testing.T, b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{Timing: fleettest.Fast(), Behave: behave},
			func(c *controller.Config) { c.WaitTimeout = time.Minute })
		defer b.close()
		b.do(b.controller.Submit, request("web", slices))
		b.do(b.controller.Start, of("web"))
		f(t, b)
	})
}

// R22, R13: for seconds /state says nothing at all. The old slices run on, and none of them may go.
func TestNoStatesAreNoLoss(t *testing.T) {
	slow := func(s fleettest.Start) fleettest.Behavior {
		if isV2(s.Content) {
			return fleettest.Behavior{StartDelay: 20 * time.Second}
		}
		return fleettest.Behavior{}
	}
	onFastCluster(t, 3, slow, func(t *testing.T, b *bench) {
		opts := controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}
		check := b.checked(opts)
		wait := in(5*time.Second, func() {
			b.faults.Set(fleettest.On("GET", "/state", fleettest.Always(sayNothing)))
			time.Sleep(4 * time.Second)
			b.faults.Set()
		})
		require.NoError(t, b.update(v2(0), opts))
		wait()
		assert.Empty(t, check.findings)
	})
}

// R22, R25: a new slice that counts for MinAlive is not destroyed because its state was not told for long.
func TestUnreportedNewSliceIsNotDestroyed(t *testing.T) {
	onFastCluster(t, 3, nil, func(t *testing.T, b *bench) {
		opts := controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}
		check := b.checked(opts)
		b.cluster.OnChange(func(change fleettest.Change) {
			if change.Kind == fleettest.Destroyed {
				b.faults.Set(fleettest.On("GET", "/state", fleettest.Always(sayNothing)))
			}
		})
		err := b.update(v2(0), opts)
		b.faults.Set()
		require.True(t, controller.IsUpdateFailed(err), "%v", err)
		assert.Empty(t, check.findings)
	})
}

// R20a, R15: the state that every listing skips is asked for by name.
func TestSkippedStateEndsNoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{PageLimit: 4}, func(c *controller.Config) { c.WaitTimeout = time.Minute })
		defer b.close()
		b.do(b.controller.Submit, request("web", 4))
		b.faults.Set(skipAtBorder(b.cluster, "/state"))
		require.NoError(t, b.try(b.controller.Start, of("web")))
	})
}

// R20a: a unit that every listing skips is one of its slice all the same.
func TestSkippedUnitIsStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{PageLimit: 4})
		defer b.close()
		b.do(b.controller.Submit, request("web", 4))
		b.faults.Set(skipAtBorder(b.cluster, "/units"))
		require.NoError(t, b.try(b.controller.Start, of("web")))
		for _, line := range b.states("web-") {
			assert.Contains(t, line, "launched active/running")
		}
	})
}

// R17, R25: content that runs for a moment, fails, and is restarted for ever makes no headway, and that has an end.
func TestFlappingContentEnds(t *testing.T) {
	flaps := func(s fleettest.Start) fleettest.Behavior {
		if isV2(s.Content) {
			return fleettest.Behavior{FailAfter: 7 * time.Second, Restart: true, RestartDelay: 8 * time.Second}
		}
		return fleettest.Behavior{}
	}
	onFastCluster(t, 4, flaps, func(t *testing.T, b *bench) {
		err := b.meddle(time.Hour, v2(0), controller.UpdateOptions{MaxGrowth: 1}, func() {})
		require.True(t, controller.IsUpdateFailed(err), "%v", err)
		assert.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
	})
}

// R43: what another client does is observed, and no fight with it goes on for ever.
func TestWarWithAnotherClientEnds(t *testing.T) {
	for name, meddle := range map[string]func(b *bench, unit fleettest.UnitState){
		"stops":    func(b *bench, unit fleettest.UnitState) { _ = b.cluster.Put(unit.Name, unit.Content, "loaded") },
		"destroys": func(b *bench, unit fleettest.UnitState) { b.cluster.Remove(unit.Name) },
		"replaces": func(b *bench, unit fleettest.UnitState) { _ = b.cluster.Put(unit.Name, service("other"), "launched") },
	} {
		t.Run(name, func(t *testing.T) {
			onFastCluster(t, 4, nil, func(t *testing.T, b *bench) {
				err := b.meddle(1500*time.Millisecond, v2(0), controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}, func() {
					for _, unit := range b.newUnits() {
						meddle(b, unit)
					}
				})
				assert.True(t, controller.IsUpdateFailed(err), "%v", err)
			})
		})
	}
}

// R25: whatever /units leaves out, each slice that the update thinks gone is named.
func TestVanishedSlicesAreAllNamed(t *testing.T) {
	onFastCluster(t, 3, nil, func(t *testing.T, b *bench) {
		wait := in(8*time.Second, func() {
			b.faults.Set(fleettest.On("GET", "/units", fleettest.Always(sayNothing)))
			time.Sleep(4 * time.Second)
			b.faults.Set()
		})
		err := b.update(v2(0), controller.UpdateOptions{ReadySecs: 10})
		wait()
		require.True(t, controller.IsUpdateFailed(err), "%v", err)
		for _, id := range b.sliceIDs() {
			assert.ErrorContains(t, err, id)
		}
	})
}

// R43: a group whose name begins another's name may share units with it, and those are not touched while they are updated.
func TestR43UnitsOfAnOverlappingGroup(t *testing.T) {
	onFastCluster(t, 3, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web-other", 1))
		opts := controller.UpdateOptions{MaxGrowth: 1, MinAlive: 3}
		req := v2(0)
		created, err := b.controller.Update(t.Context(), req, opts)
		require.NoError(t, err)
		assert.True(t, controller.IsGroupBusy(b.try(b.controller.Stop, of("web-app"))))
		overlapping := controller.NewRequest(controller.RequestConfig{Group: "web-app"})
		overlapping.Units = req.Units[:1]
		_, err = b.controller.Update(t.Context(), overlapping, opts)
		assert.True(t, controller.IsGroupBusy(err), "%v", err)
		b.do(b.controller.Stop, of("web-other"))
		require.NoError(t, b.outcome(created, nil))
	})
}
