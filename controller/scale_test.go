package controller_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

func (b *bench) scale(req controller.Request, n int, opts controller.UpdateOptions) error {
	created, err := b.controller.(controller.Scaler).Scale(b.t.Context(), req, n, opts)
	return b.outcome(created, err)
}

func TestScaleGrowsAndShrinks(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		first := b.idsOf("web")
		require.NoError(t, b.scale(of("web"), 5, controller.UpdateOptions{MinAlive: 2}))
		assert.Len(t, b.idsOf("web"), 5)
		assert.Subset(t, b.idsOf("web"), first)
		old, fresh, incomplete := b.sliceContents("web")
		assert.Equal(t, [3]int{5, 0, 0}, [3]int{old, fresh, incomplete})
		require.NoError(t, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning))

		require.NoError(t, b.scale(of("web"), 2, controller.UpdateOptions{MinAlive: 2}))
		assert.Equal(t, first, b.idsOf("web"), "the youngest go first")
		require.NoError(t, b.scale(of("web"), 2, controller.UpdateOptions{}), "there are as many already")
		require.NoError(t, b.scale(of("web"), 1, controller.UpdateOptions{MinAlive: 1}))
		assert.Len(t, b.idsOf("web"), 1)
	})
}

// Those that don't run go before those that do, however old they are.
func TestScaleRemovesWhatDoesNotRunFirst(t *testing.T) {
	inBubble(t, 4, nil, func(t *testing.T, b *bench) {
		ids := b.idsOf("web")
		b.cluster.FailUnit("web-app@" + ids[0] + ".service")
		require.NoError(t, b.client.Stop(t.Context(), "web-app@"+ids[1]+".service"))
		time.Sleep(10 * time.Second)
		require.NoError(t, b.scale(of("web"), 2, controller.UpdateOptions{MinAlive: 2}))
		assert.Equal(t, ids[2:], b.idsOf("web"))
	})
}

// A Scale replaces nothing: slices of another content than the request's stay, as do stopped ones.
func TestScaleLeavesSlicesAsTheyAre(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		ids := b.idsOf("web")
		for _, unit := range []string{"web-app@", "web-log@"} {
			require.NoError(t, b.client.Stop(t.Context(), unit+ids[0]+".service"))
		}
		time.Sleep(10 * time.Second)
		require.NoError(t, b.scale(v2(0), 3, controller.UpdateOptions{}))
		old, fresh, incomplete := b.sliceContents("web")
		assert.Equal(t, [3]int{2, 1, 0}, [3]int{old, fresh, incomplete})
		unit, _ := b.cluster.Unit("web-app@" + ids[0] + ".service")
		assert.Equal(t, "loaded", unit.Desired)
	})
}

func TestScaleKeepsTheBounds(t *testing.T) {
	inBubble(t, 6, nil, func(t *testing.T, b *bench) {
		opts := controller.UpdateOptions{MinAlive: 2}
		check := newBoundsCheck("web", opts, 2)
		b.replay(check)
		b.cluster.OnChange(check.take)
		check.begin()
		require.NoError(t, b.scale(of("web"), 2, opts))
		assert.Empty(t, check.findings)
		assert.Len(t, b.idsOf("web"), 2)
	})
}

// A slice that fails ends the growth; with Rollback what was added goes again.
func TestScaleThatFails(t *testing.T) {
	for _, rollback := range []bool{false, true} {
		inBubble(t, 2, failsFrom(2), func(t *testing.T, b *bench) {
			failure := failureOf(t, b.scale(v2(0), 4, controller.UpdateOptions{MinAlive: 2, Rollback: rollback}))
			assert.Equal(t, rollback, failure.RolledBack)
			old, fresh, incomplete := b.sliceContents("web")
			kept := 1
			if rollback {
				kept = 0
			}
			assert.Equal(t, [3]int{2, kept, 0}, [3]int{old, fresh, incomplete})
		})
	}
}

func TestScaleIsRefused(t *testing.T) {
	inBubble(t, 3, nil, func(t *testing.T, b *bench) {
		require.NoError(t, b.cluster.Put("db.service", service("v1"), "launched"))
		before := b.desires("")
		notAllowed, invalid, notFound := controller.IsUpdateNotAllowed, controller.IsInvalidArgument, controller.IsUnitNotFound
		instance := controller.NewRequest(controller.RequestConfig{Group: "db"})
		instance.Units = []controller.Unit{{Name: "db.service", Content: service("v1")}}
		for name, c := range map[string]struct {
			req  controller.Request
			n    int
			opts controller.UpdateOptions
			is   func(error) bool
			says string
		}{
			"none":                  {of("web"), 0, controller.UpdateOptions{}, invalid, "Destroy removes a group"},
			"slices named":          {of("web", "abc"), 2, controller.UpdateOptions{}, invalid, "no meaning"},
			"two numbers":           {v2(3), 2, controller.UpdateOptions{}, invalid, "DesiredSlices is 3, and 2"},
			"forced":                {of("web"), 2, controller.UpdateOptions{Force: true}, notAllowed, "Force"},
			"too many have to run":  {of("web"), 2, controller.UpdateOptions{MinAlive: 3}, notAllowed, "MinAlive is 3"},
			"nobody's":              {of("nobody"), 2, controller.UpdateOptions{}, notFound, "request names none"},
			"an instance group":     {of("db"), 2, controller.UpdateOptions{}, invalid, "has no slices"},
			"one given with units":  {instance, 2, controller.UpdateOptions{}, invalid, "has no slices"},
			"a negative growth":     {of("web"), 2, controller.UpdateOptions{MaxGrowth: -1}, notAllowed, "MaxGrowth is -1"},
			"a negative slice time": {of("web"), 2, controller.UpdateOptions{SliceTimeout: -1}, notAllowed, "SliceTimeout"},
		} {
			err := b.scale(c.req, c.n, c.opts)
			assert.True(t, c.is(err), "%s: %v", name, err)
			assert.ErrorContains(t, err, c.says, name)
		}
		assert.Equal(t, before, b.desires(""))
	})
}

// Without units, new slices are made of what is there, which has to be one and the same.
func TestScaleOfSlicesThatDiffer(t *testing.T) {
	inBubble(t, 3, nil, func(t *testing.T, b *bench) {
		require.NoError(t, b.cluster.Put("web-app@"+b.idsOf("web")[0]+".service", service("v2"), "launched"))
		time.Sleep(time.Minute)
		err := b.scale(of("web"), 4, controller.UpdateOptions{})
		require.True(t, controller.IsUpdateNotAllowed(err), "%v", err)
		assert.ErrorContains(t, err, "another content than")
		require.NoError(t, b.scale(of("web"), 2, controller.UpdateOptions{}), "for fewer no content is needed")
		require.NoError(t, b.scale(v2(0), 4, controller.UpdateOptions{}), "the request says which")
		assert.Len(t, b.idsOf("web"), 4)
	})
}

// R43: one Update or Scale per group at a time.
func TestR43ScaleMakesBusy(t *testing.T) {
	inBubble(t, 2, nil, func(t *testing.T, b *bench) {
		created, err := b.controller.(controller.Scaler).Scale(t.Context(), of("web"), 4, controller.UpdateOptions{})
		require.NoError(t, err)
		err = b.update(v2(0), controller.UpdateOptions{})
		assert.True(t, controller.IsGroupBusy(err), "%v", err)
		assert.ErrorContains(t, err, created.ID)
		assert.True(t, controller.IsGroupBusy(b.scale(of("web"), 3, controller.UpdateOptions{})))
		assert.True(t, controller.IsGroupBusy(b.try(b.controller.Stop, of("web"))))
		require.NoError(t, b.outcome(created, nil))
		require.NoError(t, b.scale(of("web"), 3, controller.UpdateOptions{}))
	})
}

// A group that is not there is made by a Scale that has its units.
func TestScaleFromNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, fleettest.Config{Timing: fleettest.Measured()})
		defer b.close()
		require.NoError(t, b.scale(v2(0), 3, controller.UpdateOptions{}))
		require.NoError(t, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusRunning))
		assert.Len(t, b.idsOf("web"), 3)
	})
}

// A Scale that was to make no slice has read no content, and makes none when slices go meanwhile.
func TestScaleMakesNothingOfNothing(t *testing.T) {
	inBubble(t, 4, nil, func(t *testing.T, b *bench) {
		created, err := b.controller.(controller.Scaler).Scale(t.Context(), of("web"), 3, controller.UpdateOptions{})
		require.NoError(t, err)
		for _, name := range b.names("web") {
			b.cluster.Remove(name)
		}
		failure := failureOf(t, b.outcome(created, nil))
		assert.ErrorContains(t, failure, "names no units to make others of")
		assert.Empty(t, b.names("web"))
	})
}

// New slices are made of what the call has compared, not of what somebody has put there since.
func TestScaleReadsWhatItHasCompared(t *testing.T) {
	onInterposed(t, 2, nil, func(t *testing.T, b *bench, between *interposed) {
		between.onRead(func(name string) error { return b.cluster.Put(name, service("other"), "launched") })
		assert.ErrorContains(t, b.scale(of("web"), 3, controller.UpdateOptions{}), "changed the content meanwhile")
		assert.Len(t, b.idsOf("web"), 2)
	})
}

// What a failed Scale calls new is of the request's content or, where it names none, made by it.
func TestScaleThatFailsSaysWhatIsNew(t *testing.T) {
	for _, rollback := range []bool{false, true} {
		inBubble(t, 2, failsFrom(2), func(t *testing.T, b *bench) {
			found := b.idsOf("web")
			failure := failureOf(t, b.scale(v2(0), 4, controller.UpdateOptions{MinAlive: 2, Rollback: rollback}))
			assert.Equal(t, found, failure.Old)
			assert.NotContains(t, failure.New, found[0])
		})
		inBubble(t, 2, failsFrom(4), func(t *testing.T, b *bench) {
			require.NoError(t, b.update(v2(0), controller.UpdateOptions{}))
			found := b.idsOf("web")
			failure := failureOf(t, b.scale(of("web"), 4, controller.UpdateOptions{MinAlive: 2, Rollback: rollback}))
			assert.Equal(t, found, failure.Old)
			assert.Len(t, failure.New, map[bool]int{true: 0, false: 1}[rollback])
		})
	}
}

// Where every slice lacks a unit nobody can tell what a new one is to be made of.
func TestScaleOfIncompleteSlices(t *testing.T) {
	inBubble(t, 3, nil, func(t *testing.T, b *bench) {
		ids := b.idsOf("web")
		require.NoError(t, b.cluster.Put("web-cron@"+ids[0]+".service", service("cron"), "launched"))
		require.NoError(t, b.cluster.Put("web-cron@"+ids[1]+".service", service("cron"), "launched"))
		b.cluster.Remove("web-log@" + ids[0] + ".service")
		b.cluster.Remove("web-app@" + ids[1] + ".service")
		time.Sleep(time.Minute)
		before := b.desires("web")
		err := b.scale(of("web"), 4, controller.UpdateOptions{})
		require.True(t, controller.IsUpdateNotAllowed(err), "%v", err)
		assert.ErrorContains(t, err, "no slice on the cluster has all of them")
		assert.Equal(t, before, b.desires("web"))
	})
}
