package controller

import "github.com/squadronctl/squadron/validator"

// StringsCountMoreThan reports whether any of s contains c more than n times. It is false for an empty list.
func StringsCountMoreThan(s []string, c string, n int) bool {
	return validator.StringsCountMoreThan(s, c, n)
}

// StringsHasPrefix reports whether all of s begin with p. It is true for an empty list.
func StringsHasPrefix(s []string, p string) bool { return validator.StringsHasPrefix(s, p) }

// StringsHaveOrNot reports whether either all of s contain c, or none does. It is true for an empty list.
func StringsHaveOrNot(s []string, c string) bool { return validator.StringsHaveOrNot(s, c) }

// StringsSharePrefix reports whether one of s is a prefix of another, or equal to it. It is false for an empty list.
func StringsSharePrefix(s []string) bool { return validator.StringsSharePrefix(s) }

// StringsUnique reports whether no two of s are equal. It is true for an empty list.
func StringsUnique(s []string) bool { return validator.StringsUnique(s) }
