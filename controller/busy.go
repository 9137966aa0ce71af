package controller

import (
	"sync"

	"github.com/squadronctl/squadron/internal/errmask"
)

// busyGroups knows which groups an Update or Scale of this controller works on (R43).
type busyGroups struct {
	mutex sync.Mutex
	held  map[string]*reservation // by group
}

// reservation is one Update's or Scale's hold on a group.
type reservation struct {
	groups  *busyGroups
	group   string
	bases   map[string]bool // unit bases of the update; none until they are known
	taskID  string          // empty until the task has been created
	control *updateControl
}

func newBusyGroups() *busyGroups { return &busyGroups{held: map[string]*reservation{}} }

// check refuses a change to a group that is busy.
func (b *busyGroups) check(group string) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.refusal(group)
}

// refusal is check with the lock held.
func (b *busyGroups) refusal(group string) error {
	holder := b.held[group]
	switch {
	case holder == nil:
		return nil
	case holder.taskID == "":
		return errmask.Maskf(errGroupBusy, "group %s: an update or scaling is about to start", group)
	default:
		return errmask.Maskf(errGroupBusy, "group %s: task %s updates or scales it", group, holder.taskID)
	}
}

// reserve makes the group busy, or refuses.
func (b *busyGroups) reserve(group string) (*reservation, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if err := b.refusal(group); err != nil {
		return nil, err
	}
	r := &reservation{groups: b, group: group, control: &updateControl{}}
	b.held[group] = r
	return r, nil
}

// claim tells which unit bases the update is about. Another group's update may have some of them: one group's name can be
// the beginning of another's.
func (r *reservation) claim(bases map[string]bool) error {
	r.groups.mutex.Lock()
	defer r.groups.mutex.Unlock()
	for base := range bases {
		if holder := r.groups.holderOf(base); holder != nil && holder != r {
			return r.groups.refusal(holder.group)
		}
	}
	r.bases = bases
	return nil
}

// checkUnits refuses a change to units that some group's update works on.
func (b *busyGroups) checkUnits(names []string) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, name := range names {
		if holder := b.holderOf(baseOf(name)); holder != nil {
			return errmask.Maskf(b.refusal(holder.group), "%s", name)
		}
	}
	return nil
}

// holderOf gives the reservation that a unit base belongs to, with the lock held.
func (b *busyGroups) holderOf(base string) *reservation {
	for _, holder := range b.held {
		if holder.bases[base] {
			return holder
		}
	}
	return nil
}

// controlOf gives the control of the update that a task carries out, nil where it carries out none.
func (b *busyGroups) controlOf(taskID string) *updateControl {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, holder := range b.held {
		if holder.taskID == taskID && taskID != "" {
			return holder.control
		}
	}
	return nil
}

// setTask tells which task the group is busy with.
func (r *reservation) setTask(taskID string) {
	r.groups.mutex.Lock()
	defer r.groups.mutex.Unlock()
	r.taskID = taskID
}

func (r *reservation) release() {
	r.groups.mutex.Lock()
	defer r.groups.mutex.Unlock()
	delete(r.groups.held, r.group)
}
