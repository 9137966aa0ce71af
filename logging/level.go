package logging

import "log/slog"

// The levels that slog has no constant for. A handler that does not know them prints INFO+2 and ERROR+4; see
// ReplaceLevel.
const (
	// LevelNotice is the slog level of Logger.Notice, between info and warning.
	LevelNotice = slog.LevelInfo + 2
	// LevelCritical is the slog level of Logger.Critical, above error.
	LevelCritical = slog.LevelError + 4
)

// levelNames is only read.
var levelNames = map[slog.Level]string{
	slog.LevelDebug: "DEBUG",
	slog.LevelInfo:  "INFO",
	LevelNotice:     "NOTICE",
	slog.LevelWarn:  "WARNING",
	slog.LevelError: "ERROR",
	LevelCritical:   "CRITICAL",
}

// ReplaceLevel gives a record's level the name it has in this package, and leaves every other attribute and level as
// it is. It is for slog.HandlerOptions.ReplaceAttr of a handler whose logger goes to FromSlog.
func ReplaceLevel(groups []string, attr slog.Attr) slog.Attr {
	if len(groups) > 0 || attr.Key != slog.LevelKey {
		return attr
	}
	level, ok := attr.Value.Any().(slog.Level)
	if !ok {
		return attr
	}
	if name, ok := levelNames[level]; ok {
		attr.Value = slog.StringValue(name)
	}
	return attr
}
