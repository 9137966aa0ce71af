package groups_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/integration/groups/bench"
)

// C21, R12, R17a: slices of a service, a timer, and a oneshot that is over soon.
func TestTimersAndOneshots(t *testing.T) {
	t.Parallel()
	const group = "kinds"
	s := first
	b := s.Open(t, group, bench.Options{})
	beside := "[X-Fleet]\nMachineOf=" + group + "-job@%i.service\n"
	req := bench.Request(group,
		controller.Unit{Name: group + "-job@.service", Content: bench.Service("/bin/sleep 100000")},
		controller.Unit{Name: group + "-job@.timer", Content: "[Timer]\nOnActiveSec=1h\n" + beside},
		controller.Unit{Name: group + "-once@.service", Content: bench.Service("/bin/sleep 3") + "Type=oneshot\n" + beside})
	require.NoError(t, b.Submit(bench.Slices(req, "s1", "s2")))
	requireUnits(t, s, group+"-", 6, loaded, inactive)
	require.NoError(t, b.Start(req))
	requireUnits(t, s, group+"-job@", 4, launched, active)
	for _, unit := range requireUnits(t, s, group+"-once@", 2, launched, inactive) {
		assert.Equal(t, "dead", unit.Here().Sub, "it has run, and not failed")
	}
	requireStatus(t, b, s, bench.Request(group))
	// Group goes by systemd's active state, in which a oneshot that is over differs from the others.
	rows, err := requireStatus(t, b, s, bench.Request(group, req.Units[:2]...)).Group()
	require.NoError(t, err)
	assert.Len(t, rows, 2, "a row for each slice of the service and its timer")

	before := s.Observer.Settled(t, settleLimit, group+"-")
	err = b.Update(req, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2})
	require.True(t, controller.IsUnitsAlreadyUpToDate(err), "%v", err)
	require.Equal(t, before, s.Observer.Settled(t, settleLimit, group+"-"))

	req.Units[2].Content = bench.Service("/bin/sleep 2") + "Type=oneshot\n" + beside
	require.NoError(t, b.Update(req, controller.UpdateOptions{MaxGrowth: 1, MinAlive: 2}))
	requireContent(t, requireUnits(t, s, group+"-once@", 2, launched, inactive), req)
	requireUnits(t, s, group+"-job@", 4, launched, active)
	require.NoError(t, b.Stop(bench.Request(group)))
	requireUnits(t, s, group+"-", 6, loaded, inactive)
	require.NoError(t, b.Destroy(bench.Request(group)))
	requireNothing(t, b, s, group)
}
