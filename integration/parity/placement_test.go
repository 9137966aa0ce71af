package parity

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// placed is a unit with what is written into it.
type placed struct {
	name    string
	options []string // of X-Fleet, unless they name a section
}

// placements are put group after group, the first unit of each before the others: where the units of a group may run
// depends on nothing but the group and on whether its first unit was there first.
var placements = [][]placed{
	{{"peer-a.service", []string{"MachineMetadata=zone=a"}}, {"peer-b.service", []string{"MachineOf=peer-a.service"}}, {"peer-c.service", []string{"MachineOf=peer-b.service", "MachineMetadata=zone=b"}}},
	{{"meta-b.service", []string{`MachineMetadata="zone=a" "name=m2"`}}, {"meta-c.service", []string{`MachineMetadata="zone=b" "name=m2"`}}, {"meta-d.service", []string{"MachineMetadata=zone = c"}}, {"meta-e.service", []string{"MachineMetadata=zone=A"}},
		{"meta-f.service", []string{"MachineMetadata=zone=a", "MachineMetadata=zone=nowhere"}}, {"meta-g.service", []string{"X-ConditionMachineMetadata=zone=b"}}},
	{{"con-a.service", []string{"MachineMetadata=zone=a"}}, {"con-b.service", []string{"MachineMetadata=zone=a", "Conflicts=con-a*"}}, {"con-c.service", []string{"MachineMetadata=zone=a", "Conflicts=con-a.service con-x"}},
		{"con-d.service", []string{"MachineMetadata=zone=a", "Conflicts=*con-a.serv?ce*"}}, {"con-e.service", []string{"MachineMetadata=zone=a", "Conflicts=con-[a].service"}}},
	{{"id-a.service", []string{"MachineID=MACHINE2"}}, {"id-c.service", []string{"MachineID=nobody"}}, {"id-d.service", []string{"X-ConditionMachineID=MACHINE3"}}, {"id-e.service", []string{"MachineBootID=x", "MachineMetadata=zone=b"}}, {"id-f.service", []string{"MachineID="}}},
	{{"none-a.service", []string{"MachineOf=none.service"}}, {"none-b.service", []string{"MachineOf=none-b.service"}}},
	{{"glob-g.service", []string{"Global=true"}}, {"glob-h.service", []string{"Global=true", "MachineMetadata=zone=a"}}, {"glob-i.service", []string{"Global=true", "MachineMetadata=zone=nowhere"}}, {"glob-k.service", []string{"Global=false", "MachineMetadata=zone=a"}}, {"glob-l.service", []string{"Global=True"}}},
	{{"spec@x.service", []string{"MachineMetadata=name=m%i"}}, {"spec@2.service", []string{"MachineMetadata=name=m%i"}}, {"spec-b@3.service", []string{"MachineOf=spec@2.service"}}, {"spec-c@2.service", []string{"MachineOf=spec@%i.service"}}},
	{{"room-a.service", []string{"MachineMetadata=zone=a"}}, {"room-g.service", []string{"Global=true", "Conflicts=room-a*"}}},
	{{"kind-a.path", []string{"MachineMetadata=zone=b", "Path.PathExists=/nowhere", "Path.Unit=rescue.target"}}, {"kind-b.timer", []string{"MachineMetadata=zone=b", "Timer.OnActiveSec=1h", "Timer.Unit=rescue.target"}},
		{"run-kind.mount", []string{"MachineMetadata=zone=b", "Mount.What=tmpfs", "Mount.Where=/run/kind", "Mount.Type=tmpfs"}}, {"kind-c.target", []string{"MachineMetadata=zone=b"}}, {"kind-d.slice", []string{"MachineMetadata=zone=b"}}},
	{{"unit-once.service", []string{"MachineMetadata=zone=c", "Service.Type=oneshot", "Service.ExecStart=/bin/true"}}, {"unit-exit.service", []string{"MachineMetadata=zone=c", "Service.RemainAfterExit=yes", "Service.Type=oneshot", "Service.ExecStart=/bin/true"}},
		{"unit-fail.service", []string{"MachineMetadata=zone=c", "Service.ExecStart=/bin/false"}}, {"unit-restart.service", []string{"MachineMetadata=zone=c", "Service.ExecStart=/bin/false", "Service.Restart=always", "Service.RestartSec=600"}}, {"unit-end.service", []string{"MachineMetadata=zone=c", "Service.ExecStart=/bin/true"}},
		{"unit-fork.service", []string{"MachineMetadata=zone=c", "Service.Type=forking", "Service.ExecStart=/bin/sh -c 'sleep 1000 &'"}}, {"unit-missing.service", []string{"MachineMetadata=zone=c", "Service.ExecStart=/bin/nothing"}}, {"unit-bad.service", []string{"MachineMetadata=zone=c", "Service.Nothing=x"}},
		{"unit-notify.service", []string{"MachineMetadata=zone=c", "Service.Type=notify", "Service.TimeoutStartSec=10min", sleepA}}, {"unit-pre.service", []string{"MachineMetadata=zone=c", "Service.ExecStartPre=/bin/sleep 1000", "Service.TimeoutStartSec=10min", sleepA}},
		{"unit-cond.service", []string{"MachineMetadata=zone=c", "Unit.ConditionPathExists=/nowhere", sleepA}}, {"unit-dep.service", []string{"MachineMetadata=zone=c", "Unit.Requires=unit-fail.service", "Unit.After=unit-fail.service", sleepA}},
		{"unit-gone.timer", []string{"MachineMetadata=zone=c", "Timer.OnActiveSec=1h"}}},
}

// body gives the PUT of a unit to be launched.
func (u placed) body(machines []string) string {
	var lines []string
	runs := !strings.HasSuffix(u.name, ".service") || strings.HasPrefix(u.name, "unit-")
	for _, line := range u.options {
		if section, _, _ := strings.Cut(line, "="); !strings.Contains(section, ".") {
			line = "X-Fleet." + line
		}
		for i, id := range machines {
			line = strings.ReplaceAll(line, fmt.Sprintf("MACHINE%d", i+1), id)
		}
		lines = append(lines, line)
	}
	if !runs {
		lines = append(lines, sleepA)
	}
	return putUnit("launched", lines...)
}

// testPlacement compares where units end up and in which states, once a real cluster has come to rest (R37, R39).
func testPlacement(t *testing.T, p pair) {
	var machines []string
	for _, m := range machinesOf(t, p.real) {
		machines = append(machines, m.ID)
	}
	var names []string
	for first := range 2 {
		for _, group := range placements {
			for _, u := range [][]placed{group[:1], group[1:]}[first] {
				names = append(names, u.name)
				p.both(t, putCall(u.name, u.body(machines)))
			}
		}
		if first == 0 {
			p.waitPlaced(t, names)
		}
	}
	t.Cleanup(func() {
		for _, name := range names {
			send(p.real, deleteCall(name))
			send(p.double, deleteCall(name))
		}
	})
	double := outcome(t, p.double, names)
	var real map[string]string
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		if real = outcome(t, p.real, names); len(differences(real, double)) == 0 {
			break
		}
	}
	require.Len(t, real, len(names), "units that the first page of the listing has not")
	for _, name := range names {
		known := knownPlacements[name]
		switch {
		case known == "":
			assert.Equal(t, real[name], double[name], name)
		case real[name] == double[name]:
			assert.Fail(t, "a known difference is gone", "%s: %s: %s", name, known, real[name])
		}
	}
}

// waitPlaced waits until the real cluster has found a machine for all units that the double has found one for.
func (p pair) waitPlaced(t *testing.T, names []string) {
	where := func(endpoint string) []string {
		var placed []string
		for name, told := range outcome(t, endpoint, names) {
			if !strings.Contains(told, " on ,") && !strings.HasSuffix(told, " on ") {
				placed = append(placed, name)
			}
		}
		slices.Sort(placed)
		return placed
	}
	require.Eventually(t, func() bool { return slices.Equal(where(p.real), where(p.double)) }, lifeLimit, time.Second)
}

// differences are the units that differ and may not.
func differences(a, b map[string]string) []string {
	var differ []string
	for name := range a {
		if a[name] != b[name] && knownPlacements[name] == "" {
			differ = append(differ, name)
		}
	}
	return differ
}

// outcome tells of each unit what the listings show.
func outcome(t *testing.T, endpoint string, names []string) map[string]string {
	var units struct {
		Units []struct{ Name, CurrentState, DesiredState, MachineID string }
	}
	var states struct {
		States []struct{ Name, MachineID, SystemdLoadState, SystemdActiveState, SystemdSubState string }
	}
	for path, into := range map[string]any{"/units": &units, "/state": &states} {
		answer := send(endpoint, getCall(path))
		require.NoError(t, json.Unmarshal([]byte(answer.body), into), answer)
	}
	told := map[string]string{}
	for _, u := range units.Units {
		if !slices.Contains(names, u.Name) {
			continue
		}
		told[u.Name] = u.DesiredState + "/" + u.CurrentState + " on " + u.MachineID
		for _, s := range states.States {
			if s.Name == u.Name {
				told[u.Name] += fmt.Sprintf(", %s/%s/%s on %s", s.SystemdLoadState, s.SystemdActiveState, s.SystemdSubState, s.MachineID)
			}
		}
	}
	return told
}
