package task

import (
	"context"
	"log/slog"
	"time"

	"github.com/squadronctl/squadron/logging"
)

// KeepOn returns a context for work that a cancelled task still has to bring to its end. It has the values of ctx, which
// is an action's context or derived from one, but ends neither at Cancel nor when ctx does nor when the action returns:
// only at the Shutdown of the task's service, with context.Canceled. It has no deadline and nothing to release. For a
// ctx that comes from no action it is context.WithoutCancel(ctx).
func KeepOn(ctx context.Context) context.Context {
	service, ok := ctx.Value(serviceKey{}).(context.Context)
	if !ok {
		return context.WithoutCancel(ctx)
	}
	return &serviceContext{values: ctx, service: service}
}

// serviceKey is where a context tells the context of the service that it belongs to.
type serviceKey struct{}

// serviceContext has the values of one context and the lifetime of another, that of a service.
type serviceContext struct {
	values  context.Context
	service context.Context
}

func (c *serviceContext) Deadline() (time.Time, bool) { return c.service.Deadline() }
func (c *serviceContext) Done() <-chan struct{}       { return c.service.Done() }
func (c *serviceContext) Err() error                  { return c.service.Err() }

// Value asks the service's context first. That has no values, but answers package context's own questions about who
// ends this context and why; values would answer them wrongly.
func (c *serviceContext) Value(key any) any {
	if key == (serviceKey{}) {
		return c.service
	}
	if v := c.service.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

// actionContext is the context of the action of one task: the values of ctx, the lifetime of the service, and an end of
// its own.
func actionContext(ctx, service context.Context, taskID string) (context.Context, context.CancelCauseFunc) {
	ctx = &serviceContext{values: ctx, service: service}
	ctx = context.WithValue(ctx, ContextTaskID, taskID)
	ctx = logging.ContextWithAttrs(ctx, slog.String("task", taskID))
	return context.WithCancelCause(ctx)
}
