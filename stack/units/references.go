package units

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/hostpath"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/validator"
)

// reference is one thing outside of its stack that a unit file refers to.
type reference struct {
	unit string
	at   option
	to   string // a path of the host, or a unit's name, as it is written
}

// references are all those of a manifest.
type references struct {
	paths []reference
	// dependencies are on units that may be the host's: they count where the cluster has the unit, and it is another stack's.
	dependencies []reference
	// peers are units of the cluster, there or not.
	peers []reference
}

// referencesOf finds what a manifest refers to.
func referencesOf(manifest Manifest) (references, error) {
	var found references
	bases := manifest.bases()
	for _, unit := range manifest.Units {
		options, err := optionsOf(unit.Content)
		if err != nil {
			return found, &stack.ManifestError{File: unit.Name, Err: err}
		}
		for _, o := range options {
			for _, to := range hostPathsOf(o) {
				found.paths = append(found.paths, reference{unit.Name, o, to})
			}
			for _, to := range dependenciesOf(o) {
				switch {
				case bases[baseOf(expand(unit.Name, to))]:
				case strings.Contains(to, "%"):
					// What it will be is known only on the machine, and can't be looked for.
					found.peers = append(found.peers, reference{unit.Name, o, to})
				default:
					found.dependencies = append(found.dependencies, reference{unit.Name, o, to})
				}
			}
			for _, to := range peersOf(o) {
				if !bases[baseOf(expand(unit.Name, to))] {
					found.peers = append(found.peers, reference{unit.Name, o, to})
				}
			}
		}
	}
	return found, nil
}

// instancePlace stands for a slice's ID in a name that is only compared.
const instancePlace = "0"

// expand replaces those specifiers in a unit's name that say what the unit's own name says.
func expand(unit, name string) string {
	stem, _ := validator.SplitSuffix(unit)
	prefix, _, _ := strings.Cut(stem, "@")
	return strings.NewReplacer("%p", prefix, "%N", strings.Replace(stem, "@", "@"+instancePlace, 1),
		"%n", strings.Replace(unit, "@.", "@"+instancePlace+".", 1), "%i", instancePlace, "%I", instancePlace).Replace(name)
}

// check refuses the references that can be judged without a look at the cluster.
func (r references) check(allow stack.Allow) error {
	for _, ref := range r.paths {
		if !slices.ContainsFunc(allow.HostPaths, func(allowed string) bool { return allowsPath(allowed, ref.to) }) {
			return ref.forbidden("the path " + ref.to + " of the host")
		}
	}
	for _, ref := range r.peers {
		if !allowsUnit(allow.Units, ref.to) {
			return ref.forbidden("unit " + ref.to + ", which is none of the stack's")
		}
	}
	return nil
}

// units are the names of the units that have to be looked for.
func (r references) units() []string {
	var found []string
	for _, ref := range r.dependencies {
		found = append(found, ref.to)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// checkUnits refuses a dependency on a unit that the cluster has, and that is not the stack's.
func (r references) checkUnits(allow stack.Allow, name string, found []fleet.UnitDetail) error {
	outside := map[string]fleet.UnitDetail{}
	for _, detail := range found {
		if !isOf(detail, name) {
			outside[detail.Name] = detail
		}
	}
	for _, ref := range r.dependencies {
		detail, there := outside[ref.to]
		if !there || allowsUnit(allow.Units, ref.to) {
			continue
		}
		whose := "nobody's stack"
		if detail.Stamped {
			whose = "stack " + detail.Group
		}
		return ref.forbidden("unit " + ref.to + " of " + whose)
	}
	return nil
}

func (r reference) forbidden(what string) error {
	return &stack.ManifestError{File: r.unit, Line: r.at.line,
		Err: fmt.Errorf("%w: %s= refers to %s", stack.ErrForbiddenReference, r.at.name, what)}
}

// allowsUnit says whether a list has a unit, or the template that it is of.
func allowsUnit(allowed []string, unit string) bool {
	return slices.Contains(allowed, unit) || slices.Contains(allowed, baseOf(unit))
}

// allowsPath says whether what is allowed covers a path. One with a specifier is allowed only as it is written.
func allowsPath(allowed, to string) bool {
	if strings.Contains(to, "%") || !path.IsAbs(to) {
		return allowed == to
	}
	return hostpath.Covers(allowed, to)
}
