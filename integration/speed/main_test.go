// Package speed_test holds the library's speed against plain programs that do the same: a loop on coreos/fleet's client
// package, with a simulated cluster's latency, and a bare loop of requests on a real cluster.
package speed_test

import (
	"os"
	"testing"

	"github.com/squadronctl/squadron/integration/groups/bench"
)

var site = &bench.Site{Machines: 3}

func TestMain(m *testing.M) { os.Exit(bench.Run(m, site)) }
