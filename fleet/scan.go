package fleet

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// A scan goes through JSON that json.Valid has found to be well-formed, and builds nothing. It reads the plain form that
// fleet writes: members under their exact names, none twice, and strings where strings belong. All else, though
// encoding/json has a meaning for it, it calls odd, and whoever scans has encoding/json read the whole answer instead. So
// what comes out is always what encoding/json makes of it.
type scan struct {
	text []byte
	at   int
}

// space skips white space and gives the byte behind it.
func (s *scan) space() byte {
	for s.text[s.at] <= ' ' {
		s.at++
	}
	return s.text[s.at]
}

// open goes into an object or an array, and says whether there is one.
func (s *scan) open(bracket byte) bool {
	if s.space() != bracket {
		return false
	}
	s.at++
	return true
}

// more says whether the object or array that was opened has another entry, and goes to it; else it goes behind the end.
func (s *scan) more() bool {
	switch s.space() {
	case '}', ']':
		s.at++
		return false
	case ',':
		s.at++
	}
	return true
}

// key reads the name of a member as it is written, without its quotes.
func (s *scan) key() []byte {
	s.space()
	from := s.at + 1
	s.skipString()
	key := s.text[from : s.at-1]
	s.space()
	s.at++ // the colon
	return key
}

// value gives a value as it is written.
func (s *scan) value() []byte {
	first := s.space()
	from := s.at
	switch first {
	case '"':
		s.skipString()
	case '{', '[':
		s.skipNested()
	default:
		for s.at < len(s.text) && !endsLiteral(s.text[s.at]) {
			s.at++
		}
	}
	return s.text[from:s.at]
}

func endsLiteral(b byte) bool { return b <= ' ' || b == ',' || b == '}' || b == ']' }

func (s *scan) skipString() {
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
}

func (s *scan) skipNested() {
	for depth := 0; ; {
		switch s.text[s.at] {
		case '"':
			s.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth == 0 {
			return
		}
	}
}

// members reads an object: values[i] becomes the value of the member names[i] as it is written, nil where there is none. It
// says false of what is odd: no object, a name that is written in another way, or that comes twice.
func (s *scan) members(names []string, values [][]byte) bool {
	if !s.open('{') {
		return false
	}
	for s.more() {
		key := s.key()
		value := s.value()
		for i, name := range names {
			if string(key) == name {
				if values[i] != nil {
					return false
				}
				values[i] = value
			} else if bytes.EqualFold(key, []byte(name)) {
				return false
			}
		}
		if bytes.IndexByte(key, '\\') >= 0 {
			return false
		}
	}
	return true
}

// unquoteAll puts the texts of strings in the place of what is written. It says false where one is no string.
func unquoteAll(values [][]byte) bool {
	for i, value := range values {
		if value == nil {
			continue
		}
		text, ok := unquote(value)
		if !ok {
			return false
		}
		values[i] = text
	}
	return true
}

func unquote(value []byte) ([]byte, bool) {
	if value[0] != '"' {
		return nil, false
	}
	inner := value[1 : len(value)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return inner, true
	}
	var text string
	err := json.Unmarshal(value, &text)
	return []byte(text), err == nil
}

var (
	unitMembers   = []string{"name", "desiredState", "currentState", "machineID", "options"}
	optionMembers = []string{"section", "name", "value"}
	stateMembers  = []string{"name", "hash", "machineID", "systemdLoadState", "systemdActiveState", "systemdSubState"}
)

// rawUnit is a unit's entry: texts, and its options as they are written, nil for none.
type rawUnit struct{ name, desired, current, machine, options []byte }

func (s *scan) unit() (rawUnit, bool) {
	var values [5][]byte
	if !s.members(unitMembers, values[:]) || !unquoteAll(values[:4]) {
		return rawUnit{}, false
	}
	return rawUnit{values[0], values[1], values[2], values[3], values[4]}, true
}

// scanUnit reads a body that is one unit.
func scanUnit(body []byte) (rawUnit, bool) {
	if !json.Valid(body) {
		return rawUnit{}, false
	}
	s := scan{text: body}
	return s.unit()
}

// rawState is a state's entry.
type rawState struct{ name, hash, machine, load, active, sub []byte }

func (s *scan) state() (rawState, bool) {
	var values [6][]byte
	if !s.members(stateMembers, values[:]) || !unquoteAll(values[:]) {
		return rawState{}, false
	}
	return rawState{values[0], values[1], values[2], values[3], values[4], values[5]}, true
}

// rawOption is one option of a unit file.
type rawOption struct{ section, name, value []byte }

func (s *scan) option() (rawOption, bool) {
	var values [3][]byte
	if !s.members(optionMembers, values[:]) || !unquoteAll(values[:]) {
		return rawOption{}, false
	}
	return rawOption{values[0], values[1], values[2]}, true
}

// scanPage reads one page of the list with the given name. entry reads one of its entries.
func scanPage(body []byte, list string, entry func(*scan) bool) (token string, ok bool) {
	names := [2]string{list, "nextPageToken"}
	var values [2][]byte
	whole := scan{text: body}
	if !json.Valid(body) || !whole.members(names[:], values[:]) || !unquoteAll(values[1:]) {
		return "", false
	}
	return string(values[1]), values[0] == nil || scanList(values[0], entry)
}

func scanList(list []byte, entry func(*scan) bool) bool {
	s := scan{text: list}
	if !s.open('[') {
		return false
	}
	for s.more() {
		if !entry(&s) {
			return false
		}
	}
	return true
}
