package swarm

import (
	"context"
	"time"

	"github.com/moby/moby/api/types/swarm"

	"github.com/squadronctl/squadron/internal/errmask"
)

// isMoving says whether Swarm replaces tasks of a service.
func isMoving(service *swarm.Service) bool {
	state := updateOf(service).State
	return state == swarm.UpdateStateUpdating || state == swarm.UpdateStateRollbackStarted
}

// awaitRollout waits until Swarm has done with an earlier write to a service. Another write would have it begin anew at any task,
// while the ones that it was at are still down: more of them than the service's update_config allows. A rollout of which nothing
// has moved for WaitTimeout is not waited for: what is written may be what mends it.
func (d *deployment) awaitRollout(ctx context.Context, name string) error {
	d.engine.logger.Notice(ctx, "stack %s: service %s waits for the end of the rollout that is under way", d.req.Name, name)
	w := &waiting{name: name, dead: map[string]bool{}}
	for progress := time.Now(); ; {
		there, err := d.engine.lookAt(ctx, d.req.Name)
		if err != nil {
			return errmask.Maskf(err, "wait for the rollout of service %s that is under way", name)
		}
		service, found := there.service(name)
		if !found || !isMoving(&service) {
			return nil
		}
		if w.look(&service, there.copies(&service)) {
			progress = time.Now()
		}
		if time.Since(progress) >= d.engine.config.WaitTimeout+longestPause(there, []*waiting{w}) {
			return nil
		}
		if err := pause(ctx, d.engine.config.PollInterval); err != nil {
			return errmask.Maskf(err, "wait for the rollout of service %s that is under way", name)
		}
	}
}
