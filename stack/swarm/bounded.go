package swarm

import (
	"context"
	"time"

	"github.com/moby/moby/client"
)

// requestTimeout is how long one request may take. None of those that are made waits for anything.
const requestTimeout = time.Minute

// bounded is an API that does not wait for ever for an engine that has stopped answering.
type bounded struct{ of API }

// bound makes one request.
func bound[R any](ctx context.Context, request func(context.Context) (R, error)) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return request(ctx)
}

func (b bounded) ServiceList(ctx context.Context, options client.ServiceListOptions) (client.ServiceListResult, error) {
	return bound(ctx, func(ctx context.Context) (client.ServiceListResult, error) { return b.of.ServiceList(ctx, options) })
}

func (b bounded) ServiceInspect(ctx context.Context, id string, options client.ServiceInspectOptions) (client.ServiceInspectResult, error) {
	return bound(ctx, func(ctx context.Context) (client.ServiceInspectResult, error) {
		return b.of.ServiceInspect(ctx, id, options)
	})
}

func (b bounded) ServiceCreate(ctx context.Context, options client.ServiceCreateOptions) (client.ServiceCreateResult, error) {
	return bound(ctx, func(ctx context.Context) (client.ServiceCreateResult, error) { return b.of.ServiceCreate(ctx, options) })
}

func (b bounded) ServiceUpdate(ctx context.Context, id string, options client.ServiceUpdateOptions) (client.ServiceUpdateResult, error) {
	return bound(ctx, func(ctx context.Context) (client.ServiceUpdateResult, error) {
		return b.of.ServiceUpdate(ctx, id, options)
	})
}

func (b bounded) ServiceRemove(ctx context.Context, id string, options client.ServiceRemoveOptions) (client.ServiceRemoveResult, error) {
	return bound(ctx, func(ctx context.Context) (client.ServiceRemoveResult, error) {
		return b.of.ServiceRemove(ctx, id, options)
	})
}

func (b bounded) TaskList(ctx context.Context, options client.TaskListOptions) (client.TaskListResult, error) {
	return bound(ctx, func(ctx context.Context) (client.TaskListResult, error) { return b.of.TaskList(ctx, options) })
}

func (b bounded) NodeList(ctx context.Context, options client.NodeListOptions) (client.NodeListResult, error) {
	return bound(ctx, func(ctx context.Context) (client.NodeListResult, error) { return b.of.NodeList(ctx, options) })
}

func (b bounded) NetworkList(ctx context.Context, options client.NetworkListOptions) (client.NetworkListResult, error) {
	return bound(ctx, func(ctx context.Context) (client.NetworkListResult, error) { return b.of.NetworkList(ctx, options) })
}

func (b bounded) NetworkInspect(ctx context.Context, id string, options client.NetworkInspectOptions) (client.NetworkInspectResult, error) {
	return bound(ctx, func(ctx context.Context) (client.NetworkInspectResult, error) {
		return b.of.NetworkInspect(ctx, id, options)
	})
}

func (b bounded) NetworkCreate(ctx context.Context, name string, options client.NetworkCreateOptions) (client.NetworkCreateResult, error) {
	return bound(ctx, func(ctx context.Context) (client.NetworkCreateResult, error) {
		return b.of.NetworkCreate(ctx, name, options)
	})
}

func (b bounded) NetworkRemove(ctx context.Context, id string, options client.NetworkRemoveOptions) (client.NetworkRemoveResult, error) {
	return bound(ctx, func(ctx context.Context) (client.NetworkRemoveResult, error) {
		return b.of.NetworkRemove(ctx, id, options)
	})
}

func (b bounded) ConfigList(ctx context.Context, options client.ConfigListOptions) (client.ConfigListResult, error) {
	return bound(ctx, func(ctx context.Context) (client.ConfigListResult, error) { return b.of.ConfigList(ctx, options) })
}

func (b bounded) ConfigInspect(ctx context.Context, id string, options client.ConfigInspectOptions) (client.ConfigInspectResult, error) {
	return bound(ctx, func(ctx context.Context) (client.ConfigInspectResult, error) {
		return b.of.ConfigInspect(ctx, id, options)
	})
}

func (b bounded) ConfigCreate(ctx context.Context, options client.ConfigCreateOptions) (client.ConfigCreateResult, error) {
	return bound(ctx, func(ctx context.Context) (client.ConfigCreateResult, error) { return b.of.ConfigCreate(ctx, options) })
}

func (b bounded) ConfigRemove(ctx context.Context, id string, options client.ConfigRemoveOptions) (client.ConfigRemoveResult, error) {
	return bound(ctx, func(ctx context.Context) (client.ConfigRemoveResult, error) {
		return b.of.ConfigRemove(ctx, id, options)
	})
}

func (b bounded) SecretList(ctx context.Context, options client.SecretListOptions) (client.SecretListResult, error) {
	return bound(ctx, func(ctx context.Context) (client.SecretListResult, error) { return b.of.SecretList(ctx, options) })
}

func (b bounded) SecretInspect(ctx context.Context, id string, options client.SecretInspectOptions) (client.SecretInspectResult, error) {
	return bound(ctx, func(ctx context.Context) (client.SecretInspectResult, error) {
		return b.of.SecretInspect(ctx, id, options)
	})
}

func (b bounded) SecretCreate(ctx context.Context, options client.SecretCreateOptions) (client.SecretCreateResult, error) {
	return bound(ctx, func(ctx context.Context) (client.SecretCreateResult, error) { return b.of.SecretCreate(ctx, options) })
}

func (b bounded) SecretRemove(ctx context.Context, id string, options client.SecretRemoveOptions) (client.SecretRemoveResult, error) {
	return bound(ctx, func(ctx context.Context) (client.SecretRemoveResult, error) {
		return b.of.SecretRemove(ctx, id, options)
	})
}
