package fleet

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R40.
func TestDummyChangesAtOnce(t *testing.T) {
	hash, err := UnitHash(webContent)
	require.NoError(t, err)
	dummy := NewDummyFleet(DefaultDummyConfig())
	ctx := t.Context()
	want := func(desired, active, sub string) UnitStatus {
		return UnitStatus{Name: "web@1.service", SliceID: "1", Current: desired, Desired: desired,
			Machine: []MachineStatus{{SystemdActive: active, SystemdSub: sub, UnitHash: hash}}}
	}
	is := func(want UnitStatus) {
		t.Helper()
		got, err := dummy.GetStatus(ctx, "web@1.service")
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	require.NoError(t, dummy.Submit(ctx, "web@1.service", webContent))
	is(want("loaded", "inactive", "dead"))
	require.NoError(t, dummy.Start(ctx, "web@1.service"))
	is(want("launched", "active", "running"))
	require.NoError(t, dummy.Stop(ctx, "web@1.service"))
	is(want("loaded", "inactive", "dead"))
	require.NoError(t, dummy.SubmitLaunched(ctx, "web@1.service", webContent))
	is(want("launched", "active", "running"))
	require.NoError(t, dummy.Submit(ctx, "web@1.service", webContent))
	is(want("loaded", "inactive", "dead"))
	require.NoError(t, dummy.Destroy(ctx, "web@1.service"))
	assert.Empty(t, dummy.Units)
}

func TestDummyZeroValueAndUnknownUnits(t *testing.T) {
	var dummy DummyFleet
	ctx := t.Context()
	_, statusErr := dummy.GetStatus(ctx, "a.service")
	_, contentErr := dummy.ReadContent(ctx, "a.service")
	_, matcherErr := dummy.GetStatusWithMatcher(func(string) bool { return true })
	for _, err := range []error{dummy.Start(ctx, "a.service"), dummy.Stop(ctx, "a.service"), dummy.Destroy(ctx, "a.service"),
		statusErr, contentErr, matcherErr} {
		assert.True(t, IsUnitNotFound(err), "%v", err)
	}
	assert.EqualError(t, statusErr, "get status of a.service: unit not found")
	for _, name := range []string{"a/b", "a", "a.exe", "a b.service", "@1.service"} {
		assert.True(t, IsInvalidRequest(dummy.Submit(ctx, name, "x")), name)
	}
	require.NoError(t, dummy.Submit(ctx, "a.service", "some content"))
	_, err := dummy.GetStatusWithMatcher(nil)
	assert.True(t, IsInvalidRequest(err))
}

func TestDummyTakesAnyContent(t *testing.T) {
	dummy := NewDummyFleet(DummyConfig{})
	require.NoError(t, dummy.Submit(t.Context(), "a.service", "some content"))
	sum := sha1.Sum([]byte("some content"))
	assert.Equal(t, hex.EncodeToString(sum[:]), dummy.Units["a.service"].Machine[0].UnitHash)
	content, err := dummy.ReadContent(t.Context(), "a.service")
	require.NoError(t, err)
	assert.Equal(t, "some content", content)
	require.NoError(t, dummy.Submit(t.Context(), "a.service", "# c\n[S]\nA= b"))
	content, err = dummy.ReadContent(t.Context(), "a.service")
	require.NoError(t, err)
	assert.Equal(t, "[S]\nA=b\n", content)
}

func TestDummyUnitsPutByHand(t *testing.T) {
	ip := net.ParseIP("10.0.0.1")
	dummy := &DummyFleet{Units: map[string]UnitStatus{"b.service": {Name: "b.service", Machine: []MachineStatus{{ID: m1, IP: ip, UnitHash: "h"}}}}}
	require.NoError(t, dummy.Submit(t.Context(), "a.service", "[X-Squadron]\nGroup=web\n[X-Fleet]\nGlobal=1\n"))
	require.NoError(t, dummy.Start(t.Context(), "b.service"))
	listing, err := dummy.ReadUnits(t.Context(), Selector{})
	require.NoError(t, err)
	require.Equal(t, []string{"a.service", "b.service"}, names(listing.Units))
	assert.True(t, listing.Whole)
	a, b := listing.Units[0], listing.Units[1]
	assert.Equal(t, a.Machine[0].UnitHash, a.Hash)
	assert.Equal(t, "web", a.Group)
	assert.True(t, a.Stamped)
	assert.True(t, a.Global)
	assert.Zero(t, a.Missing)
	assert.Empty(t, b.Hash, "no content is known of it")
	assert.Equal(t, "running", b.Machine[0].SystemdSub)
	_, err = dummy.ReadContent(t.Context(), "b.service")
	require.Error(t, err)
	assert.False(t, IsUnitNotFound(err))

	b.Machine[0].IP[15] = 9
	b.Machine[0].ID = "changed"
	assert.Equal(t, m1, dummy.Units["b.service"].Machine[0].ID, "what is returned is a copy")
	assert.Equal(t, "10.0.0.1", dummy.Units["b.service"].Machine[0].IP.String())

	listing, err = dummy.ReadUnits(t.Context(), Selector{Groups: []string{"web"}})
	require.NoError(t, err)
	assert.Equal(t, []string{"a.service"}, names(listing.Units))
	machines, err := dummy.ReadMachines(t.Context())
	require.NoError(t, err)
	assert.Len(t, machines, 1)
}

func TestDummyHeedsContexts(t *testing.T) {
	dummy := NewDummyFleet(DummyConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, statusErr := dummy.GetStatus(ctx, "a.service")
	_, readErr := dummy.ReadUnits(ctx, Selector{})
	_, contentErr := dummy.ReadContent(ctx, "a.service")
	_, machinesErr := dummy.ReadMachines(ctx)
	for _, err := range []error{dummy.Submit(ctx, "a.service", ""), dummy.SubmitLaunched(ctx, "a.service", ""), dummy.Start(ctx, "a.service"),
		dummy.Stop(ctx, "a.service"), dummy.Destroy(ctx, "a.service"), statusErr, readErr, contentErr, machinesErr} {
		assert.ErrorIs(t, err, context.Canceled)
	}
}

func TestDummySideBySide(t *testing.T) {
	dummy := NewDummyFleet(DummyConfig{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				assert.NoError(t, dummy.Submit(t.Context(), "a.service", webContent))
				assert.NoError(t, dummy.Start(t.Context(), "a.service"))
				_, err := dummy.GetStatusWithMatcher(func(string) bool {
					_, err := dummy.GetStatus(t.Context(), "a.service") // a matcher may use the fleet
					return err == nil
				})
				assert.NoError(t, err)
			}
		})
	}
	group.Wait()
}
