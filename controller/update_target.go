package controller

// target is what a run works towards. The engine is the same for all of them: an update towards the request's content
// (replacement), a change of the number of slices (scaling), and the way back from either (restoration).
type target interface {
	// isNew says whether a slice that is there is as wanted. made: this run has created it.
	isNew(slice *comparedSlice, made bool) bool
	// mayRemove says whether a slice that this run has not created may be taken away.
	mayRemove(id string) bool
	// leavesAlone says that slices which are as wanted, and which the run has not created, are not its business: they are
	// neither launched nor waited for.
	leavesAlone() bool
	// wanted is how many slices there are to be at the end, where so many are there to stay now.
	wanted(staying int) int
	// next gives what the next new slice is made of.
	next() material
}

// material is what one slice is made of.
type material struct {
	contents map[string]string // by unit base
	loaded   map[string]bool   // unit bases that are not to be launched
	// untried: it need not run to count, since what it is a copy of did not either.
	untried bool
}

// sliced says whether its units carry a slice's ID.
func (m material) sliced() bool {
	for base := range m.contents {
		if isTemplate(base) {
			return true
		}
	}
	return false
}

// replacement is the target of an update: so many slices of the request's content.
type replacement struct {
	contents map[string]string
	named    map[string]bool // the slices that may be replaced; none named: all
	slices   int
	force    bool
	atCall   map[string]bool // slices found at the call, which a forced update takes for old whatever they have
}

func (t *replacement) isNew(slice *comparedSlice, made bool) bool {
	// One that this update has made is new, unless somebody has put another content into it: the backend may not tell
	// contents, and a unit of it may be missing.
	if made {
		return !slice.changed
	}
	return slice.isNew() && !(t.force && t.atCall[slice.id] && t.mayRemove(slice.id))
}

func (t *replacement) mayRemove(id string) bool { return len(t.named) == 0 || t.named[id] }
func (t *replacement) leavesAlone() bool        { return false }
func (t *replacement) wanted(int) int           { return t.slices }
func (t *replacement) next() material           { return material{contents: t.contents} }

// scaling is the target of a change of the number of slices: any content will do, but a slice that lacks a unit is none.
type scaling struct {
	contents map[string]string
	slices   int
}

func (t *scaling) isNew(slice *comparedSlice, made bool) bool {
	if made {
		return !slice.changed
	}
	return !slice.lacking
}

// unread says that the contents are not known: none was read, since no slice was to be made.
func (t *scaling) unread() bool {
	for _, text := range t.contents {
		if text == "" {
			return true
		}
	}
	return false
}

func (t *scaling) mayRemove(string) bool { return true }
func (t *scaling) leavesAlone() bool     { return true }
func (t *scaling) wanted(int) int        { return t.slices }
func (t *scaling) next() material        { return material{contents: t.contents} }

// restoration is the target of a way back: what was taken away is made again, and what was made goes. Slices that the
// run before neither made nor took away stay as they are.
type restoration struct {
	made    map[string]bool // slices that the run before has created
	stopped map[string]bool // slices that it has stopped and not destroyed
	lacking []material      // what it has taken away and is yet to be made again
}

func (t *restoration) isNew(slice *comparedSlice, made bool) bool { return made || t.stopped[slice.id] }
func (t *restoration) mayRemove(id string) bool                   { return t.made[id] || t.stopped[id] }
func (t *restoration) leavesAlone() bool                          { return false }
func (t *restoration) wanted(staying int) int                     { return staying + len(t.lacking) }

func (t *restoration) next() material {
	next := t.lacking[0]
	t.lacking = t.lacking[1:]
	return next
}
