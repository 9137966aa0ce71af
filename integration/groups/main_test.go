// Package groups_test takes groups through their lives on real clusters: every operation, every kind of group, updates
// under all sensible bounds. What is asserted is what the cluster is like, as seen from outside the library, and what the
// caller is told.
package groups_test

import (
	"os"
	"testing"

	"github.com/squadronctl/squadron/integration/groups/bench"
)

// The clusters. A fleet agent unloads about one destroyed unit in five seconds, and does nothing else meanwhile: groups
// that come and go much are spread over many machines.
var (
	first  = &bench.Site{Machines: 5} // for all that needs no cluster for itself
	second = &bench.Site{Machines: 5}
	paged  = &bench.Site{Machines: 2} // has 250 units
	lossy  = &bench.Site{Machines: 5} // loses a machine
)

func TestMain(m *testing.M) {
	bench.RunJob()
	os.Exit(bench.Run(m, first, second, paged, lossy))
}
