package termtest_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress/termtest"
)

func ExampleTerminal() {
	term := termtest.New(10, 3)
	_, _ = io.WriteString(term, "one\ntwo\n")
	_, _ = io.WriteString(term, "\r\x1b[1A2\x1b[K\nthree is wrapped\nfour")
	for _, line := range term.All() {
		fmt.Println(line)
	}
	fmt.Println("The window shows", len(term.Seen()), "lines.")
	// Output:
	// one
	// 2
	// three is wrapped
	// four
	// The window shows 2 lines.
}

func write(term *termtest.Terminal, text string) *termtest.Terminal {
	_, _ = io.WriteString(term, text)
	return term
}

func TestCursor(t *testing.T) {
	// The character that fills the last column wraps nothing yet, and is erased by what erases from the cursor on.
	assert.Equal(t, []string{"abc"}, write(termtest.New(3, 5), "abc").All())
	assert.Equal(t, []string{"ab"}, write(termtest.New(3, 5), "abc\x1b[K").All())
	assert.Equal(t, []string{"abc", "d"}, write(termtest.New(3, 5), "abc\nd").All())
	assert.True(t, write(termtest.New(3, 5), "abcd").Wraps(1))
	// The cursor does not leave the window upwards.
	assert.Equal(t, []string{"a", "x", "c"}, write(termtest.New(3, 2), "a\nb\nc\x1b[9A\rx").All())
	assert.Equal(t, []string{"x"}, write(termtest.New(3, 3), "a\nb\nc\x1b[9A\rx\x1b[J").All())
	// Wide and combining runes.
	assert.Equal(t, []string{"界e\u0301"}, write(termtest.New(3, 2), "界e\u0301").All())
	assert.False(t, write(termtest.New(3, 2), "界e\u0301\n").Wraps(1))
	assert.True(t, write(termtest.New(3, 2), "界界\n").Wraps(2))
}

func TestResize(t *testing.T) {
	term := write(termtest.New(10, 5), "0123456789\nab\n")
	term.Resize(4, 5)
	assert.Equal(t, []string{"0123456789", "ab"}, term.All())
	assert.True(t, term.Wraps(3))
	term.Resize(10, 5)
	assert.False(t, write(term, "c").Wraps(5))
	assert.Equal(t, []string{"0123456789", "ab", "c"}, term.All())

	term = write(termtest.NewCutting(10, 5), "0123456789\nab\n")
	term.Resize(4, 5)
	assert.Equal(t, []string{"0123", "ab"}, term.All())
}

func TestFaults(t *testing.T) {
	for _, text := range []string{"\x07", "\x1b[2Z", "\x1b[3", "\x1b]0;title", "\xff", "\u009b"} {
		assert.NotEmpty(t, write(termtest.New(10, 5), text).Faults(), "%q", text)
	}
	assert.Empty(t, write(termtest.New(10, 5), "a\r\n\x1b[31mb\x1b[0m\x1b[1A\x1b[J\x1b[K").Faults())
}
