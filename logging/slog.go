package logging

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"time"
)

// FromSlog writes to l. The context of each call reaches l's handler, the attributes of ContextWithAttrs stand on the
// line, and the source that a handler may add is the place that logged. Notice and Critical use LevelNotice and
// LevelCritical. Nothing is formatted for a level that l has disabled. What the handler can't write is lost without an
// error. FromSlog(nil) is Silent().
func FromSlog(l *slog.Logger) Logger {
	if l == nil || l.Handler() == nil {
		return Silent()
	}
	return &slogLogger{handler: l.Handler()}
}

type slogLogger struct {
	handler slog.Handler
}

func (l *slogLogger) Debug(ctx context.Context, f string, v ...interface{}) {
	l.log(ctx, slog.LevelDebug, f, v)
}

func (l *slogLogger) Info(ctx context.Context, f string, v ...interface{}) {
	l.log(ctx, slog.LevelInfo, f, v)
}

func (l *slogLogger) Notice(ctx context.Context, f string, v ...interface{}) {
	l.log(ctx, LevelNotice, f, v)
}

func (l *slogLogger) Warning(ctx context.Context, f string, v ...interface{}) {
	l.log(ctx, slog.LevelWarn, f, v)
}

func (l *slogLogger) Error(ctx context.Context, f string, v ...interface{}) {
	l.log(ctx, slog.LevelError, f, v)
}

func (l *slogLogger) Critical(ctx context.Context, f string, v ...interface{}) {
	l.log(ctx, LevelCritical, f, v)
}

// log must be called by the exported methods only: it skips their frame to find who logged.
func (l *slogLogger) log(ctx context.Context, level slog.Level, f string, v []interface{}) {
	if ctx == nil {
		ctx = context.Background()
	}
	if !l.handler.Enabled(ctx, level) {
		return
	}
	var caller [1]uintptr
	runtime.Callers(3, caller[:])
	record := slog.NewRecord(time.Now(), level, fmt.Sprintf(f, v...), caller[0])
	record.AddAttrs(contextAttrs(ctx)...)
	_ = l.handler.Handle(ctx, record)
}
