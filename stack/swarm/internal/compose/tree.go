package compose

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// The bounds of a manifest. Aliases count as often as they are used, so that a short text can't stand for an endless one.
const (
	maxText  = 4 << 20
	maxNodes = 100_000
	maxDepth = 100
)

// node is a value of the manifest, with aliases and merges resolved, and the line that it stands in.
type node struct {
	line   int
	fields []field // of a mapping, in the order of the text
	items  []*node // of a list
	scalar any     // string, int, int64, uint64, float64, bool or nil
	kind   kind
}

type field struct {
	key   string
	line  int
	value *node
}

type kind int

const (
	scalar kind = iota
	mapping
	list
)

// get gives the value at a path of keys, nil where there is none.
func (n *node) get(path ...string) *node {
	for _, key := range path {
		if n = n.child(key); n == nil {
			return nil
		}
	}
	return n
}

func (n *node) child(key string) *node {
	if n != nil {
		for _, f := range n.fields {
			if f.key == key {
				return f.value
			}
		}
	}
	return nil
}

// lineOf is the line of a key, or that of the mapping which lacks it.
func (n *node) lineOf(key string) int {
	for _, f := range n.fields {
		if f.key == key {
			return f.line
		}
	}
	return n.line
}

// lineOfLabel is the line of a label, in a mapping or in a list of KEY=VALUE.
func (n *node) lineOfLabel(label string) int {
	for _, item := range n.items {
		if key, _, _ := strings.Cut(item.text(), "="); key == label {
			return item.line
		}
	}
	return n.lineOf(label)
}

// isNull says whether nothing is said: there is no such value, or it is null.
func (n *node) isNull() bool { return n == nil || n.kind == scalar && n.scalar == nil }

// text gives a scalar as one would write it; empty for null, and for what is no scalar.
func (n *node) text() string {
	if n.isNull() {
		return ""
	}
	switch v := n.scalar.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return ""
	}
}

// each calls visit for each item of a list, or for the value itself where it is no list.
func (n *node) each(visit func(*node)) {
	switch {
	case n.isNull():
	case n.kind == list:
		for _, item := range n.items {
			visit(item)
		}
	default:
		visit(n)
	}
}

// plain gives the value as maps, slices and scalars.
func (n *node) plain() any {
	switch n.kind {
	case mapping:
		made := make(map[string]any, len(n.fields))
		for _, f := range n.fields {
			made[f.key] = f.value.plain()
		}
		return made
	case list:
		made := make([]any, len(n.items))
		for i, item := range n.items {
			made[i] = item.plain()
		}
		return made
	default:
		return n.scalar
	}
}

// otherBreak ends a line for YAML and for no editor, so that lines could not be told by their numbers.
var otherBreak = regexp.MustCompile("\r([^\n]|$)|[\u0085\u2028\u2029]")

// parse reads YAML. A fault of it is of one line as far as the parser tells; several keys given twice are several.
func parse(text string, found *faults) *node {
	if len(text) > maxText {
		found.add(1, "the manifest has %d bytes, more than %d", len(text), maxText)
		return nil
	}
	if at := otherBreak.FindStringIndex(text); at != nil {
		found.add(1+strings.Count(text[:at[0]], "\n"), "a line ends in what YAML alone takes for an end: write newlines")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	var document, second yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the manifest is empty")
		}
		wrapSyntax(text, err, found)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		line := second.Line
		if len(second.Content) > 0 {
			line = second.Content[0].Line
		}
		found.add(min(line, linesOf(text)), "there is a second document, and a manifest is one")
		return nil
	case !errors.Is(err, io.EOF):
		wrapSyntax(text, err, found)
		return nil
	}
	if document.Kind != yaml.DocumentNode || len(document.Content) != 1 {
		found.add(1, "the manifest is empty")
		return nil
	}
	r := resolver{found: found, open: map[*yaml.Node]bool{}, last: linesOf(text)}
	root := r.resolve(document.Content[0], 0)
	switch {
	case found.any():
		return nil
	case root.kind != mapping:
		found.add(root.line, "the manifest is no mapping")
		return nil
	}
	return root
}

var syntaxLine = regexp.MustCompile(`^(yaml: )?(line \d+: )?`)

// wrapSyntax notes what the YAML parser says. The line that it gives is often that where something begins that goes wrong
// much later, so that the line is looked for.
func wrapSyntax(text string, err error, found *faults) {
	found.add(faultyLine(text), "not YAML: %s", syntaxLine.ReplaceAllString(err.Error(), ""))
}

// What a search for a line may cost: how many lines a value may take that can't be read until it is whole, how often such a value
// may be in the way, and how long a text may be. Beyond, the line is one before the fault.
const (
	ahead      = 50
	mostJumps  = 20
	mostSought = 1 << 18
)

// linesOf is how many lines a text has.
func linesOf(text string) int { return 1 + strings.Count(strings.TrimSuffix(text, "\n"), "\n") }

// faultyLine finds a line up to which a text is YAML, and with which it is none.
func faultyLine(text string) int {
	lines := strings.SplitAfter(text, "\n")
	isYAML := func(count int) bool {
		return yaml.Unmarshal([]byte(strings.Join(lines[:count], "")), new(yaml.Node)) == nil
	}
	if len(text) > mostSought {
		return 1
	}
	good, bad := 0, len(lines)
	for jumps := 0; ; jumps++ {
		for bad-good > 1 {
			if middle := (good + bad) / 2; isYAML(middle) {
				good = middle
			} else {
				bad = middle
			}
		}
		further := good
		for next := bad + 1; next < len(lines) && next <= bad+ahead && further == good; next++ {
			if isYAML(next) {
				further = next
			}
		}
		if further == good || jumps == mostJumps {
			return min(bad, linesOf(text))
		}
		good, bad = further, len(lines)
	}
}

// resolver makes a tree of what the YAML parser gave.
type resolver struct {
	found *faults
	open  map[*yaml.Node]bool // the anchors that are being resolved
	last  int                 // the last line: what is missing at the end is after it for the parser
	nodes int
	over  bool
}

func (r *resolver) lineOf(n *yaml.Node) int { return max(min(n.Line, r.last), 1) }

func (r *resolver) resolve(from *yaml.Node, depth int) *node {
	made := &node{line: r.lineOf(from)}
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth {
		if !r.over {
			r.found.add(made.line, "the manifest has more than %d values, or values more than %d deep", maxNodes, maxDepth)
		}
		r.over = true
		return made
	}
	if r.over {
		return made
	}
	switch from.Kind {
	case yaml.AliasNode:
		return r.alias(from, made, depth)
	case yaml.MappingNode:
		made.kind = mapping
		r.checkTag(from, "!!map")
		r.mapping(from, made, depth)
	case yaml.SequenceNode:
		made.kind = list
		r.checkTag(from, "!!seq")
		for _, item := range from.Content {
			made.items = append(made.items, r.resolve(item, depth+1))
		}
	case yaml.ScalarNode:
		r.scalar(from, made)
	default:
		r.found.add(made.line, "a value is missing")
	}
	return made
}

func (r *resolver) alias(from *yaml.Node, made *node, depth int) *node {
	if from.Alias == nil || r.open[from.Alias] {
		r.found.add(made.line, "*%s is within what it stands for", from.Value)
		return made
	}
	r.open[from.Alias] = true
	defer delete(r.open, from.Alias)
	return r.resolve(from.Alias, depth+1)
}

// mapping reads keys and values. What is merged in stands behind, and never over, what is written.
func (r *resolver) mapping(from *yaml.Node, made *node, depth int) {
	if from.Anchor != "" {
		r.open[from] = true
		defer delete(r.open, from)
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		switch {
		case key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge":
			merged = append(merged, value)
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			r.found.add(r.lineOf(key), "the key %.80q is no string: write it in quotes", key.Value)
		case made.child(key.Value) != nil:
			r.found.add(r.lineOf(key), "the key %.80q is given a second time, after line %d", key.Value, made.lineOf(key.Value))
		default:
			made.fields = append(made.fields, field{key: key.Value, line: r.lineOf(key), value: r.resolve(value, depth+1)})
		}
	}
	for _, value := range merged {
		r.merge(r.resolve(value, depth+1), made)
	}
}

// merge adds the keys of a mapping, or of several, the first of which counts.
func (r *resolver) merge(from, into *node) {
	switch from.kind {
	case mapping:
		for _, f := range from.fields {
			if into.child(f.key) == nil {
				into.fields = append(into.fields, f)
			}
		}
	case list:
		for _, item := range from.items {
			if item.kind != mapping {
				r.found.add(item.line, "<< takes mappings alone")
				continue
			}
			r.merge(item, into)
		}
	default:
		r.found.add(from.line, "<< takes mappings alone")
	}
}

func (r *resolver) scalar(from *yaml.Node, made *node) {
	switch from.ShortTag() {
	case "!!timestamp", "!!merge":
		made.scalar = from.Value
		return
	case "!!str", "!!int", "!!float", "!!bool", "!!null":
	default:
		r.checkTag(from, "")
		return
	}
	var value any
	if err := from.Decode(&value); err != nil {
		r.found.add(made.line, "not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	if _, isTime := value.(time.Time); isTime {
		value = from.Value
	}
	made.scalar = value
}

// checkTag refuses a tag: an extension of YAML, which would mean something that is not known here.
func (r *resolver) checkTag(from *yaml.Node, allowed string) {
	if tag := from.ShortTag(); tag != allowed {
		r.found.add(r.lineOf(from), "the tag %.80s is not known", tag)
	}
}
