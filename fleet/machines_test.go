package fleet

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R20: a machine that is no longer listed has IP nil; the list may be a minute old. One that is on no list is asked for
// until it is.
func TestMachineThatVanishesR20(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleetd := &cluster{machines: machines(), units: []wireUnit{unitOf(t, "a.service", webContent, "launched", "launched", m1)}}
		asked := 0
		client := clientOn(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/fleet/v1/machines" {
				asked++
			}
			return inProcess(fleetd)(r)
		}), Config{})
		read := func() (ip string, requests int) {
			asked = 0
			status, err := client.GetStatus(t.Context(), "a.service")
			require.NoError(t, err)
			require.Len(t, status.Machine, 1)
			return status.Machine[0].IP.String(), asked
		}
		look := func(wantIP string, wantRequests int) {
			t.Helper()
			ip, requests := read()
			assert.Equal(t, wantIP, ip)
			assert.Equal(t, wantRequests, requests)
		}
		look("10.0.0.1", 1)
		fleetd.machines = fleetd.machines[:1]
		look("10.0.0.1", 0)
		time.Sleep(time.Minute)
		look("<nil>", 1)
		look("<nil>", 1)
		fleetd.machines = machines()
		look("10.0.0.1", 1)
		look("10.0.0.1", 0)
	})
}
