package task

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func setTask(t require.TestingT, s Storage, taskID string, status FinalStatus) {
	require.NoError(t, s.Set(&Task{ID: taskID, FinalStatus: status}))
}

// known reports whether the storage has the task, and that nothing but IsTaskObjectNotFound tells that it hasn't.
func known(t require.TestingT, s Storage, taskID string) bool {
	got, err := s.Get(taskID)
	if err == nil {
		assert.Equal(t, taskID, got.ID)
		return true
	}
	assert.True(t, IsTaskObjectNotFound(err))
	return false
}

func TestR33FinalTasksAreBoundedInNumber(t *testing.T) {
	s := NewMemoryStorageWithOptions(MemoryStorageOptions{MaxFinal: 2})
	for i := range 5 {
		setTask(t, s, fmt.Sprintf("running-%d", i), "")
	}
	for i := range 5 {
		setTask(t, s, fmt.Sprintf("final-%d", i), StatusSucceeded)
	}
	setTask(t, s, "final-3", StatusSucceeded) // once more: keeps its place
	for i := range 5 {
		assert.True(t, known(t, s, fmt.Sprintf("running-%d", i)))
		assert.Equal(t, i >= 3, known(t, s, fmt.Sprintf("final-%d", i)), i)
	}
	setTask(t, s, "running-0", StatusFailed)
	assert.False(t, known(t, s, "final-3"))
	assert.True(t, known(t, s, "running-0"))
}

func TestR33FinalTasksAreBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewMemoryStorageWithOptions(MemoryStorageOptions{MaxAge: time.Hour})
		setTask(t, s, "running", "")
		setTask(t, s, "final", StatusFailed)
		time.Sleep(time.Hour - time.Nanosecond)
		assert.True(t, known(t, s, "final"))
		setTask(t, s, "final", StatusFailed) // does not begin a second life
		time.Sleep(time.Nanosecond)
		assert.False(t, known(t, s, "final"))
		time.Sleep(1000 * time.Hour)
		assert.True(t, known(t, s, "running"))
	})
}

func TestR33DefaultsAreGenerous(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewMemoryStorageWithOptions(MemoryStorageOptions{MaxFinal: -1, MaxAge: -1})
		for i := range 10_001 {
			setTask(t, s, fmt.Sprint(i), StatusSucceeded)
		}
		assert.False(t, known(t, s, "0"))
		assert.True(t, known(t, s, "1"))
		time.Sleep(24*time.Hour - time.Nanosecond)
		assert.True(t, known(t, s, "1"))
		time.Sleep(time.Nanosecond)
		assert.False(t, known(t, s, "10000"))
	})
}

func TestR33ReopenedTaskIsKept(t *testing.T) {
	s := NewMemoryStorageWithOptions(MemoryStorageOptions{MaxFinal: 2})
	setTask(t, s, "again", StatusFailed)
	setTask(t, s, "again", "")
	setTask(t, s, "other", StatusFailed)
	setTask(t, s, "again", StatusSucceeded)
	assert.True(t, known(t, s, "again"))
	assert.True(t, known(t, s, "other"))
	setTask(t, s, "last", StatusFailed)
	assert.True(t, known(t, s, "again"), "it became final after the other")
	assert.False(t, known(t, s, "other"))
}

func TestR33WhatIsWaitedForStaysUntilItIsRead(t *testing.T) {
	s := NewMemoryStorageWithOptions(MemoryStorageOptions{MaxFinal: 1})
	setTask(t, s, "watched", "")
	final, stop := s.(Watcher).Watch("watched")
	setTask(t, s, "watched", StatusSucceeded)
	for i := range 3 {
		setTask(t, s, fmt.Sprint(i), StatusSucceeded)
	}
	<-final
	assert.True(t, known(t, s, "watched"))
	late, stopLate := s.(Watcher).Watch("watched")
	<-late
	stop()
	assert.True(t, known(t, s, "watched"), "a second wait is under way")
	stopLate()
	assert.False(t, known(t, s, "watched"))
	assert.True(t, known(t, s, "2"))
}

func TestMemoryStorageCopies(t *testing.T) {
	s := NewMemoryStorage()
	given := &Task{ID: "id"}
	require.NoError(t, s.Set(given))
	given.ActiveStatus = StatusStopped
	got, err := s.Get("id")
	require.NoError(t, err)
	assert.Equal(t, &Task{ID: "id"}, got)
	got.ActiveStatus = StatusStopped
	got, err = s.Get("id")
	require.NoError(t, err)
	assert.Equal(t, &Task{ID: "id"}, got)
}

// history is a model of a memory storage: the calls it was given so far.
type history struct {
	storage  *memoryStorage
	maxFinal int
	running  []string
	finals   []string // in the order of their ends
	stops    []func()
}

func (h *history) end(t *rapid.T, id string) {
	setTask(t, h.storage, id, StatusFailed)
	h.running = slices.DeleteFunc(h.running, func(r string) bool { return r == id })
	h.finals = append(h.finals, id)
}

// kept are the tasks that must be there, whatever is watched.
func (h *history) kept() []string {
	return slices.Concat(h.running, h.finals[max(0, len(h.finals)-h.maxFinal):])
}

// TestR33AnyHistory holds, after any calls, that what runs and the MaxFinal tasks that became final last are known, and
// that nothing else is left once no wait is under way.
func TestR33AnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{maxFinal: rapid.IntRange(1, 3).Draw(t, "MaxFinal")}
		h.storage = NewMemoryStorageWithOptions(MemoryStorageOptions{MaxFinal: h.maxFinal}).(*memoryStorage)
		for i := range rapid.IntRange(1, 40).Draw(t, "calls") {
			call := rapid.SampledFrom([]string{"start", "end", "end unknown", "watch"}).Draw(t, "call")
			switch {
			case call == "start":
				h.running = append(h.running, fmt.Sprint(i))
				setTask(t, h.storage, fmt.Sprint(i), "")
			case call == "end" && len(h.running) > 0:
				h.end(t, rapid.SampledFrom(h.running).Draw(t, "task"))
			case call == "end unknown":
				h.end(t, fmt.Sprint(i))
			case call == "watch" && len(h.kept()) > 0:
				_, stop := h.storage.Watch(rapid.SampledFrom(h.kept()).Draw(t, "task"))
				h.stops = append(h.stops, stop)
			}
			for _, id := range h.kept() {
				require.True(t, known(t, h.storage, id), "task %s", id)
			}
		}
		for _, stop := range h.stops {
			stop()
		}
		assert.ElementsMatch(t, h.kept(), slices.Collect(maps.Keys(h.storage.entries)))
	})
}

// heap is what is live after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkTasksMemory runs 100,000 tasks to their ends in one service, beyond those that fill the storage, and reports
// how much the heap has grown by them: nothing, but for noise.
func BenchmarkTasksMemory(b *testing.B) {
	const tasks = 100_000
	for b.Loop() {
		s := NewTaskService(Config{})
		run := func(n int) {
			for range n {
				created, err := s.Create(b.Context(), succeed)
				require.NoError(b, err)
				_, err = s.WaitForFinalStatus(b.Context(), created.ID, nil)
				require.NoError(b, err)
			}
		}
		run(2 * defaultMaxFinal)
		before := heap()
		run(tasks)
		after := heap()
		b.ReportMetric(float64(after), "heap-B")
		b.ReportMetric((float64(after)-float64(before))/tasks, "growth-B/task")
		runtime.KeepAlive(s)
	}
}
