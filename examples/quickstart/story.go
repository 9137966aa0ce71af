package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/task"
)

const desiredSlices, maxGrowth, minAlive = 3, 1, 2

// story is the life of one group, told to out.
type story struct {
	*environment
	out io.Writer
	req controller.Request
}

// tell goes through the steps. Whatever becomes of them, nothing of the group is left when it returns.
func (s *story) tell(ctx context.Context) error {
	next, changed, err := nextRelease(s.req)
	if err != nil {
		return err
	}
	s.say("Cluster: %s", s.cluster)
	if err := s.refuseToShare(ctx); err != nil {
		return err
	}
	err = s.live(ctx, next, changed)
	if err == nil {
		s.say("\nDone.")
		return nil
	}
	s.say("\nTaking group %s away again.", s.req.Group)
	if cleanupErr := s.cleanUp(ctx); cleanupErr != nil {
		return fmt.Errorf("%w; and what was made of the group could not be taken away: %w", err, cleanupErr)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}

// refuseToShare makes sure that the group is nobody's: the quickstart destroys it in the end.
func (s *story) refuseToShare(ctx context.Context) error {
	found, err := s.controller.GetStatus(ctx, s.req)
	switch {
	case controller.IsUnitNotFound(err):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("the cluster has %d units of group %s already, which would be changed and destroyed here", len(found), s.req.Group)
}

func (s *story) live(ctx context.Context, next controller.Request, changed string) error {
	if err := s.submit(ctx); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	s.say("\n4. Update: %s is to say %s instead of %s.", changed, newRelease, oldRelease)
	if err := s.update(ctx, next); err != nil {
		return err
	}
	if err := s.table(ctx); err != nil {
		return err
	}
	s.say("\n5. Stop and destroy the group.")
	return s.timed(func() error {
		if err := s.do(ctx, s.controller.Stop, s.req); err != nil {
			return err
		}
		return s.do(ctx, s.controller.Destroy, s.req)
	})
}

func (s *story) submit(ctx context.Context) error {
	s.say("\n1. Submit: %d slices of group %s, each with a copy of", desiredSlices, s.req.Group)
	for _, unit := range s.req.Units {
		s.say("     %s", unit.Name)
	}
	req := s.req
	req.DesiredSlices = desiredSlices
	return s.timed(func() error { return s.do(ctx, s.controller.Submit, req) })
}

func (s *story) start(ctx context.Context) error {
	s.say("\n2. Start all of them.")
	if err := s.timed(func() error { return s.do(ctx, s.controller.Start, s.req) }); err != nil {
		return err
	}
	s.say("\n3. Status, as fleet and systemd see each unit, and what that adds up to:")
	return s.table(ctx)
}

// update rolls the new content out, while a watch reports what it sees.
func (s *story) update(ctx context.Context, next controller.Request) error {
	opts := controller.UpdateOptions{MaxGrowth: maxGrowth, MinAlive: minAlive, ReadySecs: s.readySecs}
	s.say("   MaxGrowth %d: at most %d slices at any moment. MinAlive %d: at least %d running. ReadySecs %d: a new slice has to run so long.",
		maxGrowth, desiredSlices+maxGrowth, minAlive, minAlive, s.readySecs)
	w, err := newWatch(ctx, s)
	if err != nil {
		return err
	}
	stop := w.start(ctx)
	err = s.do(ctx, func(ctx context.Context, req controller.Request) (*task.Task, error) {
		return s.controller.Update(ctx, req, opts)
	}, next)
	if watchErr := stop(); err == nil {
		err = watchErr
	}
	if err != nil {
		return err
	}
	s.say("   Least running: %d, and MinAlive was %d. Most at once: %d of %d allowed. (Seen in %d looks.)",
		w.leastRunning, minAlive, w.most, desiredSlices+maxGrowth, w.looks)
	if w.leastRunning < minAlive {
		return fmt.Errorf("only %d slices ran at one moment, though MinAlive was %d", w.leastRunning, minAlive)
	}
	return nil
}

// cleanUp destroys what there is of the group, also when ctx has ended.
func (s *story) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWait)
	defer cancel()
	err := s.do(ctx, s.controller.Destroy, s.req)
	if controller.IsUnitNotFound(err) {
		return nil
	}
	return err
}

// timed says how long something took.
func (s *story) timed(step func() error) error {
	begin := time.Now()
	if err := step(); err != nil {
		return err
	}
	s.say("   Done after %.1f s.", time.Since(begin).Seconds())
	return nil
}

func (s *story) say(format string, args ...any) { fmt.Fprintf(s.out, format+"\n", args...) }
