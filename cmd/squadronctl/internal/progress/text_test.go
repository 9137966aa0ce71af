package progress

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                "plain",
		"a\tb\nc\r\u2028d":     "a b c  d",
		"\x1b]0;title\x07":     "?]0;title?",
		"\u009b31m":            "?31m",
		"\xff\xfe":             "??",
		"a\u202eb\u200bc":      "a?b?c", // turned round, and hidden
		"e\u0301 界 \U0001f680": "e\u0301 界 \U0001f680",
	} {
		assert.Equal(t, want, clean(text), "%q", text)
	}
}

func TestTextWidth(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "ä": 1, "a\u0308": 1, "界": 2, "한": 2, "\U0001f680": 2, "✓": 2, "ﾊ": 1, "…": 1,
	} {
		assert.Equal(t, want, textWidth(text), "%q", text)
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abcd", 1, "…"}, {"abcd", 0, ""}, {"abcd", -1, ""}, {"", 0, ""},
		{"界界", 4, "界界"}, {"界界", 3, "界…"}, {"界界", 2, "…"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
	} {
		assert.Equal(t, c.want, shorten(c.text, c.columns), "%q in %d", c.text, c.columns)
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 999 * time.Millisecond: "0s", 59 * time.Second: "59s", time.Minute: "1m00s",
		time.Hour - 1: "59m59s", 26*time.Hour + 7*time.Minute: "26h07m",
	} {
		assert.Equal(t, want, age(d))
	}
}

func FuzzShorten(f *testing.F) {
	f.Add("web@3f1: \x1b[2Jfailed", 5)
	f.Add("界\u0301\xff", 2)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		short := shorten(clean(text), columns%200)
		if !utf8.ValidString(short) || strings.ContainsFunc(short, unicode.IsControl) {
			t.Errorf("%q", short)
		}
		if textWidth(short) > max(0, columns%200) {
			t.Errorf("%q is wider than %d", short, columns%200)
		}
	})
}
