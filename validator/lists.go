package validator

import (
	"slices"
	"strings"
)

// StringsUnique reports whether no two of s are equal. It is true for an empty list.
func StringsUnique(s []string) bool {
	seen := make(map[string]struct{}, len(s))
	for _, item := range s {
		seen[item] = struct{}{}
	}
	return len(seen) == len(s)
}

// StringsHasPrefix reports whether all of s begin with p. It is true for an empty list.
func StringsHasPrefix(s []string, p string) bool {
	for _, item := range s {
		if !strings.HasPrefix(item, p) {
			return false
		}
	}
	return true
}

// StringsSharePrefix reports whether one of s is a prefix of another, or equal to it. It is false for an empty list.
func StringsSharePrefix(s []string) bool {
	// In sorted order all that begin with a string follow it at once, so that only neighbours need be compared.
	sorted := slices.Sorted(slices.Values(s))
	for i := 1; i < len(sorted); i++ {
		if strings.HasPrefix(sorted[i], sorted[i-1]) {
			return true
		}
	}
	return false
}

// StringsCountMoreThan reports whether any of s contains c more than n times. It is false for an empty list.
func StringsCountMoreThan(s []string, c string, n int) bool {
	return slices.ContainsFunc(s, func(item string) bool { return strings.Count(item, c) > n })
}

// StringsHaveOrNot reports whether either all of s contain c, or none does. It is true for an empty list.
func StringsHaveOrNot(s []string, c string) bool {
	with := 0
	for _, item := range s {
		if strings.Contains(item, c) {
			with++
		}
	}
	return with == 0 || with == len(s)
}
