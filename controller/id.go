package controller

import (
	"math/rand/v2"

	"github.com/squadronctl/squadron/internal/errmask"
)

const (
	idAlphabet = "abcdef0123456789"
	idBits     = 4 // bits that one character of idAlphabet stands for

	// A slice ID has minIDLength characters unless those run short. maxIDLength bounds what picking costs.
	minIDLength = 3
	maxIDLength = 5

	// maxSlices is the most slices that a request may want: as many as the longest IDs can tell apart.
	maxSlices = 1 << (idBits * maxIDLength)
)

// NewID gives a random slice ID: three characters of abcdef0123456789. Nothing keeps two calls from giving the same
// one; Submit picks IDs that are free.
func NewID() string {
	return formatID(rand.IntN(1<<(idBits*minIDLength)), minIDLength)
}

// pickIDs gives n random slice IDs that differ from each other and for which taken is false. IDs of three characters
// come first; where they run short, those with one more follow (R3). Each candidate is looked at once, so the time it
// takes is bounded by the number of IDs wanted and taken.
func pickIDs(n int, taken func(string) bool) ([]string, error) {
	if n < 0 || n > maxSlices {
		return nil, errmask.Maskf(errInvalidArgument, "pick %d slice IDs: the number is out of range", n)
	}
	ids := make([]string, 0, n)
	for length := minIDLength; length <= maxIDLength && len(ids) < n; length++ {
		ids = appendFreeIDs(ids, n, length, taken)
	}
	if len(ids) < n {
		return nil, errmask.Maskf(errInvalidArgument, "pick %d slice IDs: only %d are free", n, len(ids))
	}
	return ids, nil
}

// appendFreeIDs adds free IDs of one length until there are n, or none is left. An odd stride over a space whose size is
// a power of two visits every number in it once, so that no draw is made in vain.
func appendFreeIDs(ids []string, n, length int, taken func(string) bool) []string {
	size := 1 << (idBits * length)
	next, stride := rand.IntN(size), rand.IntN(size)|1
	for range size {
		if len(ids) == n {
			break
		}
		if id := formatID(next, length); !taken(id) {
			ids = append(ids, id)
		}
		next = (next + stride) % size
	}
	return ids
}

// formatID writes a number in characters of idAlphabet.
func formatID(number, length int) string {
	id := make([]byte, length)
	for i := range id {
		id[i] = idAlphabet[number%len(idAlphabet)]
		number /= len(idAlphabet)
	}
	return string(id)
}
