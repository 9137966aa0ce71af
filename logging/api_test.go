package logging_test

import (
	"context"

	"github.com/squadronctl/squadron/logging"
)

// Every name of spec/companions.md at its exact type: this file compiles or the contract is broken.
var (
	_ func() logging.Config               = logging.DefaultConfig
	_ func(logging.Config) logging.Logger = logging.NewLogger
	_ exactLogger                         = logging.Logger(nil)
	_ logging.Logger                      = exactLogger(nil)
	_                                     = logging.Config{Name: "", LogLevel: "", Color: true}
)

type exactLogger interface {
	Debug(ctx context.Context, f string, v ...interface{})
	Info(ctx context.Context, f string, v ...interface{})
	Notice(ctx context.Context, f string, v ...interface{})
	Warning(ctx context.Context, f string, v ...interface{})
	Error(ctx context.Context, f string, v ...interface{})
	Critical(ctx context.Context, f string, v ...interface{})
}
