package controller_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/controller"
)

// judge gives what was wrong with the end of a scenario, or with the way there.
func (s scenario) judge(b *bench, check *boundsCheck, r *record) string {
	refused := controller.IsUpdateNotAllowed(r.err) || controller.IsUnitNotFound(r.err) || controller.IsUnitsAlreadyUpToDate(r.err) ||
		controller.IsUnitSliceNotFound(r.err) && r.namesNone() // they were replaced before the process was killed
	if len(check.findings) > 0 && !refused {
		return strings.Join(check.findings[:min(3, len(check.findings))], "\n") + fmt.Sprintf("\nended with %v", r.err)
	}
	var failure *controller.UpdateFailure
	switch now := b.contentBySlice("web"); {
	case refused:
		if now := b.desires("web-"); now != r.asked {
			return fmt.Sprintf("refused (%v), and yet changed\n%s\n%s", r.err, r.asked, now)
		}
		return ""
	case r.err == nil:
		if finding := s.judgeSuccess(r, now); finding != "" {
			return finding
		}
	case controller.IsUpdateFailed(r.err) && errors.As(r.err, &failure):
		if finding := s.judgeFailure(r, failure, now); finding != "" {
			return fmt.Sprintf("%s\nended with %v\nfrom %v\nto   %v", finding, r.err, r.before, now)
		}
	default:
		return fmt.Sprintf("an error of no known kind: %v", r.err)
	}
	return s.judgeEvents(b, check, r)
}

// namesNone says that the request names slices of which none was there.
func (r *record) namesNone() bool {
	return !slices.ContainsFunc(r.named, func(id string) bool { return r.before[id] != "" })
}

// judgeSuccess holds an update that succeeded against what is there.
func (s scenario) judgeSuccess(r *record, now map[string]string) string {
	wanted := s.wanted()
	if wanted == 0 {
		wanted = s.slices
	}
	bad := slices.DeleteFunc(having(now, "incomplete"), func(id string) bool {
		// Left by a process that was killed, and not among those that the request names.
		return len(r.named) > 0 && r.before[id] == "incomplete"
	})
	if len(bad) > 0 || len(now) != wanted {
		return fmt.Sprintf("succeeded with %v, and %d slices were wanted", now, wanted)
	}
	if s.scaleTo > 0 {
		return ""
	}
	for id, content := range now {
		mine := len(r.named) == 0 || slices.Contains(r.named, id)
		if mine && content != "v2" {
			return fmt.Sprintf("succeeded, and slice %s is old: %v", id, now)
		}
		if _, before := r.before[id]; before && mine && s.opts.Force {
			return fmt.Sprintf("succeeded, and slice %s was not replaced: %v", id, now)
		}
	}
	return ""
}

// judgeFailure holds what a failed update says of itself against what is there.
func (s scenario) judgeFailure(r *record, failure *controller.UpdateFailure, now map[string]string) string {
	said := slices.Concat(failure.New, failure.Old, failure.Leaving)
	slices.Sort(said)
	if there := slices.Sorted(maps.Keys(now)); !slices.Equal(said, there) {
		return fmt.Sprintf("it says that %v are there", said)
	}
	for _, id := range having(now, "incomplete") {
		// A process that was killed leaves what it had half written, and that may not have been taken up again.
		// What is rolled back comes back as it was.
		asBefore := failure.RolledBack && len(having(now, "incomplete")) <= len(having(r.before, "incomplete"))
		if len(failure.Leaving) == 0 && r.before[id] != "incomplete" && !asBefore {
			return "it left slice " + id + " incomplete"
		}
	}
	if !s.opts.Force && s.scaleTo == 0 {
		for _, id := range failure.New {
			if now[id] != "v2" {
				return fmt.Sprintf("it says that %s is new", id)
			}
		}
		for _, id := range failure.Old {
			if now[id] == "v2" {
				return fmt.Sprintf("it says that %s is old", id)
			}
		}
	}
	if failure.RolledBack {
		return judgeRollback(s, r, now)
	}
	return ""
}

// judgeRollback holds a group that was rolled back against what it was: as many slices of each content.
func judgeRollback(s scenario, r *record, now map[string]string) string {
	if !s.opts.Rollback {
		return "it rolled back, and was not asked to"
	}
	for _, content := range []string{"v1", "v2"} {
		if was, is := len(having(r.before, content)), len(having(now, content)); was != is {
			return fmt.Sprintf("it says that it rolled back; %d slices had %s, and %d have", was, content, is)
		}
	}
	return ""
}

// judgeEvents computes the numbers again from the events alone, and holds them against what the events say, against R22,
// and against the cluster at the end.
func (s scenario) judgeEvents(b *bench, check *boundsCheck, r *record) string {
	there, lost := map[string]controller.UpdateEvent{}, map[string]bool{}
	for i, event := range r.events {
		if i > 0 && event.Time.Before(r.events[i-1].Time) {
			return fmt.Sprintf("event %d is out of order: %v", i, event)
		}
		taken := event.Unit == "" && event.Phase == controller.PhaseStopping && there[event.Slice].Running
		ofUpdate := event.Phase == controller.PhasePaused || event.Phase == controller.PhaseResumed || event.Phase == controller.PhaseRollingBack
		if event.Unit == "" && !ofUpdate {
			if there[event.Slice].Running && !event.Running && event.Phase != controller.PhaseStopping {
				lost[event.Slice] = true
			}
			there[event.Slice] = event
			if event.Phase == controller.PhaseDestroyed {
				delete(there, event.Slice)
			}
		}
		counts := countsOf(there)
		if counts != event.Counts {
			return fmt.Sprintf("event %d says %v, and the events until then %+v", i, event, counts)
		}
		if finding := check.judgeCounts(counts, taken, len(lost)); finding != "" {
			return fmt.Sprintf("event %d: %v: %s", i, event, finding)
		}
	}
	if len(r.events) == 0 {
		return "" // there was nothing to do
	}
	known := slices.Sorted(maps.Keys(there))
	if now := slices.Sorted(maps.Keys(b.contentBySlice("web"))); !slices.Equal(known, now) {
		return fmt.Sprintf("by the events there are %v, and there are %v\nended with %v", known, now, r.err)
	}
	return ""
}

func countsOf(there map[string]controller.UpdateEvent) controller.UpdateCounts {
	var counts controller.UpdateCounts
	for _, event := range there {
		counts.Existing++
		if event.Running {
			counts.Running++
		}
		if event.Phase == controller.PhaseStopping {
			counts.Removing++
		}
	}
	return counts
}

// judgeCounts holds the numbers of one moment against R22. taken says that a slice which ran was taken up just now, which
// is when MinAlive has to hold: what does not run may go at any time.
func (c *boundsCheck) judgeCounts(counts controller.UpdateCounts, taken bool, lost int) string {
	switch {
	case counts.Existing > max(c.found, c.wanted)+c.opts.MaxGrowth:
		return "too many slices"
	case c.opts.MinAlive > 0 && counts.Removing > c.opts.MinAlive:
		return "too many removals"
	case taken && counts.Running < c.opts.MinAlive-lost-len(c.lost)-c.deficit:
		return "too few running"
	}
	return ""
}
