package controller_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
)

// busyFleet counts how many stops are under way.
type busyFleet struct {
	*memoryFleet
	fails string

	mutex            sync.Mutex
	now, most, begun int
}

func (f *busyFleet) Stop(ctx context.Context, name string) error {
	f.mutex.Lock()
	f.now++
	f.begun++
	f.most = max(f.most, f.now)
	f.mutex.Unlock()
	defer func() {
		f.mutex.Lock()
		f.now--
		f.mutex.Unlock()
	}()
	if name == f.fails {
		return errors.New("no such luck")
	}
	time.Sleep(time.Second)
	return f.memoryFleet.Stop(ctx, name)
}

// advisingFleet says how many of its operations are best done side by side.
type advisingFleet struct {
	*busyFleet
	advice int
}

func (f advisingFleet) Concurrency() int { return f.advice }

// R7, R20: as many at a time as the backend advises, unless Concurrency says otherwise; advice that is none is not taken.
func TestSideBySideAsAdvisedR7(t *testing.T) {
	for _, c := range []struct{ advice, config, want int }{{20, 0, 20}, {20, 3, 3}, {2, 0, 2}, {0, 0, 8}, {-1, 0, 8}} {
		synctest.Test(t, func(t *testing.T) {
			backend := advisingFleet{&busyFleet{memoryFleet: newMemoryFleet()}, c.advice}
			b := onBackend(t, backend, func(config *controller.Config) { config.Concurrency = c.config })
			defer b.close()
			b.do(b.controller.Submit, request("web", 15))
			b.do(b.controller.Stop, of("web"))
			assert.Equal(t, c.want, backend.most, "%+v", c)
		})
	}
}

// R7: eight at a time, or as many as Concurrency says.
func TestSideBySideR7(t *testing.T) {
	for _, concurrency := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			backend := &busyFleet{memoryFleet: newMemoryFleet()}
			b := onBackend(t, backend, func(config *controller.Config) { config.Concurrency = concurrency })
			defer b.close()
			b.do(b.controller.Submit, request("web", 15))
			b.do(b.controller.Stop, of("web"))
			want := concurrency
			if want == 0 {
				want = 8
			}
			assert.Equal(t, want, backend.most)
			assert.Equal(t, 30, backend.begun)
		})
	}
}

// R7: after the first error nothing more is begun; the error names the unit, and what had been done to the others.
func TestStopsAtFirstErrorR7(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := &busyFleet{memoryFleet: newMemoryFleet(), fails: "web-app@04.service"}
		b := onBackend(t, backend)
		defer b.close()
		var ids []string
		for i := range 15 {
			ids = append(ids, fmt.Sprintf("%02d", i))
		}
		b.do(b.controller.Submit, request("web", 0, ids...))
		err := b.try(b.controller.Stop, of("web"))
		require.Error(t, err)
		assert.LessOrEqual(t, backend.begun, 8)
		assert.ErrorContains(t, err, "stop group web: stop web-app@04.service: no such luck")
		_, others, _ := strings.Cut(err.Error(), "(done: ")
		done, untried, _ := strings.Cut(others, "; not tried: ")
		stopped := 0
		for _, write := range backend.writes {
			if name, isStop := strings.CutPrefix(write, "stop "); isStop {
				stopped++
				assert.Contains(t, done, name)
				assert.NotContains(t, untried, name)
			}
		}
		assert.Equal(t, backend.begun-1, stopped)
		assert.Contains(t, untried, fmt.Sprintf(" and %d more)", 30-backend.begun-20))
	})
}
