package faults_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// killWithin is when the process is killed at the latest: an update of three slices takes about so long.
const killWithin = 30 * time.Second

// C19, R21, R22: the updating process is killed at a moment left to chance, and the same request finishes the work, with
// nothing left over. SQUADRON_KILLS says how often; 5 by default.
func TestUpdateKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	slots := make(chan struct{}, atOnce)
	orders := []controller.UpdateOptions{{MaxGrowth: 1, MinAlive: 3}, {MinAlive: 2}, {MaxGrowth: 3, MinAlive: 2}, {MaxGrowth: 2, MinAlive: 1}, {}}
	for i := range number(t, "SQUADRON_KILLS", len(orders)) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			killAndFinish(t, fmt.Sprintf("killed%02d", i), orders[i%len(orders)])
		})
	}
}

func killAndFinish(t *testing.T, group string, opts controller.UpdateOptions) {
	const slices = 3
	s := whole
	b := s.Open(t, group, bench.Options{})
	require.NoError(t, b.Update(bench.Number(content(group, 0), slices), controller.UpdateOptions{}))
	req := bench.Number(content(group, 1), slices)

	watch := s.Observer.WatchUpdate(t, req, opts, slices)
	endpoint := s.Cluster.Endpoint()
	process := bench.Job{Endpoint: endpoint.String(), Request: req, MaxGrowth: opts.MaxGrowth, MinAlive: opts.MinAlive}.Start(t)
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	moment := rand.N(killWithin)
	select {
	case err := <-ended:
		require.NoError(t, err, "the update itself")
	case <-time.After(moment):
		require.NoError(t, process.Process.Kill())
		<-ended
	}
	watch.End(t)
	t.Logf("killed after %.2f s at the latest", moment.Seconds())

	watch = s.Observer.WatchUpdate(t, req, opts, slices)
	err := b.Update(req, opts)
	watch.End(t)
	if !controller.IsUnitsAlreadyUpToDate(err) {
		require.NoError(t, err)
	}
	// What is launched already counts as up to date before it runs.
	look := s.Observer.Await(t, settleLimit, "all of the new slices run", func(look bench.Snapshot) bool {
		for _, unit := range look.Named(group + "-") {
			if unit.Here().Active != active {
				return false
			}
		}
		return true
	})
	require.Len(t, look.Named(group+"-"), slices*len(req.Units))
	for _, unit := range look.Named(group + "-") {
		require.True(t, unit.Runs(exec(1)), "%+v", unit)
	}
}
