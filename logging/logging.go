// Package logging is the Logger that every package of Squadron takes, and loggers that are ready to use.
//
// A nil Logger means silence anywhere in Squadron. NewLogger writes text to standard error, FromSlog writes to any
// *slog.Logger, and Silent drops everything.
package logging

import "context"

// Logger is what Squadron logs to. The context carries values, such as a task's ID, that a logger may add to a line;
// f and v are as for fmt.Sprintf. Implementations must be safe for use by many goroutines at once and must not block
// for long: operations log while they work.
type Logger interface {
	// Debug is for what helps to follow the code. Unit contents may appear here and nowhere above.
	Debug(ctx context.Context, f string, v ...interface{})
	// Info is for what is done on a user's behalf.
	Info(ctx context.Context, f string, v ...interface{})
	// Notice is for normal but significant events.
	Notice(ctx context.Context, f string, v ...interface{})
	// Warning is for what went on but deserves a look.
	Warning(ctx context.Context, f string, v ...interface{})
	// Error is for what went wrong and is returned to nobody.
	Error(ctx context.Context, f string, v ...interface{})
	// Critical is for a fault of the program itself, such as a panic in an action.
	Critical(ctx context.Context, f string, v ...interface{})
}
