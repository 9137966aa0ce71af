package logging

import "context"

// Silent is a Logger that drops everything and formats nothing.
func Silent() Logger {
	return silent{}
}

// OrSilent is l, or Silent() when l is nil. Whatever takes a Logger passes it through here once, and then calls it
// without a check.
func OrSilent(l Logger) Logger {
	if l == nil {
		return Silent()
	}
	return l
}

type silent struct{}

func (silent) Debug(context.Context, string, ...interface{})    {}
func (silent) Info(context.Context, string, ...interface{})     {}
func (silent) Notice(context.Context, string, ...interface{})   {}
func (silent) Warning(context.Context, string, ...interface{})  {}
func (silent) Error(context.Context, string, ...interface{})    {}
func (silent) Critical(context.Context, string, ...interface{}) {}
