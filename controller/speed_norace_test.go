//go:build !race

package controller_test

import "time"

// groupSizes are the numbers of slices that requests are counted for.
var groupSizes = []int{10, 100, 1000}

const (
	// watchedTime is for how long, in a bubble, the heap is watched.
	watchedTime = 24 * time.Hour
	// heapTasks is after how many tasks the heap has to be as it was.
	heapTasks = 20_000
)
