package logging_test

import (
	"context"
	"log/slog"
	"os"

	"github.com/squadronctl/squadron/logging"
)

// A program that has a *slog.Logger gives it to Squadron like this. ReplaceLevel makes its handler print NOTICE and
// CRITICAL by name; the time is left out to have the same output each time.
func ExampleFromSlog() {
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, attr slog.Attr) slog.Attr {
			if attr.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return logging.ReplaceLevel(groups, attr)
		},
	})
	logger := logging.FromSlog(slog.New(handler))

	ctx := logging.ContextWithAttrs(context.Background(), slog.String("task", "42"))
	logger.Notice(ctx, "group %s is up to date", "webshop")
	logger.Debug(ctx, "not printed: the handler starts at INFO")
	// Output: level=NOTICE msg="group webshop is up to date" task=42
}
