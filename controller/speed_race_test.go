//go:build race

package controller_test

import "time"

// With the race detector all that the tests of speed do takes ten times as long, so they do less of it: what they count does
// not depend on it.
var groupSizes = []int{10, 100}

const (
	watchedTime = 2 * time.Hour
	heapTasks   = 2_000
)
