package logging

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var levelsInOrder = []string{"DEBUG", "INFO", "NOTICE", "WARNING", "ERROR", "CRITICAL"}

// logAll logs one line per level.
func logAll(ctx context.Context, l Logger) {
	l.Debug(ctx, "%s", "DEBUG line")
	l.Info(ctx, "%s", "INFO line")
	l.Notice(ctx, "%s", "NOTICE line")
	l.Warning(ctx, "%s", "WARNING line")
	l.Error(ctx, "%s", "ERROR line")
	l.Critical(ctx, "%s", "CRITICAL line")
}

func lines(b *bytes.Buffer) []string {
	text := strings.TrimSuffix(b.String(), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func TestNewLoggerPrintsFromItsLevelUp(t *testing.T) {
	tests := map[string]int{ // level: index of the first that is printed
		"DEBUG": 0, "INFO": 1, "NOTICE": 2, "WARNING": 3, "ERROR": 4, "CRITICAL": 5,
		"critical": 5, "Notice": 2,
		"": 1, "no such level": 1,
	}
	for level, first := range tests {
		t.Run(level, func(t *testing.T) {
			var out bytes.Buffer
			logAll(t.Context(), newLogger(Config{LogLevel: level}, &out))
			got := lines(&out)
			require.Len(t, got, len(levelsInOrder)-first)
			for i, want := range levelsInOrder[first:] {
				assert.Contains(t, got[i], fmt.Sprintf(" level=%s msg=%q", want, want+" line"))
			}
		})
	}
}

func TestDefaultConfigIsInfoWithoutNameAndColour(t *testing.T) {
	var out bytes.Buffer
	logAll(t.Context(), newLogger(DefaultConfig(), &out))
	require.Len(t, lines(&out), 5)
	assert.NotContains(t, out.String(), "name=")
	assert.NotContains(t, out.String(), "\x1b")
}

func TestNewLoggerPutsItsNameOnEachLine(t *testing.T) {
	var out bytes.Buffer
	logAll(t.Context(), newLogger(Config{Name: "web", LogLevel: "DEBUG"}, &out))
	for _, line := range lines(&out) {
		assert.Contains(t, line, " name=web")
	}
}

func TestNewLoggerColoursEachLevelDifferently(t *testing.T) {
	var out bytes.Buffer
	logAll(t.Context(), newLogger(Config{LogLevel: "DEBUG", Color: true}, &out))
	got := lines(&out)
	require.Len(t, got, len(levelsInOrder))
	seen := map[string]bool{}
	for i, level := range levelsInOrder {
		color := levelColors[level]
		assert.Contains(t, got[i], " level="+color+level+colorOff+" msg=")
		assert.False(t, seen[color], "%s has the colour of another level", level)
		seen[color] = true
	}
}

func TestNewLoggerQuotesSeveralLinesOntoOne(t *testing.T) {
	var out bytes.Buffer
	newLogger(Config{}, &out).Critical(t.Context(), "stack:\n%s", "one\ntwo")
	assert.Len(t, lines(&out), 1)
	assert.Contains(t, out.String(), `"stack:\none\ntwo"`)
}

// shortWrites shows lines that were written in pieces, and, under -race, writes that overlap.
type shortWrites struct {
	lines []string
}

func (s *shortWrites) Write(b []byte) (int, error) {
	s.lines = append(s.lines, string(b))
	return len(b), nil
}

func TestNewLoggerIsSafeForConcurrentUse(t *testing.T) {
	for _, color := range []bool{false, true} {
		var out shortWrites
		l := newLogger(Config{Color: color}, &out)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 50 {
					l.Info(t.Context(), "a line")
				}
			})
		}
		wg.Wait()
		require.Len(t, out.lines, 400)
		for _, line := range out.lines {
			assert.Equal(t, 1, strings.Count(line, "a line"))
			assert.True(t, strings.HasSuffix(line, "\n"))
		}
	}
}

func TestNewLoggerWritesToStandardError(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	require.NoError(t, err)
	old := os.Stderr
	os.Stderr = file
	l := NewLogger(Config{Name: "web"})
	os.Stderr = old
	l.Error(t.Context(), "lost %s", "unit")
	require.NoError(t, file.Close())
	got, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	assert.Contains(t, string(got), `level=ERROR msg="lost unit" name=web`)
}

// explosive must not be formatted.
type explosive struct{ t *testing.T }

func (e explosive) String() string {
	e.t.Error("formatted")
	return ""
}

func TestFromSlogFormatsNothingForADisabledLevel(t *testing.T) {
	var out bytes.Buffer
	newLogger(Config{LogLevel: "ERROR"}, &out).Info(t.Context(), "%s", explosive{t})
	Silent().Critical(t.Context(), "%s", explosive{t})
	assert.Empty(t, out.String())
}

type contextKey struct{}

// contextHandler keeps what the handler was given.
type contextHandler struct {
	slog.Handler
	ctx    context.Context
	record slog.Record
}

func (h *contextHandler) Handle(ctx context.Context, record slog.Record) error {
	h.ctx, h.record = ctx, record
	return nil
}

func TestFromSlogPassesContextLevelAndSource(t *testing.T) {
	handler := &contextHandler{Handler: slog.NewTextHandler(&bytes.Buffer{}, nil)}
	l := FromSlog(slog.New(handler))
	l.Notice(context.WithValue(t.Context(), contextKey{}, "value"), "hello")
	assert.Equal(t, "value", handler.ctx.Value(contextKey{}))
	assert.Equal(t, LevelNotice, handler.record.Level)
	frame, _ := runtime.CallersFrames([]uintptr{handler.record.PC}).Next()
	assert.Equal(t, "logging_test.go", filepath.Base(frame.File))
}

func TestFromSlogTakesANilContext(t *testing.T) {
	var out bytes.Buffer
	var none context.Context
	newLogger(Config{}, &out).Info(none, "hello")
	assert.Contains(t, out.String(), "msg=hello")
}

func TestContextWithAttrsPutsThemOnTheLine(t *testing.T) {
	var out bytes.Buffer
	l := newLogger(Config{}, &out)
	outer := ContextWithAttrs(t.Context(), slog.String("task", "a"), slog.Int("try", 1))
	inner := ContextWithAttrs(outer, slog.String("task", "b"))
	l.Info(outer, "outer")
	l.Info(inner, "inner")
	got := lines(&out)
	require.Len(t, got, 2)
	assert.True(t, strings.HasSuffix(got[0], "msg=outer task=a try=1"), got[0])
	assert.True(t, strings.HasSuffix(got[1], "msg=inner try=1 task=b"), got[1])
}

func TestR36NilMeansSilence(t *testing.T) {
	assert.Equal(t, Silent(), OrSilent(nil))
	assert.Equal(t, Silent(), FromSlog(nil))
	assert.Equal(t, Silent(), FromSlog(&slog.Logger{}))
	logAll(t.Context(), OrSilent(nil))

	given := newLogger(Config{}, &bytes.Buffer{})
	assert.Same(t, given, OrSilent(given))
}

func TestReplaceLevelLeavesOtherAttributes(t *testing.T) {
	for _, attr := range []slog.Attr{
		slog.String("level", "of water"),
		slog.Any("other", LevelNotice),
		slog.Any(slog.LevelKey, slog.Level(1)),
	} {
		assert.Equal(t, attr, ReplaceLevel(nil, attr))
	}
	inGroup := slog.Any(slog.LevelKey, LevelNotice)
	assert.Equal(t, inGroup, ReplaceLevel([]string{"pump"}, inGroup))
	assert.Equal(t, "CRITICAL", ReplaceLevel(nil, slog.Any(slog.LevelKey, LevelCritical)).Value.String())
}

// FuzzColorLevel holds that colour changes the level and nothing else, whatever is logged.
func FuzzColorLevel(f *testing.F) {
	f.Add("web", "a line")
	f.Add(" level=ERROR ", "x level=DEBUG y\n level=")
	f.Fuzz(func(t *testing.T, name, message string) {
		var out bytes.Buffer
		newLogger(Config{Name: name}, &out).Warning(t.Context(), "%s", message)
		colored := colorLevel(out.Bytes())
		painted := levelColors["WARNING"] + "WARNING" + colorOff
		assert.Equal(t, out.String(), strings.Replace(string(colored), painted, "WARNING", 1))
		assert.Contains(t, string(colored), " level="+painted+" ")
	})
}
