package compose

import (
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
)

// duration reads a time: nil where there is none.
func (m *maker) duration(n *node) *time.Duration {
	if n.isNull() {
		return nil
	}
	d, err := time.ParseDuration(n.text())
	if err != nil || d < 0 {
		m.found.add(n.line, "%.80q is no duration: write 10s, or 1m30s", n.text())
		return nil
	}
	return &d
}

// span is a duration that is 0 where there is none.
func (m *maker) span(n *node) time.Duration {
	if d := m.duration(n); d != nil {
		return *d
	}
	return 0
}

// number reads a whole number from 0: nil where there is none.
func (m *maker) number(n *node) *uint64 {
	if n.isNull() {
		return nil
	}
	if v, isInt := n.scalar.(int); isInt && v >= 0 {
		of := uint64(v)
		return &of
	}
	m.found.add(n.line, "%.80q is no whole number from 0", n.text())
	return nil
}

// amount is a number that is 0 where there is none.
func (m *maker) amount(n *node) uint64 {
	if v := m.number(n); v != nil {
		return *v
	}
	return 0
}

// bytes reads an amount of memory.
func (m *maker) bytes(n *node) int64 {
	if n.isNull() {
		return 0
	}
	var read types.UnitBytes
	if err := read.DecodeMapstructure(n.text()); err != nil || read < 0 {
		m.found.add(n.line, "%.80q is no amount of memory: write 64m, or 1g", n.text())
		return 0
	}
	return int64(read)
}

var cpusForm = regexp.MustCompile(`^[0-9]{0,9}(\.[0-9]{0,30})?$`)

// nanoCPUs reads a number of CPUs. It has to be one of whole billionths.
func (m *maker) nanoCPUs(n *node) int64 {
	if n.isNull() {
		return 0
	}
	text := n.text()
	if cpusForm.MatchString(text) {
		if read, ok := new(big.Rat).SetString(text); ok {
			read.Mul(read, big.NewRat(1e9, 1))
			if read.IsInt() && read.Num().IsInt64() {
				return read.Num().Int64()
			}
		}
	}
	m.found.add(n.line, "%.80q is no number of CPUs: write 0.5, with nine decimals at most", text)
	return 0
}

// oneOf reads a text that is one of a few: "" where there is none.
func (m *maker) oneOf(n *node, allowed ...string) string {
	text := n.text()
	if n.isNull() {
		return ""
	}
	for _, one := range allowed {
		if text == one {
			return text
		}
	}
	m.found.add(n.line, "%.80q is none of %q", text, allowed)
	return ""
}

// labels reads a mapping, or a list of KEY=VALUE.
func (m *maker) labels(n *node) map[string]string {
	made := map[string]string{}
	if n.isNull() {
		return made
	}
	for _, f := range n.fields {
		made[f.key] = f.value.text()
	}
	for _, item := range n.items {
		key, value, _ := strings.Cut(item.text(), "=")
		if key == "" {
			m.found.add(item.line, "a label has no name")
		}
		if _, given := made[key]; given {
			m.found.add(item.line, "the label %.80s is given a second time", key)
		}
		made[key] = value
	}
	return made
}

// texts reads a list of texts, or one text.
func texts(n *node) []string {
	var made []string
	n.each(func(item *node) { made = append(made, item.text()) })
	return made
}
