package fleet

// filter says which units a look is about. The zero filter takes none.
type filter struct {
	all    bool
	names  map[string]bool
	groups []string
}

// filter gives the selector's test. Every stamp is looked at, though the last one stands: more may be taken, but no less.
func (s Selector) filter() filter {
	f := filter{all: len(s.Names) == 0 && len(s.Groups) == 0, names: make(map[string]bool, len(s.Names)), groups: s.Groups}
	for _, name := range s.Names {
		f.names[name] = true
	}
	return f
}

// takesName says whether a unit is taken for its name, whatever its stamp.
func (f *filter) takesName(name []byte) bool {
	if f.all || f.names[string(name)] {
		return true
	}
	for _, group := range f.groups {
		if len(name) >= len(group) && string(name[:len(group)]) == group {
			return true
		}
	}
	return false
}

// takes says whether a unit is taken.
func (f *filter) takes(name string, content *content) bool {
	return f.takesName([]byte(name)) || content.stampedWith(f.groups)
}

// needsStamps says whether a unit of another name may be taken for its stamp.
func (f *filter) needsStamps() bool { return len(f.groups) > 0 }
