package systemd

import (
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
)

// Each option of X-Fleet that can't hold on this host is refused, with a reason and in its class, and nothing is
// written.
func TestRequirements(t *testing.T) {
	const invalid, conflict, met = "invalid", "conflict", ""
	for option, want := range map[string]string{
		"MachineID=" + ownID:                                  met,
		"MachineID=ffff":                                      invalid,
		"X-ConditionMachineBootID=ffff":                       invalid,
		"Global=true":                                         met,
		"MachineMetadata=zone=a":                              met,
		"MachineMetadata=zone=b":                              invalid,
		`MachineMetadata="zone=b" "zone=a"`:                   met,
		`MachineMetadata="zone=a" "disk=ssd"`:                 invalid,
		"MachineMetadata=zone=b\nMachineMetadata=zone=a":      met,
		"MachineOf=db.service":                                met,
		"MachineOf=absent.service":                            conflict,
		"X-ConditionMachineOf=%p.service":                     conflict,
		"Conflicts=db.*":                                      conflict,
		"Conflicts=a.service db.service":                      conflict,
		"Conflicts=new@*.service":                             met, // itself
		"Conflicts=web.service":                               met,
		"Replaces=db.service":                                 conflict,
		"Replaces=other.service":                              met,
		"Global=true\nMachineMetadata=zone=a\nConflicts=x.*":  met,
		"Conflicts=[":                                         met, // no pattern
		"MachineID=" + ownID + "\nMachineID=ffffffffffffffff": invalid,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, Config{Metadata: map[string]string{"zone": "a"}})
			require.NoError(t, s.host.Submit(t.Context(), "db.service", service("db")))
			err := s.host.Submit(t.Context(), "new@1.service", service("new", "[X-Fleet]\n", option, "\n"))
			assert.Equal(t, want != met, IsUnmetRequirement(err), "%s: %v", option, err)
			assert.Equal(t, want == invalid, fleet.IsInvalidRequest(err), "%s: %v", option, err)
			assert.Equal(t, want == conflict, fleet.IsConflict(err), "%s: %v", option, err)
			_, err = s.host.GetStatus(t.Context(), "new@1.service")
			assert.Equal(t, want != met, fleet.IsUnitNotFound(err), "%s: %v", option, err)
			require.NoError(t, s.host.Close())
		})
	}
}

// Conflicts works in both directions, and a unit is no conflict of its own replacement.
func TestConflictsBothWays(t *testing.T) {
	s := newSite(t, Config{})
	alone := service("a", "[X-Fleet]\nConflicts=web@*.service\n")
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", alone))
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", alone+"Conflicts=x.service\n"))
	err := s.host.Submit(t.Context(), "web@2.service", service("a"))
	assert.True(t, IsUnmetRequirement(err), "%v", err)
	assert.ErrorContains(t, err, "web@1.service")
	require.NoError(t, s.host.Destroy(t.Context(), "web@1.service"))
	require.NoError(t, s.host.Submit(t.Context(), "web@2.service", service("a")))
}

// Of two that conflict and come at once, one is refused. A unit finds a peer that comes with it, whichever is first.
func TestSubmittedSideBySide(t *testing.T) {
	s := newSite(t, Config{})
	both := func(first, second string) [2]error {
		var errs [2]error
		var wait sync.WaitGroup
		for i, content := range []string{first, second} {
			name := []string{"web@1.service", "web@2.service"}[i]
			wait.Go(func() { errs[i] = s.host.Submit(t.Context(), name, content) })
		}
		wait.Wait()
		return errs
	}
	alone := service("a", "[X-Fleet]\nConflicts=web@*.service\n")
	errs := both(alone, alone)
	assert.NotEqual(t, errs[0] == nil, errs[1] == nil, "%v", errs)
	for _, name := range []string{"web@1.service", "web@2.service"} {
		_ = s.host.Destroy(t.Context(), name)
	}
	errs = both(service("a", "[X-Fleet]\nMachineOf=web@2.service\n"), service("a", "[X-Fleet]\nMachineOf=web@1.service\n"))
	assert.Equal(t, [2]error{}, errs)
}
