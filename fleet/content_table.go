package fleet

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"
)

// content is what a look needs to know of a unit file. Units with the same options share one.
type content struct {
	hash  string
	facts contentFacts
	// stamps are the values of all its stamps, of which the last one stands.
	stamps []string
	// options are kept where what they say depends on the unit's name, nil otherwise.
	options []*unit.UnitOption
}

// noContent is that of a unit of which no options are known.
var noContent = &content{}

func newContent(options []*unit.UnitOption) *content {
	if len(options) == 0 {
		return noContent
	}
	made := &content{hash: hashOptions(options), facts: readFacts(".service", options)}
	for _, option := range options {
		switch option.Section {
		case stampSection:
			if option.Name == "Group" {
				made.stamps = append(made.stamps, option.Value)
			}
		case "X-Fleet":
			if strings.Contains(option.Value, "%") {
				made.options = options
			}
		}
	}
	return made
}

// of gives what the content says about the unit with the given name.
func (c *content) of(name string) contentFacts {
	if c.options != nil {
		return readFacts(name, c.options)
	}
	facts := c.facts
	facts.oneshot = facts.oneshot && strings.HasSuffix(name, ".service")
	return facts
}

func (c *content) stampedWith(groups []string) bool {
	return slices.ContainsFunc(c.stamps, func(stamp string) bool { return slices.Contains(groups, stamp) })
}

// contentTable keeps what the contents of one look say, so that each is read and hashed once, however many units have it.
type contentTable struct {
	byText map[string]*content // by the options as they are written
	texts  interner
}

// of reads options as they are written. It says false of what is odd (see scan).
func (c *contentTable) of(text []byte) (*content, bool) {
	if text == nil {
		return noContent, true
	}
	if known := c.byText[string(text)]; known != nil {
		return known, true
	}
	var options []*unit.UnitOption
	ok := scanList(text, func(s *scan) bool {
		raw, ok := s.option()
		options = append(options, unit.NewUnitOption(c.texts.of(raw.section), c.texts.of(raw.name), string(raw.value)))
		return ok
	})
	if !ok {
		return nil, false
	}
	made := newContent(options)
	c.byText[string(text)] = made
	return made, true
}

const stampSection = "X-Squadron"

// mayBeStamped is false only of options, as they are written, that have no stamp: the section's name is not in them, nor a
// letter of it as an escape.
func mayBeStamped(text []byte) bool {
	if bytes.Contains(text, []byte(stampSection)) {
		return true
	}
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return false
		}
		if text[at+1] == 'u' && spellsStamp(text[at+2:at+6]) {
			return true
		}
		text = text[at+2:]
	}
}

// spellsStamp says whether four hexadecimal digits stand for a character of the section's name.
func spellsStamp(digits []byte) bool {
	var code [2]byte
	_, err := hex.Decode(code[:], digits)
	return err == nil && code[0] == 0 && strings.IndexByte(stampSection, code[1]) >= 0
}

// interner gives one string for all equal texts.
type interner map[string]string

func (i interner) of(text []byte) string {
	if known, ok := i[string(text)]; ok {
		return known
	}
	made := string(text)
	i[made] = made
	return made
}
