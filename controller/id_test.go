package controller

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func requireIDs(t *testing.T, ids []string) map[int]int {
	t.Helper()
	require.True(t, StringsUnique(ids))
	lengths := map[int]int{}
	for _, id := range ids {
		require.Empty(t, strings.Trim(id, idAlphabet), id)
		lengths[len(id)]++
	}
	return lengths
}

func noneTaken(string) bool { return false }

func TestNewIDR3(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := NewID()
		assert.Equal(t, map[int]int{3: 1}, requireIDs(t, []string{id}))
		seen[id] = true
	}
	assert.Greater(t, len(seen), 500)
}

func TestPickIDsR3(t *testing.T) {
	for _, n := range []int{0, 1, 50, 4096} {
		ids, err := pickIDs(n, noneTaken)
		require.NoError(t, err)
		require.Len(t, ids, n)
		assert.Equal(t, n, requireIDs(t, ids)[3])
	}
}

func TestPickIDsTakesFourthCharacterR3(t *testing.T) {
	ids, err := pickIDs(5000, noneTaken)
	require.NoError(t, err)
	assert.Equal(t, map[int]int{3: 4096, 4: 904}, requireIDs(t, ids))

	allOfThree := func(id string) bool { return len(id) == 3 }
	ids, err = pickIDs(20, allOfThree)
	require.NoError(t, err)
	assert.Equal(t, map[int]int{4: 20}, requireIDs(t, ids))

	ids, err = pickIDs(70000, noneTaken)
	require.NoError(t, err)
	assert.Equal(t, map[int]int{3: 4096, 4: 65536, 5: 368}, requireIDs(t, ids))
}

func TestPickIDsLeavesOutThoseTakenR3(t *testing.T) {
	free := map[string]bool{"3f1": true, "000": true, "abc": true}
	ids, err := pickIDs(3, func(id string) bool { return len(id) == 3 && !free[id] })
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"3f1", "000", "abc"}, ids)
}

func TestPickIDsEndsR3(t *testing.T) {
	_, err := pickIDs(1, func(string) bool { return true })
	assert.True(t, IsInvalidArgument(err), err)
	for _, n := range []int{-1, maxSlices + 1, 1 << 60} {
		_, err = pickIDs(n, noneTaken)
		assert.True(t, IsInvalidArgument(err), n)
	}
}
