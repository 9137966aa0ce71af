package fleet_test

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/logging"
)

// Every name of spec/companions.md at its exact type: this file compiles or the contract is broken.
var (
	_ func() fleet.Config                                      = fleet.DefaultConfig
	_ func(fleet.Config) (fleet.Fleet, error)                  = fleet.NewFleet
	_ func() fleet.SSHTunnelConfig                             = fleet.DefaultSSHTunnelConfig
	_ func(fleet.SSHTunnelConfig) (fleet.SSHTunnel, error)     = fleet.NewSSHTunnel
	_ func() fleet.DummyConfig                                 = fleet.DefaultDummyConfig
	_ func(fleet.DummyConfig) *fleet.DummyFleet                = fleet.NewDummyFleet
	_ func(error) bool                                         = fleet.IsUnitNotFound
	_ func(error) bool                                         = fleet.IsInvalidUnitStatus
	_ func(error) bool                                         = fleet.IsInvalidEndpoint
	_ func(error) bool                                         = fleet.IsIPNotFound
	_ fleet.Fleet                                              = (*fleet.DummyFleet)(nil)
	_ interface{ fleet.Fleet }                                 = exactFleet(nil)
	_ exactFleet                                               = fleet.Fleet(nil)
	_ exactTunnel                                              = fleet.SSHTunnel(nil)
	_ fleet.SSHTunnel                                          = exactTunnel(nil)
	_ func(fleet.Fleet, context.Context, string, string) error = fleet.Fleet.Submit
	_ map[string]fleet.UnitStatus                              = fleet.DummyFleet{}.Units
	_ func(*fleet.DummyFleet) *sync.Mutex                      = func(d *fleet.DummyFleet) *sync.Mutex { return &d.Mutex }
	_ func(*fleet.DummyFleet) fleet.DummyConfig                = func(d *fleet.DummyFleet) fleet.DummyConfig { return d.Config }
)

type exactFleet interface {
	Submit(ctx context.Context, name, content string) error
	Start(ctx context.Context, name string) error
	Stop(ctx context.Context, name string) error
	Destroy(ctx context.Context, name string) error
	GetStatus(ctx context.Context, name string) (fleet.UnitStatus, error)
	GetStatusWithMatcher(func(string) bool) ([]fleet.UnitStatus, error)
}

type exactTunnel interface {
	http.RoundTripper
	IsActive() bool
}

func TestStructsHaveTheirFields(t *testing.T) {
	_ = fleet.UnitStatus{Current: "", Desired: "", Machine: []fleet.MachineStatus{}, Name: "", SliceID: ""}
	_ = fleet.MachineStatus{ID: "", IP: net.IP{}, SystemdActive: "", SystemdSub: "", UnitHash: ""}
	_ = fleet.Config{Client: &http.Client{}, Endpoint: url.URL{}, SSHTunnel: fleet.SSHTunnel(nil), Logger: logging.Logger(nil)}
	_ = fleet.SSHTunnelConfig{Endpoint: url.URL{}, KnownHostsFile: "", Logger: logging.Logger(nil), StrictHostKeyChecking: true,
		Tunnel: "", Timeout: time.Second, Username: ""}
	_ = fleet.DummyConfig{Logger: logging.Logger(nil)}
}
