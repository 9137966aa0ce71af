package controller

import (
	"sync"

	"github.com/squadronctl/squadron/internal/errmask"
)

// busyGroups knows which groups an Update of this controller works on (R43).
type busyGroups struct {
	mutex sync.Mutex
	held  map[string]*reservation // by group
}

// reservation is one Update's hold on a group.
type reservation struct {
	groups *busyGroups
	group  string
	taskID string // empty until the task has been created
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
		return errmask.Maskf(errGroupBusy, "group %s: an update is about to start", group)
	default:
		return errmask.Maskf(errGroupBusy, "group %s: task %s updates it", group, holder.taskID)
	}
}

// reserve makes the group busy, or refuses.
func (b *busyGroups) reserve(group string) (*reservation, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if err := b.refusal(group); err != nil {
		return nil, err
	}
	r := &reservation{groups: b, group: group}
	b.held[group] = r
	return r, nil
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
