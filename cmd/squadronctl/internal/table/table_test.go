package table

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func ExampleWrite() {
	_ = Write(os.Stdout, []string{"GROUP", "UNIT", "STATUS"}, [][]string{
		{"web@3f1", "*", "running"},
		{"web@2", "web-app@2.service", ""},
	})
	// Output:
	// GROUP     UNIT                STATUS
	// web@3f1   *                   running
	// web@2     web-app@2.service   -
}

func TestLines(t *testing.T) {
	assert.Equal(t, []string{"A   B", "é   x", "-   -"}, Lines([]string{"A", "B"}, [][]string{{"é", "x"}, nil}))
	assert.Equal(t, []string{"A", "a?[2Jb"}, Lines([]string{"A"}, [][]string{{"a\x1b[2Jb"}}), "nothing reaches the terminal")
	assert.Equal(t, []string{"A"}, Lines([]string{"A"}, nil))
}

type closedWriter struct{ io.Writer }

func (closedWriter) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestWriteError(t *testing.T) {
	assert.Error(t, Write(closedWriter{}, []string{"A"}, nil))
}

// FuzzLines shows that whatever stands in the cells, each row is one line, and columns begin in one place.
func FuzzLines(f *testing.F) {
	f.Add("web", "running", "a\nb")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		lines := Lines([]string{"FIRST", "SECOND"}, [][]string{{a, b}, {c, "x"}})
		assert.Len(t, lines, 3)
		place := utf8.RuneCountInString(lines[0][:strings.Index(lines[0], "SECOND")])
		assert.Equal(t, 'x', []rune(lines[2])[place])
		for _, line := range lines {
			assert.NotContains(t, line, "\n")
		}
	})
}
