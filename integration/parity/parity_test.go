// Package parity holds fleettest against a real fleet cluster (R39): the same calls to both, the answers compared, and the
// order of the states that units walk through. What differs and is meant to is in known_test.go and in fleettest's
// documentation.
package parity

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/squadronctl/squadron/integration/cluster"
)

// calm is for what compares whole listings, and for the loss of machines; busy for the lives of many units at once.
var calm, busy *cluster.Cluster

var sequences = flag.Int("sequences", 30, "how many generated sequences of calls are sent to both")

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var group errgroup.Group
	for _, c := range []**cluster.Cluster{&calm, &busy} {
		group.Go(func() (err error) {
			*c, err = cluster.Start(ctx, cluster.Config{Machines: 3})
			return err
		})
	}
	err := group.Wait()
	defer func() {
		for _, c := range []*cluster.Cluster{calm, busy} {
			if c == nil {
				continue
			}
			if err := c.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// R37, R39.
func TestAnswers(t *testing.T) {
	t.Parallel()
	p := pairUp(t, calm)
	for _, part := range []struct {
		name string
		test func(*testing.T, pair)
	}{
		{"Calls", testCalls}, {"Pages", testPages}, {"Generated", testGenerated}, {"Lost", testLost}, {"Placement", testPlacement},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, p) })
	}
}
