package validator

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestStringsUnique(t *testing.T) {
	assert.True(t, StringsUnique(nil))
	assert.True(t, StringsUnique([]string{"a", "b", "aa"}))
	assert.False(t, StringsUnique([]string{"a", "b", "a"}))
	assert.False(t, StringsUnique([]string{"", ""}))
}

func TestStringsHasPrefix(t *testing.T) {
	assert.True(t, StringsHasPrefix(nil, "a"))
	assert.True(t, StringsHasPrefix([]string{"a", "ab"}, "a"))
	assert.True(t, StringsHasPrefix([]string{"a", "b"}, ""))
	assert.False(t, StringsHasPrefix([]string{"a", "ba"}, "a"))
}

func TestStringsSharePrefix(t *testing.T) {
	assert.False(t, StringsSharePrefix(nil))
	assert.False(t, StringsSharePrefix([]string{"a"}))
	assert.False(t, StringsSharePrefix([]string{"ab", "ac", "b"}))
	assert.True(t, StringsSharePrefix([]string{"abc", "b", "ab"}))
	assert.True(t, StringsSharePrefix([]string{"a", "b", "a"}))
	assert.True(t, StringsSharePrefix([]string{"a", ""}))
	assert.True(t, StringsSharePrefix([]string{"ab", "a-", "abc", "a"}))
}

func TestStringsCountMoreThan(t *testing.T) {
	assert.False(t, StringsCountMoreThan(nil, "@", 0))
	assert.False(t, StringsCountMoreThan([]string{"a@b"}, "@", 1))
	assert.True(t, StringsCountMoreThan([]string{"a", "a@b@"}, "@", 1))
	assert.True(t, StringsCountMoreThan([]string{"a@b"}, "@", 0))
}

func TestStringsHaveOrNot(t *testing.T) {
	assert.True(t, StringsHaveOrNot(nil, "@"))
	assert.True(t, StringsHaveOrNot([]string{"a", "b"}, "@"))
	assert.True(t, StringsHaveOrNot([]string{"a@", "@b"}, "@"))
	assert.False(t, StringsHaveOrNot([]string{"a@", "b"}, "@"))
}

// The quick ways give what comparing all pairs gives, and leave the list as it was.
func TestStringsPredicatesAgreeWithPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab-")), 0, 4, -1), 0, 6).Draw(t, "list")
		before := slices.Clone(list)
		share, unique := false, true
		for i := range list {
			for j := range list {
				share = share || i != j && strings.HasPrefix(list[i], list[j])
				unique = unique && (i == j || list[i] != list[j])
			}
		}
		if StringsSharePrefix(list) != share || StringsUnique(list) != unique || !slices.Equal(list, before) {
			t.Fatalf("%q: share %v, unique %v", list, share, unique)
		}
	})
}
