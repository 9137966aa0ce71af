// Package validator checks what a caller is about to hand to a cluster: unit names, unit files, and lists of strings.
//
// UnitName and TemplateName hold a name against fleet's rules. UnitFile holds a unit file's text against the limits of
// fleet and of the parser it uses, which drops some lines without a word: what UnitFile accepts is what the cluster
// gets. The Strings… functions are predicates on lists of strings. Nothing here changes its arguments, and nothing
// needs a cluster.
package validator

import "fmt"

// Finding is one fault of a unit name or of a unit file.
type Finding struct {
	// Unit is the unit's name.
	Unit string
	// Line is the number of the physical line at fault, counted from 1; 0 where the fault has no line of its own.
	Line int
	// Rule says what is wrong, and what would come of it.
	Rule string
}

// Error gives the finding on one line: unit "web.service", line 6: …
func (f Finding) Error() string {
	if f.Line == 0 {
		return fmt.Sprintf("unit %.256q: %s", f.Unit, f.Rule)
	}
	return fmt.Sprintf("unit %.256q, line %d: %s", f.Unit, f.Line, f.Rule)
}
