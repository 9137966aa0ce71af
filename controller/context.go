package controller

import (
	"context"
	"time"
)

// sleep waits, or ends with the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// endWith derives a context from ctx that ends with other too. The stop function releases it.
func endWith(ctx, other context.Context) (context.Context, context.CancelFunc) {
	derived, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(other, func() { cancel(context.Cause(other)) })
	return derived, func() {
		stop()
		cancel(nil)
	}
}
