package brace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestExpand holds Expand against what bash 5 makes of the same words.
func TestExpand(t *testing.T) {
	for word, want := range map[string]string{
		"web":                "web",
		"web@{1,2}":          "web@1 web@2",
		"web@{1,{2,3}}":      "web@1 web@2 web@3",
		"{a,b}@{1,2}":        "a@1 a@2 b@1 b@2",
		"web@{1..4}":         "web@1 web@2 web@3 web@4",
		"web@{4..1}":         "web@4 web@3 web@2 web@1",
		"web@{08..10}":       "web@08 web@09 web@10",
		"web@{a..c}":         "web@a web@b web@c",
		"web@{1..2}{x,y}":    "web@1x web@1y web@2x web@2y",
		"web@{}":             "web@{}",
		"web@{1}":            "web@{1}",
		"web@{1,2":           "web@{1,2",
		"web@1,2}":           "web@1,2}",
		"web@{{1,2}":         "web@{1 web@{2",
		"web@{1..x}":         "web@{1..x}",
		"web@{1,}":           "web@1 web@",
		"web@{3f1,2fb}-{a}b": "web@3f1-{a}b web@2fb-{a}b",
	} {
		words, err := Expand(word)
		require.NoError(t, err, word)
		assert.Equal(t, want, strings.Join(words, " "), word)
	}
}

func TestTooMany(t *testing.T) {
	for _, word := range []string{"web@{1..10001}", "web@{1..999999999}", strings.Repeat("{1,2}", 40), "{1..200}{1..200}", strings.Repeat("{", MaxBraces+1)} {
		_, err := Expand(word)
		assert.True(t, IsTooMany(err), word)
	}
	words, err := Expand("web@{1..10000}")
	require.NoError(t, err)
	assert.Len(t, words, MaxWords)
	assert.False(t, IsTooMany(nil))
}

func ExampleExpand() {
	words, _ := Expand("web@{1,2,{7..9}}")
	fmt.Println(words)
	// Output: [web@1 web@2 web@7 web@8 web@9]
}

// FuzzExpand shows that any word expands within bounds, and that a word without lists stays as it is.
func FuzzExpand(f *testing.F) {
	for _, word := range []string{"web@{1,2}", "{1..3}", "{{a,b}", "}{", "{a..Z}", "{-3..2}"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		words, err := Expand(word)
		if err != nil {
			assert.True(t, IsTooMany(err))
			return
		}
		assert.NotEmpty(t, words)
		assert.LessOrEqual(t, len(words), MaxWords)
		if !strings.Contains(word, "{") {
			assert.Equal(t, []string{word}, words)
		}
	})
}
