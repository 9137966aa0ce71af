package controller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/squadronctl/squadron/fleet"
)

func judgeOf(statuses ...Status) *judge {
	c := &controller{config: Config{}.withDefaults()}
	return c.newJudge(statuses...)
}

// unitIn is a launched unit with a systemd state "active/sub" for each machine.
func unitIn(states ...string) *fleet.UnitDetail {
	detail := &fleet.UnitDetail{UnitStatus: fleet.UnitStatus{Name: "web@1.service", Current: "launched", Desired: "launched"}}
	detail.Machine = machines(states...)
	for i := range detail.Machine {
		detail.Machine[i].ID = string(rune('a' + i))
	}
	return detail
}

func changed(detail *fleet.UnitDetail, change func(*fleet.UnitDetail)) *fleet.UnitDetail {
	change(detail)
	return detail
}

// R12, R13, R14: what one look tells.
func TestJudgeOneLookR12R13R14(t *testing.T) {
	hash := func(current, reported string) func(*fleet.UnitDetail) {
		return func(d *fleet.UnitDetail) { d.Hash, d.Machine[0].UnitHash = current, reported }
	}
	missing := func(n int) func(*fleet.UnitDetail) {
		return func(d *fleet.UnitDetail) { d.Global, d.Missing = true, n }
	}
	running, stopped, gone := []Status{StatusRunning}, []Status{StatusStopped, StatusFailed}, []Status{StatusNotFound}
	for name, c := range map[string]struct {
		wanted    []Status
		stateless bool
		detail    *fleet.UnitDetail
		has       bool
	}{
		"running":                         {running, false, unitIn("active/running"), true},
		"starting":                        {running, false, unitIn("activating/start"), false},
		"every machine":                   {running, false, unitIn("active/running", "active/running"), true},
		"not every machine":               {running, false, unitIn("active/running", "activating/start"), false},
		"any status":                      {[]Status{StatusRunning, StatusStarting}, false, unitIn("active/running", "activating/start"), true},
		"unknown":                         {running, false, unitIn("pondering/on"), false},
		"unknown, stopping":               {stopped, true, unitIn("pondering/on"), false},
		"the content's hash":              {running, false, changed(unitIn("active/running"), hash("x", "x")), true},
		"another content's hash":          {running, false, changed(unitIn("active/running"), hash("x", "y")), false},
		"no hash yet":                     {running, false, changed(unitIn("active/running"), hash("x", "")), false},
		"a reported hash only":            {running, false, changed(unitIn("active/running"), hash("", "y")), true},
		"stopping, no hash":               {stopped, true, changed(unitIn("inactive/dead"), hash("x", "")), true},
		"stopping, another":               {stopped, true, changed(unitIn("inactive/dead"), hash("x", "y")), false},
		"global":                          {running, false, changed(unitIn("active/running", "active/running"), missing(0)), true},
		"global, one missing":             {running, false, changed(unitIn("active/running"), missing(1)), false},
		"global, nowhere":                 {running, false, changed(unitIn(), missing(0)), false},
		"global, stopping, one missing":   {stopped, true, changed(unitIn("inactive/dead"), missing(1)), true},
		"no machine":                      {running, false, unitIn(), false},
		"no machine, stopped wanted":      {stopped, false, unitIn(), false},
		"no machine, stopping":            {stopped, true, unitIn(), true},
		"failed, stopping":                {stopped, true, unitIn("failed/failed"), true},
		"not there":                       {running, false, nil, false},
		"not there, wanted":               {gone, false, nil, true},
		"there, not-found wanted":         {gone, false, unitIn("active/running"), false},
		"no machine, not-found wanted":    {gone, false, unitIn(), false},
		"not there, stopping":             {stopped, true, nil, false},
		"restarting is starting":          {running, false, unitIn("activating/auto-restart"), false},
		"stopped while running is wanted": {running, false, unitIn("inactive/dead"), false},
	} {
		j := judgeOf(c.wanted...)
		j.stateless = c.stateless
		has, failed := j.look("web@1.service", c.detail, time.Now(), true)
		assert.Equal(t, c.has, has, name)
		assert.False(t, failed, name)
	}
}

// R17: f is a look that shows the unit failed, r running, a restarting, ? nothing known; a capital is the look at which
// the wait is given up. Looks are a second apart.
func TestJudgeFailuresR17(t *testing.T) {
	states := map[rune]*fleet.UnitDetail{
		'f': unitIn("failed/failed"), 'r': unitIn("active/running"), 'a': unitIn("activating/auto-restart"),
		'?': unitIn("pondering/on"), '-': nil, 'm': unitIn(), '2': unitIn("active/running", "failed/failed"),
	}
	f30 := "ffffffffffffffffffffffffffffff"
	for name, c := range map[string]struct {
		before bool
		looks  string
		given  int // the number of looks after which it is given up; 0 for never
		wanted []Status
	}{
		"three in a row":                   {false, "rfffff", 4, nil},
		"two are not enough":               {false, "ffrffaff", 0, nil},
		"one that says nothing in between": {false, "ff?fff", 6, nil},
		"on one of its machines":           {false, "222", 3, nil},
		"restarting":                       {false, "aaaaaaa", 0, nil},
		"before":                           {true, "ffffff", 0, nil},
		"before, then another state":       {true, "fffafff", 7, nil},
		"before, then taken from machine":  {true, "fffmfff", 7, nil},
		"before, then a look of nothing":   {true, "fff?ffff", 0, nil},
		"before, for FailureGrace":         {true, f30 + "ff", 31, nil},
		"failed is wanted":                 {false, "ffff", 0, []Status{StatusRunning, StatusFailed}},
		"running is not":                   {false, "ffff", 0, []Status{StatusStopped}},
		"gone":                             {false, "ff-ff", 0, nil},
	} {
		if c.wanted == nil {
			c.wanted = []Status{StatusRunning}
		}
		j := judgeOf(c.wanted...)
		if c.before {
			j.failedBefore = map[string]bool{"web@1.service": true}
		}
		given := 0
		for i, look := range c.looks {
			_, failed := j.look("web@1.service", states[look], j.began.Add(time.Duration(i)*time.Second), true)
			if failed && given == 0 {
				given = i + 1
			}
		}
		assert.Equal(t, c.given, given, name)
	}
}

// R17a: a is activating, i inactive and launched, l inactive and only loaded, f failed, r active. The number is that of
// the first look at which the oneshot counts as running, looks being a second apart; 0 is never.
func TestJudgeOneshotR17a(t *testing.T) {
	loaded := func(d *fleet.UnitDetail) { d.Current = "loaded" }
	states := map[rune]*fleet.UnitDetail{
		'a': unitIn("activating/start"), 'i': unitIn("inactive/dead"), 'f': unitIn("failed/failed"), 'r': unitIn("active/exited"),
		'l': changed(unitIn("inactive/dead"), loaded), 's': unitIn("deactivating/stop-post"),
		'x': unitIn("inactive/dead", "activating/start"), 'y': unitIn("inactive/dead", "inactive/dead"),
	}
	i30 := "iiiiiiiiiiiiiiiiiiiiiiiiiiiiii"
	for name, c := range map[string]struct {
		looks string
		first int
	}{
		"seen to run":              {"laaii", 4},
		"seen to stop":             {"lsi", 3},
		"not seen to run":          {"l" + i30 + "ii", 32},
		"broken off":               {"iiiiil" + i30 + "ii", 37},
		"only loaded":              {"lllllll" + "llllllllllllllllllllllllllllll", 0},
		"failed":                   {"aaffff", 0},
		"runs still":               {"aar", 3},
		"on all of its machines":   {"xxyy", 0},
		"and then all have run it": {"xx" + "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy", 31},
	} {
		for _, byRequest := range []bool{false, true} {
			j := judgeOf(StatusRunning)
			if byRequest {
				j.oneshots = map[string]bool{"web@.service": true}
			}
			first := 0
			for i, look := range c.looks {
				detail := *states[look]
				detail.Oneshot = !byRequest
				has, _ := j.look("web@1.service", &detail, j.began.Add(time.Duration(i)*time.Second), true)
				if has && first == 0 {
					first = i + 1
				}
			}
			assert.Equal(t, c.first, first, name)
		}
	}
	j := judgeOf(StatusRunning)
	for i := range 100 {
		has, _ := j.look("web@1.service", states['i'], j.began.Add(time.Duration(i)*time.Second), true)
		assert.False(t, has, "no/oneshot")
	}
}

// R16: what the timeout says of a unit.
func TestDescribeR16(t *testing.T) {
	for want, detail := range map[string]*fleet.UnitDetail{
		"is not there": nil,
		"is launched (desired launched), and no machine took it":                  unitIn(),
		"is launched (desired launched), systemd says failed/failed on machine a": unitIn("failed/failed"),
		"is nothing (desired launched), systemd says nothing/nothing on machine a": changed(unitIn("failed/failed"), func(d *fleet.UnitDetail) {
			d.Current = ""
			d.Machine[0].SystemdActive = ""
			d.Machine[0].SystemdSub = ""
		}),
		"is launched (desired launched), systemd says active/running on machine a of the content before": changed(unitIn("active/running"), func(d *fleet.UnitDetail) {
			d.Hash, d.Machine[0].UnitHash = "x", "y"
		}),
		"is launched (desired launched), systemd says active/running on machine a, 2 machines do not have it yet": changed(unitIn("active/running"), func(d *fleet.UnitDetail) {
			d.Global, d.Missing = true, 2
		}),
	} {
		assert.Equal(t, want, describe(detail))
	}
}

// R17: a unit file that systemd could not load won't run, however inactive it looks.
func TestJudgeLoadErrorR17(t *testing.T) {
	j := judgeOf(StatusRunning)
	broken := changed(unitIn("inactive/dead"), func(d *fleet.UnitDetail) { d.LoadError = "bad-setting" })
	for look := 1; look <= j.waitCount; look++ {
		has, failed := j.look(broken.Name, broken, time.Now(), true)
		assert.False(t, has)
		assert.Equal(t, look == j.waitCount, failed)
	}
	assert.Contains(t, describe(broken), "could not load the unit file: bad-setting")

	j = judgeOf(StatusStopped)
	has, _ := j.look(broken.Name, broken, time.Now(), true)
	assert.True(t, has, "it is stopped all the same")
}

// R17a: a look that catches the oneshot active counts, also where its being active is what was waited for.
func TestJudgeOneshotCaughtActiveR17a(t *testing.T) {
	j := judgeOf(StatusRunning)
	oneshot := func(state string) *fleet.UnitDetail {
		return changed(unitIn(state), func(d *fleet.UnitDetail) { d.Oneshot = true })
	}
	has, _ := j.look("web@1.service", oneshot("active/running"), time.Now(), true)
	assert.True(t, has)
	has, _ = j.look("web@1.service", oneshot("inactive/dead"), time.Now(), true)
	assert.True(t, has, "it has run")
}

// A global unit that no machine has does not run.
func TestActivityOfAGlobalUnitNowhere(t *testing.T) {
	c := &controller{config: Config{}.withDefaults()}
	nowhere := changed(unitIn(), func(d *fleet.UnitDetail) { d.Global = true })
	assert.Equal(t, activityDown, c.activityOf(&comparedSlice{units: []fleet.UnitDetail{*nowhere}}, nil))
}
