package compose

import (
	"errors"
	"fmt"
	"strings"
)

// variables gives a variable's value and whether it is set.
type variables func(name string) (string, bool, error)

// interpolate puts variables into a text: $NAME and ${NAME}, with a default (-, :-), an error (?, :?) or another text in place of
// what is set (+, :+), which may hold variables themselves; $$ is a dollar. A colon makes an empty variable as good as an unset
// one. What is unset without a default is empty. A variable is asked for only where its value is used. An error says nothing of
// the text, which may be a secret.
func interpolate(text string, lookup variables) (string, error) {
	return interpolateIn(text, lookup, 0)
}

// maxNested is how deep variables may stand in the defaults of others.
const maxNested = 20

func interpolateIn(text string, lookup variables, depth int) (string, error) {
	if depth > maxNested {
		return "", fmt.Errorf("variables stand more than %d deep in each other", maxNested)
	}
	var made strings.Builder
	for {
		if made.Len() > maxText {
			return "", errTooLong
		}
		before, rest, found := strings.Cut(text, "$")
		made.WriteString(before)
		if !found {
			return made.String(), nil
		}
		switch {
		case strings.HasPrefix(rest, "$"):
			made.WriteByte('$')
			text = rest[1:]
		case strings.HasPrefix(rest, "{"):
			end := closing(rest)
			if end < 0 {
				return "", errors.New("there is a ${ without a }; a dollar is written $$")
			}
			value, err := braced(rest[1:end], lookup, depth+1)
			if err != nil {
				return "", err
			}
			made.WriteString(value)
			text = rest[end+1:]
		default:
			name := nameAt(rest)
			if name == "" {
				return "", errors.New("there is a $ that no variable follows; a dollar is written $$")
			}
			value, _, err := lookup(name)
			if err != nil {
				return "", err
			}
			made.WriteString(value)
			text = rest[len(name):]
		}
	}
}

var errTooLong = fmt.Errorf("the manifest has more than %d bytes with its variables put in", maxText)

// closing finds the brace that ends what the first one begins.
func closing(text string) int {
	depth := 0
	for i, c := range text {
		switch c {
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

// nameAt is the name of a variable at the beginning of a text.
func nameAt(text string) string {
	for i, c := range text {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return text[:i]
		}
	}
	return text
}

// braced is what stands for what is between ${ and }.
func braced(text string, lookup variables, depth int) (string, error) {
	name := nameAt(text)
	if name == "" {
		return "", errors.New("there is a ${ that no variable's name follows; a dollar is written $$")
	}
	value, set, err := lookup(name)
	if err != nil || text == name {
		return value, err
	}
	operator, other := text[len(name):], ""
	if strings.HasPrefix(operator, ":") {
		set = set && value != ""
		operator = operator[1:]
	}
	if operator != "" {
		operator, other = operator[:1], operator[1:]
	}
	switch operator {
	case "-":
		if set {
			return value, nil
		}
		return interpolateIn(other, lookup, depth)
	case "?":
		if set {
			return value, nil
		}
		message, err := interpolateIn(other, lookup, depth)
		if err != nil {
			return "", err
		}
		return "", fmt.Errorf("the variable %s is required, and not set: %.200s", name, message)
	case "+":
		if !set {
			return "", nil
		}
		return interpolateIn(other, lookup, depth)
	default:
		return "", fmt.Errorf("what follows ${%s is no way to write a variable", name)
	}
}
