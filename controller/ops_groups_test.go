package controller_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

const nobodysStamp = "\n[X-Squadron]\nGroup=nobody\n"

// R1: neither an operation on web nor a look at it touches webhook.
func TestGroupPrefixR1(t *testing.T) {
	for _, verb := range []string{"start", "stop", "destroy"} {
		t.Run(verb, func(t *testing.T) {
			onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
				desired := map[string]string{"start": "loaded", "stop": "launched", "destroy": "launched"}[verb]
				after := map[string]string{"start": "launched", "stop": "loaded"}[verb]
				b.put(desired, "web-app@1.service", "webhook-app@1.service", "webhook.service", "web2-app@1.service")
				b.do(changers(b.controller)[verb], of("web"))
				for _, name := range []string{"webhook-app@1.service", "webhook.service", "web2-app@1.service"} {
					unit, found := b.cluster.Unit(name)
					require.True(t, found, name)
					assert.Equal(t, desired, unit.Desired, name)
				}
				unit, found := b.cluster.Unit("web-app@1.service")
				assert.Equal(t, verb != "destroy", found)
				assert.Equal(t, after, unit.Desired)
			})
		})
	}
}

// R1: where a unit carries a stamp, the stamp decides, whatever its name; where the request names its units, only those
// bases match, and only those of the group.
func TestStampDecidesR1(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("launched", "web-a@1.service", "web-b@1.service")
		require.NoError(t, b.cluster.Put("web-c@1.service", service("v1")+nobodysStamp, "launched"))
		require.NoError(t, b.cluster.Put("other@1.service", service("v1")+"\n[X-Squadron]\nGroup=web\n", "launched"))

		statuses, err := b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		assert.Equal(t, []string{"other@1.service", "web-a@1.service", "web-b@1.service"}, namesOf(statuses))

		b.do(b.controller.Stop, of("web"))
		assert.Equal(t, "other@1.service=loaded web-a@1.service=loaded web-b@1.service=loaded web-c@1.service=launched", b.desired())

		b.do(b.controller.Start, named("web", "web-a@.service"))
		assert.Equal(t, "other@1.service=loaded web-a@1.service=launched web-b@1.service=loaded web-c@1.service=launched", b.desired())

		err = b.try(b.controller.Destroy, named("web", "web-c@.service"))
		assert.True(t, controller.IsUnitNotFound(err), "%v", err)
		assert.Len(t, b.names(""), 4)
	})
}

// R1: with Config.Stamp the units carry the group's stamp, and are compared with it: the same call again is no conflict,
// and nothing needs an update. Two groups whose names can't be told apart are, by their stamps.
func TestStampR1(t *testing.T) {
	stamp := func(config *controller.Config) { config.Stamp = true }
	onBench(t, fleettest.Config{}, stamp, func(t *testing.T, b *bench) {
		req := request("web", 0, "1", "2")
		given := req.Units[0].Content
		b.do(b.controller.Submit, req)
		b.do(b.controller.Submit, req)
		assert.Equal(t, given, req.Units[0].Content)
		unit, _ := b.cluster.Unit("web-app@1.service")
		assert.Contains(t, unit.Content, "[X-Squadron]\nGroup=web\n")
		_, needed, err := b.controller.GroupNeedsUpdate(t.Context(), req)
		require.NoError(t, err)
		assert.False(t, needed)

		b.do(b.controller.Submit, request("web-2", 0, "1", "3"))
		b.do(b.controller.Start, of("web", "1"))
		assert.Equal(t, "web-2-app@1.service=loaded web-2-app@3.service=loaded web-2-log@1.service=loaded "+
			"web-2-log@3.service=loaded web-app@1.service=launched web-app@2.service=loaded web-log@1.service=launched "+
			"web-log@2.service=loaded", b.desired())
	})
}

// R1: without Config.Stamp the cluster gets what the caller passed.
func TestNoStampByDefaultR1(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 0, "1"))
		unit, _ := b.cluster.Unit("web-app@1.service")
		assert.Equal(t, service("v1"), unit.Content)
	})
}

// R1: a unit with the stamp of another group would never be found again by this one.
func TestForeignStampIsRefusedR1(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		stamping := b.newController(func(config *controller.Config) { config.Stamp = true })
		defer func() { require.NoError(t, stamping.(io.Closer).Close()) }()
		req := withContent(request("web", 1), service("v1")+nobodysStamp)
		for _, c := range []controller.Controller{b.controller, stamping} {
			_, err := c.Submit(t.Context(), req)
			faults, ok := err.(controller.ValidationError)
			require.True(t, ok, "%T %v", err, err)
			assert.Len(t, faults.CausingErrors, 2)
			assert.True(t, controller.IsInvalidArgument(err))
			assert.ErrorContains(t, err, "group nobody")
			assert.ErrorContains(t, err, "web-app@.service")
		}
		assert.Empty(t, b.names(""))
	})
}

// R1a, C4: what can't be one group is not touched by a request that names no units, with slice IDs or without.
func TestAmbiguousGroupC4R1a(t *testing.T) {
	names := []string{"test-group-unit@2fb.service", "test-group-unit@3f1.service", "test-group-2-unit@438.service"}
	for _, verb := range []string{"start", "stop", "destroy"} {
		t.Run(verb, func(t *testing.T) {
			onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
				b.put(map[string]string{"start": "loaded"}[verb]+map[string]string{"stop": "launched", "destroy": "launched"}[verb], names...)
				before := b.desired()
				b.cluster.ResetCounts()
				for _, req := range []controller.Request{of("test-group"), of("test-group", "2fb")} {
					err := b.try(changers(b.controller)[verb], req)
					require.True(t, controller.IsAmbiguousGroup(err), "%v", err)
					assert.ErrorContains(t, err, "test-group-unit@.service")
					assert.ErrorContains(t, err, "test-group-2-unit@.service")
					assert.ErrorContains(t, err, verb+" group test-group")
				}
				assert.Equal(t, before, b.desired())
				assert.Zero(t, b.wrote())

				b.do(changers(b.controller)[verb], named("test-group", "test-group-unit@.service"))
				other, found := b.cluster.Unit(names[2])
				assert.True(t, found)
				assert.Contains(t, before, other.Name+"="+other.Desired)
				assert.Equal(t, verb != "destroy", len(b.names("test-group-unit")) == 2)
				if verb != "destroy" {
					for _, name := range names[:2] {
						unit, _ := b.cluster.Unit(name)
						assert.NotContains(t, before, name+"="+unit.Desired)
					}
				}
			})
		})
	}
}

// R1a: a request that names its units means them, whatever they have in common.
func TestNamedUnitsAreNotAmbiguousR1a(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("launched", "web-app@1.service", "web-2-app@2.service", "web-x@3.service")
		b.do(b.controller.Stop, named("web", "web-app@.service", "web-2-app@.service"))
		assert.Equal(t, "web-2-app@2.service=loaded web-app@1.service=loaded web-x@3.service=launched", b.desired())
	})
}

// R1a: sliced and unsliced units are no one group; unsliced ones alone are; looking needs no such certainty.
func TestMixedGroupR1a(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("launched", "web-app@1.service", "web-db.service")
		err := b.try(b.controller.Stop, of("web"))
		assert.True(t, controller.IsAmbiguousGroup(err), "%v", err)
		statuses, err := b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		assert.Len(t, statuses, 2)
		b.do(b.controller.Stop, named("web", "web-db.service"))
		assert.Equal(t, "web-app@1.service=launched web-db.service=loaded", b.desired())

		b.put("launched", "db-a.service", "db-2-b.service")
		b.do(b.controller.Stop, of("db"))
		assert.Equal(t, "db-2-b.service=loaded db-a.service=loaded web-app@1.service=launched web-db.service=loaded", b.desired())
	})
}

// R2, C16: a slice is matched by its exact ID, for every suffix.
func TestExactSliceC16R2(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("launched", "web@1.service", "web@11.service", "web@1.socket", "web@11.socket", "web@21.service", "web@21.socket")
		b.do(b.controller.Stop, of("web", "1"))
		assert.Equal(t, "web@1.service=loaded web@1.socket=loaded web@11.service=launched web@11.socket=launched "+
			"web@21.service=launched web@21.socket=launched", b.desired())
		statuses, err := b.controller.GetStatus(t.Context(), of("web", "1", "11"))
		require.NoError(t, err)
		require.Len(t, statuses, 4)
		grouped, err := controller.UnitStatusList(statuses).Group()
		require.NoError(t, err)
		assert.Len(t, grouped, 2)
	})
}

// R2, C15: slice IDs with dots, suffixes other than service, escaped characters.
func TestOddNamesC15R2(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("loaded", "ovs@10.0.0.7.service", "ovs@10.0.0.8.service", "web@a-b.timer", `srv-a\x2db@1.service`)
		for group, want := range map[string][]string{"ovs": {"10.0.0.7", "10.0.0.8"}, "web": {"a-b"}, "srv": {"1"}} {
			extended, err := b.controller.ExtendWithExistingSliceIDs(of(group))
			require.NoError(t, err)
			assert.Equal(t, want, extended.SliceIDs)
		}
		b.do(b.controller.Start, of("ovs", "10.0.0.7"))
		b.do(b.controller.Start, of("web", "a-b"))
		b.do(b.controller.Start, named("srv", `srv-a\x2db@.service`))
		assert.Equal(t, `ovs@10.0.0.7.service=launched ovs@10.0.0.8.service=loaded srv-a\x2db@1.service=launched web@a-b.timer=launched`,
			b.desired())
	})
}
