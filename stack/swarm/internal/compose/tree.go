package compose

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The bounds of a manifest. Aliases count as often as they are used, so that a short text can't stand for an endless one; maxText
// is also for all values together, with aliases resolved, and then with variables in them.
const (
	maxText  = 4 << 20
	maxNodes = 20_000
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

// boolean gives true or false: nil where nothing is said.
func (n *node) boolean() *bool {
	if n.isNull() {
		return nil
	}
	is, _ := n.scalar.(bool)
	return &is
}

// isTrue says whether true is said.
func (n *node) isTrue() bool { return !n.isNull() && n.scalar == true }

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
	if at := otherThanUTF8(text); at >= 0 {
		found.add(1+strings.Count(text[:at], "\n"), "the manifest is not UTF-8")
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

// otherThanUTF8 is where a text is no UTF-8, below 0 where it is.
func otherThanUTF8(text string) int {
	for i, c := range text {
		if c == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return i
			}
		}
	}
	return -1
}

// resolver makes a tree of what the YAML parser gave.
type resolver struct {
	found *faults
	open  map[*yaml.Node]bool // the anchors that are being resolved
	last  int                 // the last line: what is missing at the end is after it for the parser
	nodes int
	bytes int
	over  bool
}

func (r *resolver) lineOf(n *yaml.Node) int { return max(min(n.Line, r.last), 1) }

func (r *resolver) resolve(from *yaml.Node, depth int) *node {
	made := &node{line: r.lineOf(from)}
	r.bytes += len(from.Value)
	if r.nodes++; r.nodes > maxNodes || depth > maxDepth || r.bytes > maxText {
		if !r.over {
			r.found.add(made.line, "the manifest has more than %d values, values more than %d deep, or more than %d bytes with what aliases "+
				"stand for", maxNodes, maxDepth, maxText)
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
	lines := map[string]int{} // of the keys
	for i := 0; i+1 < len(from.Content); i += 2 {
		key, value := from.Content[i], from.Content[i+1]
		switch {
		case key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge":
			merged = append(merged, value)
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			r.found.add(r.lineOf(key), "the key %.80q is no string: write it in quotes", key.Value)
		case lines[key.Value] > 0:
			r.found.add(r.lineOf(key), "the key %.80q is given a second time, after line %d", key.Value, lines[key.Value])
		default:
			lines[key.Value] = r.lineOf(key)
			made.fields = append(made.fields, field{key: key.Value, line: r.lineOf(key), value: r.resolve(value, depth+1)})
		}
	}
	for _, value := range merged {
		r.merge(r.resolve(value, depth+1), made, lines)
	}
}

// merge adds the keys of a mapping, or of several, the first of which counts.
func (r *resolver) merge(from, into *node, lines map[string]int) {
	switch from.kind {
	case mapping:
		for _, f := range from.fields {
			if lines[f.key] == 0 {
				lines[f.key] = f.line
				into.fields = append(into.fields, f)
			}
		}
	case list:
		for _, item := range from.items {
			if item.kind != mapping {
				r.found.add(item.line, "<< takes mappings alone")
				continue
			}
			r.merge(item, into, lines)
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
		r.found.add(made.line, "the text is none of %s", from.ShortTag()) // the text itself may be a secret
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
		r.found.add(r.lineOf(from), "the tag%s is not known: a text that begins with ! is written in quotes", shownTag(tag))
	}
}

// shownTag is a tag as an error may show it: what is none that anybody uses can be a password that lacks its quotes.
func shownTag(tag string) string {
	if strings.HasPrefix(tag, "!!") || tag == "!reset" || tag == "!override" {
		return " " + tag
	}
	return ""
}
