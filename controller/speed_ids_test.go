package controller

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R3: to pick IDs asks of each candidate once whether it is taken, so that it costs what is picked and what is taken, also
// where three characters run short.
func TestSpeedOfPickingIDsR3(t *testing.T) {
	for _, taken := range []int{0, 100, 4000, 4096, 60_000} {
		used := idsTaken(taken)
		for _, n := range []int{1, 96, 1000} {
			asked := 0
			ids, err := pickIDs(n, func(id string) bool {
				asked++
				return used[id]
			})
			require.NoError(t, err)
			assert.Len(t, ids, n)
			assert.LessOrEqual(t, asked, n+taken, "%d picked, %d taken", n, taken)
		}
	}
}

// idsTaken has n IDs, the shortest first.
func idsTaken(n int) idSet {
	used := idSet{}
	for length := minIDLength; len(used) < n; length++ {
		for i := 0; i < 1<<(idBits*length) && len(used) < n; i++ {
			used[formatID(i, length)] = true
		}
	}
	return used
}

func BenchmarkNewID(b *testing.B) {
	for b.Loop() {
		NewID()
	}
}

// BenchmarkPickIDs is what Submit does to find free IDs in a group that has as many already.
func BenchmarkPickIDs(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000} {
		used := idsTaken(n)
		b.Run(fmt.Sprintf("slices=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ids, err := pickIDs(n, used.has); err != nil || len(ids) != n {
					b.Fatal(len(ids), err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/slice")
		})
	}
}
