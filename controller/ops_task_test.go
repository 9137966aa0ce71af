package controller_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
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

// R5: what the caller does to its request after the call, or to the task that it got, is no matter of the task's.
func TestNothingSharedR5(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		req := request("web", 0, "1", "2")
		created, err := b.controller.Submit(t.Context(), req)
		require.NoError(t, err)
		id := created.ID
		req.SliceIDs[0], req.SliceIDs[1] = "x", "y"
		req.Units[0] = controller.Unit{Name: "web-other@.service", Content: service("v3")}
		*created = task.Task{}
		require.NoError(t, b.outcome(&task.Task{ID: id}, nil))
		assert.Equal(t, []string{"web-app@1.service", "web-app@2.service", "web-log@1.service", "web-log@2.service"}, b.names(""))

		final, err := b.controller.WaitForTask(t.Context(), id, nil)
		require.NoError(t, err)
		final.FinalStatus = task.StatusFailed
		again, err := b.controller.WaitForTask(t.Context(), id, nil)
		require.NoError(t, err)
		assert.Equal(t, task.StatusSucceeded, again.FinalStatus)

	})
}

// R5: two who are served by one look share no memory with each other.
func TestStatusesAreCopiesR5(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("loaded", "web@1.service")
		b.faults.Set(fleettest.Always(fleettest.Latency(time.Second)))
		answers := make([][]fleet.UnitStatus, 3)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				var err error
				answers[i], err = b.controller.GetStatus(t.Context(), of("web"))
				assert.NoError(t, err)
			})
		}
		all.Wait()
		require.Equal(t, 2, b.cluster.Counts().UnitListings, "the second and the third share one")
		answers[1][0].Machine[0].ID, answers[1][0].Machine[0].IP[15] = "mine", 99
		assert.Equal(t, answers[0], answers[2])
	})
}

// R5, R42: no operation changes the slices that it is given, nor keeps them.
func TestRequestsStayAsTheyAreR5R42(t *testing.T) {
	onBench(t, fleettest.Config{}, func(config *controller.Config) { config.Stamp = true }, func(t *testing.T, b *bench) {
		req := request("web", 0, "2", "1")
		req.Units[0], req.Units[1] = req.Units[1], req.Units[0]
		want := request("web", 0, "2", "1")
		want.Units[0], want.Units[1] = want.Units[1], want.Units[0]
		b.do(b.controller.Submit, req)
		for _, op := range []operation{b.controller.Start, b.controller.Stop} {
			b.do(op, req)
		}
		_, err := b.controller.GetStatus(t.Context(), req)
		require.NoError(t, err)
		_, _, err = b.controller.GroupNeedsUpdate(t.Context(), req)
		require.NoError(t, err)
		_, err = b.controller.ExtendWithExistingSliceIDs(req)
		require.NoError(t, err)
		require.NoError(t, b.controller.WaitForStatus(t.Context(), req, nil, controller.StatusStopped))
		err = b.update(req, controller.UpdateOptions{})
		require.NoError(t, err) // it launches them
		b.do(b.controller.Destroy, req)
		assert.Equal(t, want, req)
	})
}

// R5: faults of the request come from the call, what only the cluster can tell from the task, before its first write.
func TestWhereFaultsComeFromR5(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("loaded", "web@1.service", "web@2.service")
		for verb, op := range changers(b.controller) {
			_, err := op(t.Context(), named("web", "db@.service"))
			faults, ok := err.(controller.ValidationError)
			require.True(t, ok, "%s: %T %v", verb, err, err)
			assert.True(t, faults.Contains(controller.IsBadUnitPrefix))

			for group, c := range map[string]struct {
				req               controller.Request
				notFound, noSlice bool
			}{
				"nothing of the group":  {of("nothing"), true, false},
				"one slice missing":     {of("web", "1", "3"), false, true},
				"all slices missing":    {of("web", "3", "4"), true, true},
				"nothing of the unit":   {named("web", "web-x@.service"), true, false},
				"group without a slice": {of("nothing", "1"), true, true},
			} {
				created, err := op(t.Context(), c.req)
				require.NoError(t, err)
				err = b.outcome(created, nil)
				assert.Equal(t, c.notFound, controller.IsUnitNotFound(err), "%s %s: %v", verb, group, err)
				assert.Equal(t, c.noSlice, controller.IsUnitSliceNotFound(err), "%s %s: %v", verb, group, err)
				assert.ErrorContains(t, err, verb+" group "+c.req.Group)
			}
		}
		assert.Equal(t, "web@1.service=loaded web@2.service=loaded", b.desired())
		assert.Zero(t, b.wrote())
	})
}

// A Start that names units wants each of them in each slice; Stop and Destroy take what is there.
func TestNamedUnitsMissing(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("loaded", "web-a@1.service", "web-b@1.service", "web-a@2.service")
		req := named("web", "web-a@.service", "web-b@.service")
		err := b.try(b.controller.Start, req)
		require.True(t, controller.IsUnitNotFound(err), "%v", err)
		assert.ErrorContains(t, err, "web-b@2.service")
		assert.NotContains(t, err.Error(), "web-b@1.service")
		assert.Zero(t, b.wrote())

		b.do(b.controller.Start, withSlices(req, "1"))
		assert.Equal(t, "web-a@1.service=launched web-a@2.service=loaded web-b@1.service=launched", b.desired())
		b.do(b.controller.Stop, req)
		assert.Equal(t, "web-a@1.service=loaded web-a@2.service=loaded web-b@1.service=loaded", b.desired())
		b.do(b.controller.Destroy, req)
		assert.Empty(t, b.names(""))
	})
}

// R6, C17: the end of the caller's context after the call is not the end of the task.
func TestCallerLeavesC17R6(t *testing.T) {
	onBench(t, fleettest.Config{Timing: fleettest.Measured()}, nil, func(t *testing.T, b *bench) {
		ops := []operation{b.controller.Submit, b.controller.Start, b.controller.Stop, b.controller.Destroy}
		for i, op := range ops {
			req := of("web")
			if i == 0 {
				req = request("web", 2)
			}
			ctx, cancel := context.WithCancel(t.Context())
			created, err := op(ctx, req)
			require.NoError(t, err)
			cancel()
			require.NoError(t, b.outcome(created, nil))
		}
		assert.Empty(t, b.names(""))
	})
}

// contextFleet notes a value of the contexts that it is called with.
type contextFleet struct {
	*memoryFleet
	mutex  sync.Mutex
	values []any
}

type valueKey struct{}

func (f *contextFleet) Submit(ctx context.Context, name, content string) error {
	f.mutex.Lock()
	f.values = append(f.values, ctx.Value(valueKey{}), ctx.Value(task.ContextTaskID))
	f.mutex.Unlock()
	return f.memoryFleet.Submit(ctx, name, content)
}

// R6: the caller's context carries values into the task.
func TestContextValuesR6(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := &contextFleet{memoryFleet: newMemoryFleet()}
		b := onBackend(t, backend)
		defer b.close()
		created, err := b.controller.Submit(context.WithValue(t.Context(), valueKey{}, "hello"), instanceGroup("db.service"))
		require.NoError(t, b.outcome(created, err))
		assert.Equal(t, []any{"hello", created.ID}, backend.values)
	})
}

// R6: a cancelled wait ends its task as failed, with the context's error, and the units stay.
func TestCancelledWaitR6(t *testing.T) {
	never := func(fleettest.Start) fleettest.Behavior { return fleettest.Behavior{StartDelay: time.Hour} }
	onBench(t, fleettest.Config{Behave: never}, nil, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 1))
		created, err := b.controller.Start(t.Context(), of("web"))
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.NoError(t, b.tasks.(task.Canceler).Cancel(t.Context(), created.ID))
		began := time.Now()
		err = b.outcome(created, nil)
		require.ErrorIs(t, err, context.Canceled)
		assert.False(t, controller.IsWaitTimeoutReached(err))
		assert.ErrorContains(t, err, "start group web")
		assert.Zero(t, time.Since(began))
		assert.Len(t, b.names(""), 2)
	})
}

// R6: an expired context ends the call, and nothing has begun.
func TestExpiredContextR6(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("loaded", "web@1.service")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ops := changers(b.controller)
		ops["submit"] = func(ctx context.Context, req controller.Request) (*task.Task, error) {
			return b.controller.Submit(ctx, request("web", 1))
		}
		ops["update"] = func(ctx context.Context, req controller.Request) (*task.Task, error) {
			return b.controller.Update(ctx, request("web", 1), controller.UpdateOptions{})
		}
		ops["get the status"] = func(ctx context.Context, req controller.Request) (*task.Task, error) {
			_, err := b.controller.GetStatus(ctx, req)
			return nil, err
		}
		ops["wait for the status"] = func(ctx context.Context, req controller.Request) (*task.Task, error) {
			return nil, b.controller.WaitForStatus(ctx, req, nil, controller.StatusRunning)
		}
		for verb, op := range ops {
			created, err := op(ctx, of("web"))
			assert.Nil(t, created)
			require.ErrorIs(t, err, context.Canceled, verb)
			assert.ErrorContains(t, err, verb+" ")
			assert.ErrorContains(t, err, "group web")
		}
		assert.Equal(t, "web@1.service=loaded", b.desired())
	})
}

// C18: a backend that panics fails the one task, and neither the process nor the others.
func TestPanicInAWriteC18R6(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		backend.before = func(method, name string) error {
			if method == "submit" && name == "web-app@1.service" {
				panic("out of cheese")
			}
			return nil
		}
		logs := &logLines{}
		b := onBackend(t, backend, func(config *controller.Config) { config.Logger = logs })
		defer b.close()
		other, err := b.controller.Submit(t.Context(), request("db", 2))
		require.NoError(t, err)
		err = b.try(b.controller.Submit, request("web", 0, "1"))
		require.Error(t, err)
		assert.ErrorContains(t, err, "submit group web: submit web-app@1.service: panic: out of cheese")
		assert.NotContains(t, err.Error(), "goroutine ", "a stack belongs into the log")
		assert.Contains(t, logs.text(), "CRITICAL")
		assert.Contains(t, logs.text(), "goroutine ")
		assert.Contains(t, logs.text(), "ops_task_test.go")
		require.NoError(t, b.outcome(other, nil))
	})
}

// C18: so does one that panics in a read, which serves others too.
func TestPanicInAReadC18R6(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newMemoryFleet()
		logs := &logLines{}
		b := onBackend(t, backend, func(config *controller.Config) { config.Logger = logs })
		defer b.close()
		b.do(b.controller.Submit, request("web", 1))
		backend.before = func(method, _ string) error {
			if method == "list" {
				panic(errors.New("out of cheese"))
			}
			return nil
		}
		_, err := b.controller.GetStatus(t.Context(), of("web"))
		require.Error(t, err)
		assert.ErrorContains(t, err, "out of cheese")
		assert.NotContains(t, err.Error(), "goroutine ", "a stack belongs into the log")
		assert.Contains(t, logs.text(), "goroutine ")
		require.ErrorContains(t, b.try(b.controller.Stop, of("web")), "out of cheese")
		require.ErrorContains(t, b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusStopped), "out of cheese")
		_, err = b.controller.ExtendWithExistingSliceIDs(of("web"))
		require.ErrorContains(t, err, "out of cheese")
		backend.before = nil
		b.do(b.controller.Stop, of("web"))
	})
}

// The backend's own words are not said twice.
func TestErrorNamesUnitOnceR34(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("loaded", "web@1.service")
		b.faults.Set(fleettest.On(http.MethodPut, "", fleettest.Always(fleettest.Fail(400, "no"))))
		err := b.try(b.controller.Start, of("web"))
		assert.EqualError(t, err, "start group web: start web@1.service: PUT /fleet/v1/units/web@1.service: 400 Bad Request: no")
	})
}

// R34, R36: contents appear in no line above DEBUG, and an error that is returned is not logged as well.
func TestWhatIsLoggedR34R36(t *testing.T) {
	logs := &logLines{}
	onBench(t, fleettest.Config{}, func(config *controller.Config) { config.Logger = logs }, func(t *testing.T, b *bench) {
		b.do(b.controller.Submit, request("web", 2))
		b.do(b.controller.Start, of("web"))
		require.NoError(t, b.update(withVersion(request("web", 0), "v2"), controller.UpdateOptions{}))
		require.Error(t, b.try(b.controller.Submit, withSlices(withVersion(request("web", 0), "v3"), firstSlice(b))))
		require.Error(t, b.try(b.controller.Start, of("nothing")))
		b.do(b.controller.Stop, of("web"))
		b.do(b.controller.Destroy, of("web"))
		for line := range strings.SplitSeq(logs.text(), "\n") {
			level, _, _ := strings.Cut(line, " ")
			assert.Contains(t, []string{"DEBUG", "INFO", "NOTICE"}, level, line)
			if level != "DEBUG" {
				assert.NotContains(t, line, "/bin/serve")
			}
		}
		for _, words := range []string{"submit group web", "start group web", "update group web", "stop group web", "destroy group web"} {
			assert.Contains(t, logs.text(), words)
		}
	})
}

// firstSlice is the ID of the first of web's slices.
func firstSlice(b *bench) string {
	name := b.names("web-app@")[0]
	return strings.TrimSuffix(strings.TrimPrefix(name, "web-app@"), ".service")
}

// R6: after the task service's Shutdown an operation is refused by its call, and Close does not wait for it.
func TestShutDownServiceR6(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		b.put("loaded", "web@1.service")
		require.NoError(t, b.tasks.(task.Shutdowner).Shutdown(t.Context()))
		for verb, op := range changers(b.controller) {
			created, err := op(t.Context(), of("web"))
			assert.Nil(t, created)
			require.True(t, task.IsShutdown(err), "%v", err)
			assert.ErrorContains(t, err, verb+" group web")
		}
		_, err := b.controller.Update(t.Context(), request("db", 1), controller.UpdateOptions{})
		require.True(t, task.IsShutdown(err), "%v", err)
		_, err = b.controller.Update(t.Context(), request("db", 1), controller.UpdateOptions{})
		require.True(t, task.IsShutdown(err), "the group is free again: %v", err)
		assert.Equal(t, "web@1.service=loaded", b.desired())
	})
}
