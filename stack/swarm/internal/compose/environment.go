package compose

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// environment makes a container's variables, sorted: those of the files first, the later over the earlier, and environment over
// all. One without a value has that of the surroundings; where those have none, the container has none either, not even
// that of its image.
func (m *maker) environment(from *node) []string {
	values := map[string]*string{}
	from.child("env_file").each(func(n *node) {
		if n.kind != scalar {
			m.found.add(n.line, "env_file takes the paths of files alone")
			return
		}
		m.environmentFile(n, values)
	})
	environment := from.child("environment")
	if environment != nil {
		for _, f := range environment.fields {
			if f.value.isNull() {
				m.setFrom(f.line, f.key, values)
				continue
			}
			m.set(f.line, f.key, f.value.text(), values)
		}
		for _, item := range environment.items {
			key, value, given := strings.Cut(item.text(), "=")
			if !given {
				m.setFrom(item.line, key, values)
				continue
			}
			m.set(item.line, key, value, values)
		}
	}
	var made []string
	for key, value := range values {
		if value == nil {
			made = append(made, key)
			continue
		}
		made = append(made, key+"="+*value)
	}
	slices.Sort(made)
	return made
}

func (m *maker) set(line int, key, value string, into map[string]*string) {
	if key == "" || strings.ContainsAny(key, "=\x00") || strings.Contains(value, "\x00") {
		m.found.add(line, "a variable of a container has a name, and no null character")
		return
	}
	into[key] = &value
}

// setFrom takes a variable from the surroundings.
func (m *maker) setFrom(line int, key string, into map[string]*string) {
	if nameAt(key) != key || key == "" {
		m.found.add(line, "a variable that has no value, and so is passed on, has a name of letters, digits and _; a value is given as NAME=VALUE")
		return
	}
	value, set, err := m.using.variable(key)
	switch {
	case err != nil:
		m.found.wrap(line, err)
	case set:
		into[key] = &value
	default:
		into[key] = nil
	}
}

// environmentFile reads NAME=VALUE, line by line, the value as it stands, as "docker run --env-file" does: quotes are a part of it,
// and no variables are put in. A line with a name alone passes the variable on, where it is set.
func (m *maker) environmentFile(n *node, into map[string]*string) {
	path := n.text()
	content, _, err := m.using.file(path)
	if err != nil {
		m.found.wrap(n.line, err)
		return
	}
	if !utf8.Valid(content) {
		m.found.add(n.line, "the file %s is not UTF-8", path)
		return
	}
	for i, line := range strings.Split(strings.TrimPrefix(string(content), "\ufeff"), "\n") {
		line = strings.TrimLeft(strings.TrimSuffix(line, "\r"), " \t")
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, given := strings.Cut(line, "=")
		switch {
		case key == "" || strings.ContainsAny(key, " \t\x00") || strings.Contains(value, "\x00"), !given && nameAt(key) != key:
			// The line is not quoted: it may be the second one of a key.
			m.found.add(n.line, "the file %s, line %d: a line is NAME=VALUE, or the NAME of a variable that is passed on", path, i+1)
		case given:
			into[key] = &value
		default:
			passed := map[string]*string{}
			if m.setFrom(n.line, key, passed); passed[key] != nil {
				into[key] = passed[key]
			}
		}
	}
}
