// Package brace expands brace lists in a word as bash does: web@{1,2} becomes web@1 and web@2. It is for words that a
// shell has not expanded, since they were quoted or the shell does not know brace lists.
package brace

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	// MaxWords is how many words an expansion may come to.
	MaxWords = 10000
	// MaxBraces is how many braces a word may open: nobody writes as many, and looking for lists in it would take long.
	MaxBraces = 100
)

var errTooMany = errors.New("too many words")

// IsTooMany is true for the refusal of a word that would expand to more than MaxWords words, or has over MaxBraces.
func IsTooMany(err error) bool { return errors.Is(err, errTooMany) }

// Expand gives the words that a word stands for, in the order of its lists. Lists may be nested and stand side by side;
// {1..4} and {a..d} are ranges, backwards too. What is no list stays as it is: {}, {a}, a brace without its other half.
// The only error is that of IsTooMany.
func Expand(word string) ([]string, error) {
	if braces := strings.Count(word, "{"); braces > MaxBraces {
		return nil, fmt.Errorf("%.100q has %d braces, but may have %d: %w", word, braces, MaxBraces, errTooMany)
	}
	start, end, parts := firstList(word)
	if parts == nil {
		return []string{word}, nil
	}
	tails, err := Expand(word[end+1:])
	if err != nil {
		return nil, err
	}
	var words []string
	for _, part := range parts {
		heads, err := Expand(part)
		if err != nil {
			return nil, err
		}
		if len(words)+len(heads)*len(tails) > MaxWords {
			return nil, fmt.Errorf("%.100q stands for more than %d: %w", word, MaxWords, errTooMany)
		}
		for _, head := range heads {
			for _, tail := range tails {
				words = append(words, word[:start]+head+tail)
			}
		}
	}
	return words, nil
}

// firstList finds the first brace list of a word: where its braces stand, and its parts. There are no parts where there
// is no list.
func firstList(word string) (start, end int, parts []string) {
	for start = 0; start < len(word); start++ {
		if word[start] != '{' {
			continue
		}
		end = closing(word, start)
		if end < 0 {
			continue
		}
		inner := word[start+1 : end]
		if parts = split(inner); len(parts) > 1 {
			return start, end, parts
		}
		if parts = sequence(inner); parts != nil {
			return start, end, parts
		}
	}
	return 0, 0, nil
}

// closing gives the place of the brace that closes the one at start, or -1.
func closing(word string, start int) int {
	depth := 0
	for i := start; i < len(word); i++ {
		switch word[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// split cuts at the commas that stand in no braces of their own.
func split(inner string) []string {
	var parts []string
	depth, from := 0, 0
	for i := range len(inner) {
		switch inner[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, inner[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, inner[from:])
}

// sequence writes out first..last, of whole numbers or of single letters; anything else gives nil.
func sequence(inner string) []string {
	first, last, found := strings.Cut(inner, "..")
	if !found {
		return nil
	}
	if letter(first) && letter(last) {
		return steps(int(first[0]), int(last[0]), func(i int) string { return string(rune(i)) })
	}
	low, lowErr := strconv.Atoi(first)
	high, highErr := strconv.Atoi(last)
	if lowErr != nil || highErr != nil || low < -MaxWords || low > 1<<40 || high < -MaxWords || high > 1<<40 {
		return nil
	}
	width := 0
	if padded(first) || padded(last) {
		width = max(len(first), len(last))
	}
	return steps(low, high, func(i int) string { return fmt.Sprintf("%0*d", width, i) })
}

func letter(s string) bool {
	return len(s) == 1 && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}

// padded says whether a number has zeros in front, which all numbers of its sequence then get.
func padded(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return len(s) > 1 && s[0] == '0'
}

// steps gives at most one more than MaxWords, which the caller then refuses.
func steps(from, to int, text func(int) string) []string {
	step := 1
	if to < from {
		step = -1
	}
	var parts []string
	for i := from; len(parts) <= MaxWords; i += step {
		parts = append(parts, text(i))
		if i == to {
			break
		}
	}
	return parts
}
