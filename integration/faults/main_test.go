// Package faults_test breaks real clusters while the library works on them. Promised is, whatever breaks: no operation
// reports success that is not there, none hangs, an update leaves what R22 promises less what the fault itself took, and a
// second call finishes the work once the fault has healed.
package faults_test

import (
	"os"
	"testing"

	"github.com/squadronctl/squadron/integration/groups/bench"
)

// whole is a cluster that stays whole: on it, updating processes are killed.
var whole = &bench.Site{Machines: 5, Pause: lookPause}

func TestMain(m *testing.M) {
	bench.RunJob()
	os.Exit(bench.Run(m, whole))
}
