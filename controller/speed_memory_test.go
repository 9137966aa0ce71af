package controller_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/task"
)

// heapNoise is how much the heap may differ for reasons that have nothing to do with what is tested: the runtime's own.
const heapNoise = 256 << 10

// A controller that waits, and one that is idle, hold after a day what they held after the first wait.
func TestSpeedHeapStaysFlatWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := onBackend(t, newListedFleet(t, request("web", 0)), func(config *controller.Config) { config.WaitTimeout = time.Hour }).filled(10)
		defer b.close()
		wait := func() {
			err := b.controller.WaitForStatus(t.Context(), of("web"), nil, controller.StatusStopped)
			assert.True(t, controller.IsWaitTimeoutReached(err), "%v", err)
		}
		wait()
		before, looks := liveHeap(), b.client.(*listedFleet).looks
		for began := time.Now(); time.Since(began) < watchedTime; {
			wait()
			time.Sleep(time.Hour)
		}
		assert.Greater(t, b.client.(*listedFleet).looks-looks, int(watchedTime/time.Second)/2-100)
		assert.LessOrEqual(t, liveHeap(), before+heapNoise)
	})
}

// R33: so does one that has run many tasks, once there are as many final ones as its service keeps.
func TestSpeedHeapStaysFlatOverTasksR33(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := task.NewMemoryStorageWithOptions(task.MemoryStorageOptions{MaxFinal: 100})
		b := onBackend(t, newListedFleet(t, request("web", 0)), once, func(config *controller.Config) {
			config.TaskService = task.NewTaskService(task.Config{Storage: storage})
		}).filled(1)
		defer b.close()
		stop := func(times int) {
			for range times {
				b.do(b.controller.Stop, of("web"))
			}
		}
		stop(200)
		before := liveHeap()
		stop(heapTasks)
		assert.LessOrEqual(t, liveHeap(), before+heapNoise)
	})
}
