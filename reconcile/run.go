package reconcile

import (
	"context"
	"math/rand/v2"
	"time"
)

// Run runs a Pass, waits for Interval and a random part of Jitter, and so on until ctx ends, which is no error.
// Config.Record is where one hears of the passes. A pass whose report could not be recorded is logged, and followed by
// the next as any other; only a Config that can't work ends Run with an error, at once.
//
// When ctx ends during a pass, Run returns as soon as the backend does.
func (r *Reconciler) Run(ctx context.Context) error {
	if err := r.cfg.validate(); err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if _, err := r.Pass(ctx); err != nil && ctx.Err() == nil {
			r.cfg.Logger.Error(ctx, "%v", err)
		}
		timer.Reset(r.cfg.Interval + rand.N(r.cfg.Jitter+1))
	}
}
