package fleettest_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// forgetful is a backend that forgets what a unit's slice is.
type forgetful struct{ fleet.Fleet }

func (f forgetful) GetStatus(ctx context.Context, name string) (fleet.UnitStatus, error) {
	status, err := f.Fleet.GetStatus(ctx, name)
	status.SliceID = ""
	return status, err
}

// A backend of one's own owes what TestBackend walks through; the first that this one does not keep is told.
func ExampleTestBackend() {
	backend := forgetful{fleet.NewDummyFleet(fleet.DefaultDummyConfig())}
	options := fleettest.BackendOptions{Prefix: "mine-", Wait: 1}
	err := fleettest.TestBackend(context.Background(), backend, options)
	found, _, _ := strings.Cut(err.Error(), ":")
	fmt.Println(found)
	// Output: rule "name and slice"
}
