package fleet

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// collector takes what fleet answers at one look, page by page and in any order, and builds only what its filter takes. It
// is safe for use by many goroutines at once.
type collector struct {
	filter filter

	mutex    sync.Mutex
	contents contentTable
	texts    interner
	units    []unitEntry
	states   []stateEntry
	// later are states, as they are written, of units that only a stamp may bring in.
	later []laterState
}

// unitEntry is a unit as a list has it.
type unitEntry struct {
	name, desired, current, machine string
	content                         *content
	page                            int
}

// stateEntry is a state as a list has it.
type stateEntry struct {
	name, hash, machine, load, active, sub string
	page                                   int
}

type laterState struct {
	text []byte
	page int
}

func newCollector(selector Selector) *collector {
	texts := interner{}
	return &collector{
		filter:   selector.filter(),
		texts:    texts,
		contents: contentTable{byText: map[string]*content{}, texts: texts},
	}
}

// unitPage takes one page of the list of units and gives the next one's token. What fails is not taken.
func (c *collector) unitPage(page int, body []byte) (token string, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	before := len(c.units)
	token, ok := scanPage(body, "units", func(s *scan) bool {
		raw, ok := s.unit()
		return ok && c.addUnit(raw, page)
	})
	if ok {
		return token, nil
	}
	c.units = c.units[:before]
	var wire unitPage
	if err := decode(body, &wire); err != nil {
		return "", err
	}
	for _, unit := range wire.Units {
		entry := entryOf(unit, page)
		if entry.name != "" && c.filter.takes(entry.name, entry.content) {
			c.units = append(c.units, entry)
		}
	}
	return wire.NextPageToken, nil
}

func entryOf(unit wireUnit, page int) unitEntry {
	return unitEntry{unit.Name, unit.DesiredState, unit.CurrentState, unit.MachineID, newContent(fromWire(unit.Options)), page}
}

// addUnit takes a unit if the filter does. It says false of what is odd. What a unit's options say that nobody takes is
// not looked at.
func (c *collector) addUnit(raw rawUnit, page int) bool {
	if len(raw.name) == 0 {
		return true
	}
	byName := c.filter.takesName(raw.name)
	if !byName && (!c.filter.needsStamps() || !mayBeStamped(raw.options)) {
		return true
	}
	content, ok := c.contents.of(raw.options)
	if !ok {
		return false
	}
	if byName || content.stampedWith(c.filter.groups) {
		c.units = append(c.units, unitEntry{
			name:    c.texts.of(raw.name),
			desired: c.texts.of(raw.desired),
			current: c.texts.of(raw.current),
			machine: c.texts.of(raw.machine),
			content: content,
			page:    page,
		})
	}
	return true
}

// unit takes the answer that was asked for by name. What fails is not taken.
func (c *collector) unit(name string, body []byte) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	before := len(c.units)
	if raw, ok := scanUnit(body); !ok || string(raw.name) != name || !c.addUnit(raw, 1) {
		c.units = c.units[:before]
		var wire wireUnit
		if err := decode(body, &wire); err != nil {
			return err
		}
		if err := answersFor(name, wire.Name); err != nil {
			return err
		}
		c.units = append(c.units, entryOf(wire, 1))
	}
	return nil
}

// statePage takes one page of the list of states and gives the next one's token. What fails is not taken.
func (c *collector) statePage(page int, body []byte) (token string, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	states, later := len(c.states), len(c.later)
	token, ok := scanPage(body, "states", func(s *scan) bool {
		s.space()
		from := s.at
		raw, ok := s.state()
		switch {
		case !ok:
			return false
		case c.filter.takesName(raw.name):
			c.addState(raw, page)
		case c.filter.needsStamps():
			c.later = append(c.later, laterState{s.text[from:s.at], page})
		}
		return true
	})
	if ok {
		return token, nil
	}
	c.states, c.later = c.states[:states], c.later[:later]
	var wire statePage
	if err := decode(body, &wire); err != nil {
		return "", err
	}
	for _, state := range wire.States {
		if state.Name != "" && state.MachineID != "" {
			c.states = append(c.states, stateEntry{state.Name, state.Hash, state.MachineID,
				state.SystemdLoadState, state.SystemdActiveState, state.SystemdSubState, page})
		}
	}
	return wire.NextPageToken, nil
}

func (c *collector) addState(raw rawState, page int) {
	if len(raw.name) == 0 || len(raw.machine) == 0 {
		return
	}
	c.states = append(c.states, stateEntry{
		name:    c.texts.of(raw.name),
		hash:    c.texts.of(raw.hash),
		machine: c.texts.of(raw.machine),
		load:    c.texts.of(raw.load),
		active:  c.texts.of(raw.active),
		sub:     c.texts.of(raw.sub),
		page:    page,
	})
}

// look puts together what was taken. Pages shift, so an entry can come twice. Of pages read side by side nobody can tell which
// is the newer, so the one on the later page stands, whichever came first: both were true since the look began.
func (c *collector) look() look {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	slices.SortStableFunc(c.units, func(a, b unitEntry) int {
		return cmp.Or(strings.Compare(a.name, b.name), a.page-b.page)
	})
	c.units = keepLast(c.units, func(a, b *unitEntry) bool { return a.name == b.name })
	c.addLater()
	slices.SortStableFunc(c.states, func(a, b stateEntry) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.machine, b.machine), a.page-b.page)
	})
	c.states = keepLast(c.states, func(a, b *stateEntry) bool { return a.name == b.name && a.machine == b.machine })
	return look{units: c.units, states: c.states}
}

// addLater adds the states of the units that only their stamps have brought in.
func (c *collector) addLater() {
	stamped := map[string]bool{}
	for _, unit := range c.units {
		if !c.filter.takesName([]byte(unit.name)) {
			stamped[unit.name] = true
		}
	}
	if len(stamped) == 0 {
		return
	}
	for _, later := range c.later {
		s := scan{text: later.text}
		if raw, ok := s.state(); ok && stamped[string(raw.name)] {
			c.addState(raw, later.page)
		}
	}
}

// keepLast drops, in place, entries that are followed by one that is the same.
func keepLast[E any](entries []E, same func(a, b *E) bool) []E {
	kept := entries[:0]
	for i := range entries {
		if i+1 == len(entries) || !same(&entries[i], &entries[i+1]) {
			kept = append(kept, entries[i])
		}
	}
	return kept
}
