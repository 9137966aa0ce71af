package reference_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/integration/cluster"
)

// twin gives a fleettest server whose machines are those of the real cluster, over TCP or over a unix socket.
func twin(t *testing.T, unix bool) url.URL {
	t.Helper()
	config := fleettest.Config{Timing: fleettest.Fast()}
	for n, m := range real.Machines() {
		config.Machines = append(config.Machines, fleet.Machine{
			ID: m.ID, IP: net.IPv4(127, 0, 0, byte(n+1)), Metadata: map[string]string{"name": m.Name, "zone": m.Zone},
		})
	}
	server := fleettest.NewUnstartedServer(config)
	if unix {
		require.NoError(t, server.StartUnix(filepath.Join(t.TempDir(), "fleet.sock")))
	} else {
		require.NoError(t, server.Start())
	}
	t.Cleanup(server.Close)
	return server.Endpoint()
}

// R39: every method of coreos/fleet's client package gives the same lines from real fleetd and from fleettest, over TCP and
// over a unix socket. The units of each run have names of their own length, as they share the real cluster; $ stands for
// their common part.
func TestReferenceClientSeesTheSame(t *testing.T) {
	t.Parallel()
	want := session(startReferenceClient(t, real.Endpoint()), "ref1")
	socket := real.Machines()[1].Socket()
	for name, got := range map[string][]string{
		"fleetd over unix":    session(startReferenceClient(t, socket), "ref2"),
		"fleettest over TCP":  session(startReferenceClient(t, twin(t, false)), "ref3"),
		"fleettest over unix": session(startReferenceClient(t, twin(t, true)), "ref4"),
	} {
		require.Len(t, got, len(want), name)
		for i := range want {
			assert.Equal(t, want[i], got[i], name)
		}
	}
}

// session is a life of units as the reference client sees it: its lines, where what is waited for stands as it was in the
// end.
func session(r *referenceClient, prefix string) []string {
	r.t.Helper()
	service := func(lines ...string) []string {
		options := []string{"Service", "ExecStart", "/bin/sleep 100000"}
		return append(options, lines...)
	}
	web, all, nowhere := prefix+"-web@1.service", prefix+"-all.service", prefix+"-nowhere.service"
	var lines []string
	note := func(line string) { lines = append(lines, strings.ReplaceAll(line, prefix, "$")) }
	call := func(method string, arguments ...string) { note(r.call(method, arguments...)) }
	create := func(name, state string, options ...string) {
		call("CreateUnit", append([]string{name, state}, options...)...)
	}

	note(r.until("m3", "Machines"))
	call("SetMachineMetadata", cluster.IDOf(1), "key", "value")
	call("DeleteMachineMetadata", cluster.IDOf(1), "key")

	// Refusals.
	call("Unit", prefix+"-none.service")
	call("UnitState", prefix+"-none.service")
	call("DestroyUnit", prefix+"-none.service")
	call("SetUnitTargetState", prefix+"-none.service", "launched")
	create("bad", "loaded", service()...)
	create(prefix+"@.service", "nonsense", service()...)
	create(prefix+"-empty.service", "loaded")
	create(prefix+"-both.service", "loaded", service("X-Fleet", "MachineID", "x", "X-Fleet", "Global", "true")...)
	create(prefix+"-newline.service", "loaded", "Service", "ExecStart", "a\nb")
	create(prefix+"-long.service", "loaded", "Unit", "X", strings.Repeat("y", 2100))
	call("SetUnitTargetState", "bad", "launched")

	// A life: loaded, launched, replaced, inactive, gone.
	create(web, "loaded", service("X-Fleet", "MachineMetadata", "zone=b")...)
	note(r.until(`"currentState":"loaded"`, "Unit", web))
	note(r.until(`"systemdSubState":"dead"`, "UnitState", web))
	call("SetUnitTargetState", web, "launched")
	note(r.until(`"currentState":"launched"`, "Unit", web))
	note(r.until(`"systemdSubState":"running"`, "UnitState", web))
	create(web, "launched", service("X-Fleet", "MachineMetadata", "zone=c")...)
	note(r.until(`"currentState":"launched","desiredState":"launched","machineID":"`+cluster.IDOf(3), "Unit", web))
	create(nowhere, "launched", service("X-Fleet", "MachineMetadata", "zone=nowhere")...)
	call("Unit", nowhere)
	create(all, "launched", service("X-Fleet", "Global", "true")...)
	call("Unit", all)
	call("SetUnitTargetState", web, "inactive")
	note(r.until(`"currentState":"inactive","desiredState":"inactive","name"`, "Unit", web)) // and no machineID
	call("DestroyUnit", web)
	call("DestroyUnit", web)
	call("Unit", web)

	// Lists, of what this session has made; over two pages.
	for i := range 120 {
		call("CreateUnit", append([]string{fmt.Sprintf("%s-page-%03d.service", prefix, i), "inactive"}, service()...)...)
	}
	note(listed(r, "Units", prefix))
	for {
		if states := listed(r, "UnitStates", prefix+"-all"); strings.Count(states, "running") == 3 {
			note(states)
			return lines
		}
	}
}

// listed calls a method that lists, and gives the entries whose name has the prefix, a line each.
func listed(r *referenceClient, method, prefix string) string {
	r.t.Helper()
	var a answer
	require.NoError(r.t, json.Unmarshal([]byte(r.call(method)), &a))
	require.Empty(r.t, a.Error)
	var entries []json.RawMessage
	require.NoError(r.t, json.Unmarshal(a.Result, &entries))
	var text strings.Builder
	for _, entry := range entries {
		var named struct{ Name string }
		require.NoError(r.t, json.Unmarshal(entry, &named))
		if strings.HasPrefix(named.Name, prefix) {
			text.Write(entry)
			text.WriteByte('\n')
		}
	}
	return text.String()
}
