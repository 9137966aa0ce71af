package logging

import (
	"context"
	"log/slog"
	"slices"
)

type attrsKey struct{}

// ContextWithAttrs returns a context with whose calls the loggers of NewLogger and FromSlog put attrs on the line, after
// those that ctx has already; one of the same key is replaced. Package task puts a task's ID there, as task=….
func ContextWithAttrs(ctx context.Context, attrs ...slog.Attr) context.Context {
	all := slices.Clone(contextAttrs(ctx))
	for _, attr := range attrs {
		all = slices.DeleteFunc(all, func(a slog.Attr) bool { return a.Key == attr.Key })
		all = append(all, attr)
	}
	return context.WithValue(ctx, attrsKey{}, all)
}

func contextAttrs(ctx context.Context) []slog.Attr {
	attrs, _ := ctx.Value(attrsKey{}).([]slog.Attr)
	return attrs
}
