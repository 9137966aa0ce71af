package logging

import (
	"io"
	"log/slog"
	"os"
	"strings"
)

// Config is what NewLogger needs.
type Config struct {
	// Name is put on each line, as name=…; empty by default, and then left out.
	Name string
	// LogLevel is the lowest level that is printed: DEBUG, INFO, NOTICE, WARNING, ERROR or CRITICAL, in upper or lower
	// case. INFO by default, and also when it is none of these.
	LogLevel string
	// Color colours the level on each line with ANSI escapes, whether standard error is a terminal or not; off by default.
	Color bool
}

// DefaultConfig is level INFO, without name and colour.
func DefaultConfig() Config {
	return Config{LogLevel: levelNames[slog.LevelInfo]}
}

// NewLogger writes one line of text per call to standard error, in the format of slog.TextHandler: time, level,
// message, name, and the attributes of ContextWithAttrs. A message of several lines is quoted onto one. What can't be
// written is lost without an error.
func NewLogger(config Config) Logger {
	return newLogger(config, os.Stderr)
}

func newLogger(config Config, w io.Writer) Logger {
	if config.Color {
		w = colorWriter{to: w}
	}
	var handler slog.Handler = slog.NewTextHandler(w, &slog.HandlerOptions{
		Level:       parseLevel(config.LogLevel),
		ReplaceAttr: ReplaceLevel,
	})
	if config.Name != "" {
		handler = handler.WithAttrs([]slog.Attr{slog.String("name", config.Name)})
	}
	return FromSlog(slog.New(handler))
}

func parseLevel(name string) slog.Level {
	for level, known := range levelNames {
		if strings.EqualFold(name, known) {
			return level
		}
	}
	return slog.LevelInfo
}
