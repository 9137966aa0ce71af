package controller_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
)

// R3: new slices get IDs that nothing near the group uses; where three characters run short, there is a fourth.
func TestSubmitPicksFreeIDsR3(t *testing.T) {
	const alphabet = "abcdef0123456789"
	free := map[string]bool{"a0b": true, "c1d": true, "fff": true}
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend)
		defer b.close()
		for i := range 16 * 16 * 16 {
			id := string([]byte{alphabet[i/256], alphabet[i/16%16], alphabet[i%16]})
			// Half of them are used by another group, which can't be told apart by name.
			name := []string{"web-app@" + id + ".service", "web-2-app@" + id + ".service"}[i%2]
			if !free[id] {
				backend.units[name] = &memoryUnit{hash: "x", desired: "loaded"}
			}
		}
		before := len(backend.units)
		b.do(b.controller.Submit, request("web", 5))
		require.Len(t, backend.units, before+10)
		ids := map[string]int{}
		for _, write := range backend.writes {
			id := write[strings.Index(write, "@")+1 : strings.LastIndex(write, ".")]
			ids[id]++
		}
		require.Len(t, ids, 5, "%v", backend.writes)
		four := 0
		for id, units := range ids {
			assert.Equal(t, 2, units)
			if len(id) == 4 {
				four++
			} else {
				assert.True(t, free[id], id)
			}
		}
		assert.Equal(t, 2, four)
	})
}

// R4, C1, C2, C3: a fault of a unit is told by the call, and nothing has been written, not even of its neighbours.
func TestNothingWrittenC1C2C3R4(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		comment, err := os.ReadFile("../validator/testdata/comment-backslash.service")
		require.NoError(t, err)
		include, err := os.ReadFile("../validator/testdata/include.service")
		require.NoError(t, err)
		long := "[Service]\nExecStart=/bin/echo " + strings.Repeat("x", 2100) + "\n"
		for content, words := range map[string]string{string(comment): "line 5", string(include): "line 1", long: "line 2"} {
			req := request("web", 1)
			req.Units[1].Content = content
			_, err := b.controller.Submit(t.Context(), req)
			_, ok := err.(controller.ValidationError)
			require.True(t, ok, "%T %v", err, err)
			assert.ErrorContains(t, err, words)
			assert.ErrorContains(t, err, "web-log@.service")
			_, err = b.controller.Update(t.Context(), req, controller.UpdateOptions{})
			_, ok = err.(controller.ValidationError)
			require.True(t, ok, "%T %v", err, err)
		}
		assert.Zero(t, b.cluster.Counts())

		split := "[Service]\nExecStart=/bin/echo " + strings.Repeat("x", 1400) + " \\\n" + strings.Repeat("y", 700) + "\n"
		b.do(b.controller.Submit, withContent(request("web", 0, "1"), split))
		b.do(b.controller.Start, of("web"))
		assert.Equal(t, []string{"web-app@1.service launched active/running", "web-log@1.service launched active/running"}, b.states(""))
	})
}

// R8, C7: the same content again is no conflict, and ends with the units loaded; another is refused and changes nothing.
func TestSubmitAgainC7R8(t *testing.T) {
	for name, req := range map[string]controller.Request{
		"instance group": instanceGroup("db-server.service", "db-backup.service"),
		"sliced":         request("db", 0, "1", "2"),
	} {
		for backend, adjust := range map[string]func(*controller.Config){"fleet": nil, "narrow": overNarrow} {
			t.Run(name+" on "+backend, func(t *testing.T) {
				onBench(t, fleettest.Config{Timing: fleettest.Measured()}, adjust, func(t *testing.T, b *bench) {
					b.do(b.controller.Submit, req)
					b.do(b.controller.Start, of("db"))
					running := b.states("")
					assert.Contains(t, running[0], "active/running")

					other := withVersion(req, "v2")
					b.cluster.ResetCounts()
					err := b.try(b.controller.Submit, other)
					require.True(t, controller.IsUnitConflict(err), "%v", err)
					assert.ErrorContains(t, err, strings.Replace(req.Units[0].Name, "@.", "@1.", 1))
					assert.Zero(t, b.wrote())
					assert.Equal(t, running, b.states(""))

					b.do(b.controller.Submit, req)
					for _, state := range b.states("") {
						assert.Contains(t, state, " loaded inactive/dead")
					}
				})
			})
		}
	}
}

// R8: of a unit that no machine has, a narrow backend knows no content. It may be another, so it is not replaced.
func TestSubmitOntoUnknownContentR8(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		b := onBackend(t, backend)
		defer b.close()
		b.do(b.controller.Submit, request("web", 0, "1"))
		backend.lag = time.Hour
		backend.units["web-log@1.service"].since = time.Now()
		writes := len(backend.writes)
		err := b.try(b.controller.Submit, request("web", 0, "1"))
		require.True(t, controller.IsUnitConflict(err), "%v", err)
		assert.ErrorContains(t, err, "web-log@1.service")
		assert.Len(t, backend.writes, writes)
	})
}

// R9: what a call has created before a write failed is destroyed again; what was there before stays.
func TestSubmitTakesBackR9(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 0, "1"))
		b.faults.Set(fleettest.On(http.MethodPut, "web-log@3", fleettest.Always(fleettest.Fail(400, "not in the mood"))))
		err := b.try(b.controller.Submit, request("web", 0, "1", "2", "3", "4"))
		require.Error(t, err)
		assert.Equal(t, []string{"web-app@1.service", "web-log@1.service"}, b.names(""))
		for _, words := range []string{"submit group web: submit web-log@3.service", "not in the mood", "destroyed again", "web-app@2.service"} {
			assert.ErrorContains(t, err, words)
		}
		assert.True(t, fleet.IsInvalidRequest(err))
	})
}

// R9: a write whose answer was lost may have created its unit, so that one is destroyed with the others.
func TestSubmitTakesBackWhatMayBeThereR9(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.faults.Set(fleettest.On(http.MethodPut, "web-log@2", fleettest.Always(fleettest.LoseAnswer())))
		err := b.try(b.controller.Submit, request("web", 0, "1", "2"))
		require.True(t, fleet.IsTemporary(err), "%v", err)
		assert.ErrorContains(t, err, "submit web-log@2.service")
		assert.Empty(t, b.names(""))
	})
}

// R9: where one can't be taken back the others are all the same; the error has both, and says what to look after.
func TestSubmitTakingBackFailsR9(t *testing.T) {
	oneByOne := func(config *controller.Config) { config.Concurrency = 1 }
	onBench(t, fleettest.Config{}, oneByOne, func(t *testing.T, b *bench) {
		b.faults.Set(
			fleettest.On(http.MethodPut, "web-log@3", fleettest.Always(fleettest.Fail(400, "not in the mood"))),
			fleettest.On(http.MethodDelete, "web-app@1", fleettest.Always(fleettest.Fail(400, "mine"))),
		)
		err := b.try(b.controller.Submit, request("web", 0, "1", "2", "3", "4"))
		for _, words := range []string{"submit web-log@3.service", "not in the mood", "look after web-app@1.service: ", "mine"} {
			assert.ErrorContains(t, err, words)
		}
		assert.Equal(t, []string{"web-app@1.service"}, b.names(""))
	})
}

// R6, R9: a Submit that Cancel, Shutdown or Close ends in the middle of its writes is taken back all the same, and none
// of the three leaves before that.
func TestEndedSubmitIsTakenBackR6R9(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, b *bench, id string){
		"cancel": func(t *testing.T, b *bench, id string) {
			require.NoError(t, b.tasks.(task.Canceler).Cancel(t.Context(), id))
			_, err := b.controller.WaitForTask(t.Context(), id, nil)
			require.NoError(t, err)
		},
		"shutdown": func(t *testing.T, b *bench, _ string) {
			require.NoError(t, b.tasks.(task.Shutdowner).Shutdown(t.Context()))
		},
		"close": func(t *testing.T, b *bench, _ string) { b.close() },
	} {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
				b.faults.Set(fleettest.On(http.MethodPut, "web-log@3", fleettest.Always(fleettest.Hang())))
				created, err := b.controller.Submit(t.Context(), request("web", 0, "1", "2", "3"))
				require.NoError(t, err)
				synctest.Wait()
				require.Len(t, b.names(""), 5)
				end(t, b, created.ID)
				assert.Empty(t, b.names(""))
				synctest.Wait()
				final, err := b.tasks.FetchState(t.Context(), created.ID)
				require.NoError(t, err)
				require.True(t, task.HasFailedStatus(final))
				require.ErrorIs(t, final.Error, context.Canceled)
				assert.ErrorContains(t, final.Error, "destroyed again")
			})
		})
	}
}

// R9, R16, C6: a wait that runs out leaves the units to be looked at, names them, and says why they are not there.
func TestSubmitTimeoutLeavesUnitsC6R9R16(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Measured()}, waitSoon, func(t *testing.T, b *bench) {
		req := request("web", 0, "1")
		req.Units[1].Content += "\n[X-Fleet]\nMachineMetadata=zone=nowhere\n"
		err := b.try(b.controller.Submit, req)
		require.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
		assert.ErrorContains(t, err, "20s")
		assert.ErrorContains(t, err, "web-log@1.service is inactive (desired loaded), and no machine took it")
		assert.NotContains(t, err.Error(), "web-app@1.service is")
		assert.ErrorContains(t, err, "left to be looked at: web-app@1.service, web-log@1.service")
		assert.Len(t, b.names(""), 2)

		statuses, err := b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		require.Len(t, statuses, 2)
		assert.Empty(t, statuses[1].Machine)
	})
}

// R14, C11: slices that were destroyed and are created again under the same IDs are not there before the machines report
// their new content; where the backend doesn't know contents, the reported hash stands.
func TestCreatedAgainC11R14(t *testing.T) {
	timing := fleettest.Measured()
	timing.Load = 10 * time.Second
	onBench(t, fleettest.Config{Timing: timing, Machines: fleettest.DefaultMachines(1)}, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 0, "1", "2", "3"))
		time.Sleep(2 * timing.Load)
		b.do(b.controller.Destroy, of("web"))
		b.do(b.controller.Submit, withContent(request("web", 0, "1", "2", "3"), service("v2")))
		statuses, err := b.controller.GetStatus(t.Context(), of("web"))
		require.NoError(t, err)
		require.Len(t, statuses, 6)
		want, err := fleet.UnitHash(service("v2"))
		require.NoError(t, err)
		for _, status := range statuses {
			assert.Equal(t, want, status.Machine[0].UnitHash)
		}
	})
}

// A backend without contents has nothing to hold a reported hash against: there Submit waits for none.
func TestCreatedAgainOverNarrowBackendR14(t *testing.T) {
	timing := fleettest.Timing{Publish: time.Second, StateLinger: time.Hour} // the old entry outlasts the wait
	onBench(t, fleettest.Config{Timing: timing, Machines: fleettest.DefaultMachines(1)}, overNarrow, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 0, "1"))
		time.Sleep(time.Minute)
		b.do(b.controller.Destroy, of("web"))
		b.do(b.controller.Submit, withContent(request("web", 0, "1"), service("v2")))
	})
}

// At most two writes a unit, and as many listings for 200 slices as for 10 where a listing is one page; a listing over
// several pages has to be confirmed once (R20a).
func TestRequestCountsR19(t *testing.T) {
	counts := func(slices, pageLimit int) fleettest.Counts {
		var counts fleettest.Counts
		onBench(t, fleettest.Config{PageLimit: pageLimit}, nil, func(t *testing.T, b *bench) {
			b.do(b.controller.Submit, request("web", slices))
			b.do(b.controller.Start, of("web"))
			counts = b.cluster.Counts()
		})
		return counts
	}
	few, many, paged := counts(10, 1000), counts(200, 1000), counts(200, 100)
	assert.Equal(t, 2*2*10, few.Puts)
	assert.Equal(t, 2*2*200, many.Puts)
	assert.Equal(t, 2*2*200, paged.Puts)
	assert.Equal(t, few.UnitListings, many.UnitListings)
	assert.Equal(t, few.StateListings, many.StateListings)
	assert.Equal(t, few.UnitListings+1, paged.UnitListings)
	for _, c := range []fleettest.Counts{few, many, paged} {
		assert.Zero(t, c.UnitReads)
		assert.Zero(t, c.StateFiltered)
		assert.Zero(t, c.Deletes)
	}
}

// An instance group has one copy, and a slice's ID stands where its place is.
func TestSubmitNames(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, instanceGroup("db-server.service"))
		b.do(b.controller.Submit, request("web", 0, "x1", "x2"))
		assert.Equal(t, []string{"db-server.service", "web-app@x1.service", "web-app@x2.service", "web-log@x1.service",
			"web-log@x2.service"}, b.names(""))
		for _, bad := range []controller.Request{withSlices(instanceGroup("db-server.service"), "1"), {}, request("web", 2, "1"), request("web", 0)} {
			_, err := b.controller.Submit(t.Context(), bad)
			_, ok := err.(controller.ValidationError)
			assert.True(t, ok, "%T %v", err, err)
		}
		two := instanceGroup("db-server.service")
		two.DesiredSlices = 2
		_, err := b.controller.Submit(t.Context(), two)
		assert.True(t, controller.IsInvalidArgument(err), "%v", err)
		assert.Len(t, b.names(""), 5, fmt.Sprint(b.names("")))
	})
}

// R4: fleet's API takes units that its agents don't run, or that keep an agent from running anything.
func TestUnitsThatNoAgentRunsR4(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		req := request("web", 1)
		req.Units = append(req.Units, controller.Unit{Name: "web-all@.target", Content: "[Unit]\nDescription=all\n"})
		_, err := b.controller.Submit(t.Context(), req)
		require.True(t, controller.IsInvalidArgument(err), "%v", err)
		assert.ErrorContains(t, err, "not run by fleet's agents")
		assert.Empty(t, b.names("web"))
	})
}
