package controller

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
)

// entry is a launched unit on the machines whose systemd states are given.
func entry(name, hash string, actives ...string) fleet.UnitStatus {
	status := fleet.UnitStatus{Name: name, Current: "launched", Desired: "launched"}
	if parsed, err := parseUnitName(name); err == nil {
		status.SliceID = parsed.sliceID
	}
	for i, active := range actives {
		status.Machine = append(status.Machine,
			fleet.MachineStatus{ID: fmt.Sprint("m", i), SystemdActive: active, SystemdSub: "running", UnitHash: hash})
	}
	return status
}

func with(status fleet.UnitStatus, change func(*fleet.UnitStatus)) fleet.UnitStatus {
	change(&status)
	return status
}

func star(status fleet.UnitStatus) fleet.UnitStatus {
	return with(status, func(s *fleet.UnitStatus) { s.Name = "*" })
}

func TestGroup(t *testing.T) {
	a1, b1 := entry("web-a@1.service", "ha", "active"), entry("web-b@1.service", "hb", "active")
	a2, b2 := entry("web-a@2.service", "ha", "active"), entry("web-b@2.service", "hb", "active")
	a11, b11 := entry("web-a@11.service", "ha", "active"), entry("web-b@11.service", "hb", "active")
	b2failed := entry("web-b@2.service", "hb", "failed")
	loaded := with(b2, func(s *fleet.UnitStatus) { s.Current = "loaded" })
	wanted := with(b2, func(s *fleet.UnitStatus) { s.Desired = "loaded" })
	otherSub := with(entry("web-b@2.service", "hb", "active"), func(s *fleet.UnitStatus) { s.Machine[0].SystemdSub = "exited" })

	for name, c := range map[string]struct{ list, want UnitStatusList }{
		"nothing":                   {nil, UnitStatusList{}},
		"two slices":                {UnitStatusList{a1, a2, b1, b2}, UnitStatusList{star(a1), star(a2)}},
		"slices 1 and 11 (C16)":     {UnitStatusList{a11, a1, b11, b1}, UnitStatusList{star(a11), star(a1)}},
		"active differs":            {UnitStatusList{a1, a2, b1, b2failed}, UnitStatusList{star(a1), a2, b2failed}},
		"an entry keeps its place":  {UnitStatusList{a2, a1, b2failed, b1}, UnitStatusList{a2, star(a1), b2failed}},
		"current differs":           {UnitStatusList{a2, loaded}, UnitStatusList{a2, loaded}},
		"desired differs":           {UnitStatusList{a2, wanted}, UnitStatusList{a2, wanted}},
		"the sub state is no state": {UnitStatusList{a2, otherSub}, UnitStatusList{star(a2)}},
		"one base, two hashes": {
			UnitStatusList{a1, b1, entry("web-a@2.service", "other", "active"), b2},
			UnitStatusList{a1, b1, entry("web-a@2.service", "other", "active"), b2},
		},
		"two hashes on two machines": {
			UnitStatusList{with(entry("web@1.service", "h", "active", "active"), func(s *fleet.UnitStatus) { s.Machine[1].UnitHash = "x" })},
			UnitStatusList{with(entry("web@1.service", "h", "active", "active"), func(s *fleet.UnitStatus) { s.Machine[1].UnitHash = "x" })},
		},
		// C21: a service and its timer are two bases, each with a hash of its own.
		"bases with their suffix (C21)": {
			UnitStatusList{entry("job@1.service", "hs", "active"), entry("job@1.timer", "ht", "active")},
			UnitStatusList{star(entry("job@1.service", "hs", "active"))},
		},
		"dots in slice IDs (C15)": {
			UnitStatusList{entry("ovs@10.0.0.7.service", "h", "active"), entry("ovs@10.0.0.8.service", "h", "failed")},
			UnitStatusList{star(entry("ovs@10.0.0.7.service", "h", "active")), star(entry("ovs@10.0.0.8.service", "h", "failed"))},
		},
		"names without suffix": {
			UnitStatusList{entry("web-a@1", "h", "active"), entry("web-b@1", "g", "active"), entry("web-a@11", "h", "failed")},
			UnitStatusList{star(entry("web-a@1", "h", "active")), star(entry("web-a@11", "h", "failed"))},
		},
		"several machines, one state": {
			UnitStatusList{entry("web-a@1.service", "h", "active", "active"), entry("web-b@1.service", "g", "active")},
			UnitStatusList{star(entry("web-a@1.service", "h", "active", "active"))},
		},
		"several machines, two states": {
			UnitStatusList{entry("web-a@1.service", "h", "active", "failed"), entry("web-b@1.service", "g", "active")},
			UnitStatusList{entry("web-a@1.service", "h", "active", "failed"), entry("web-b@1.service", "g", "active")},
		},
		"no machine anywhere": {
			UnitStatusList{entry("web-a@1.service", ""), entry("web-b@1.service", "")},
			UnitStatusList{star(entry("web-a@1.service", ""))},
		},
		"a machine for one of two": {
			UnitStatusList{entry("web-a@1.service", "h", ""), entry("web-b@1.service", "")},
			UnitStatusList{entry("web-a@1.service", "h", ""), entry("web-b@1.service", "")},
		},
		"without slices": {
			UnitStatusList{entry("db.service", "h", "active"), entry("db.timer", "g", "active")},
			UnitStatusList{star(entry("db.service", "h", "active"))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(c.list)
			grouped, err := c.list.Group()
			require.NoError(t, err)
			assert.Equal(t, c.want, append(UnitStatusList{}, grouped...))
			assert.Equal(t, before, c.list, "the list has been changed")
		})
	}
}

func TestGroupInvalidNames(t *testing.T) {
	for _, name := range []string{"", "@1.service", "web@1@2.service", "*"} {
		_, err := UnitStatusList{entry("web@1.service", "h", "active"), entry(name, "h", "active")}.Group()
		assert.True(t, IsInvalidUnitStatus(err), name)
	}
}

// The time of an entry is the same in a long list as in a short one.
func BenchmarkGroup(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		list := make(UnitStatusList, 0, 2*n)
		for i := range n {
			list = append(list, entry(fmt.Sprintf("web-a@%x.service", i), "ha", "active"),
				entry(fmt.Sprintf("web-b@%x.service", i), "hb", "active"))
		}
		b.Run(fmt.Sprintf("slices=%d", n), func(b *testing.B) {
			for b.Loop() {
				grouped, err := list.Group()
				if err != nil || len(grouped) != n {
					b.Fatal(len(grouped), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(list)), "ns/unit")
		})
	}
}
