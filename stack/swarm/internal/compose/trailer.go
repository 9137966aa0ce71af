package compose

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/stack"
)

// trailerMark begins each line that Pack puts below a compose file.
const trailerMark = "# squadron: "

// unset stands in a trailer for the digest of a variable that is not set.
const unset = "unset"

// trailer is what a packed manifest says of what it refers to.
type trailer struct {
	files     map[string]string // path to digest
	variables map[string]string // name to digest, or unset
	declared  []declared        // only where variables have a say in names
}

// declared is a name that a manifest declares. One that begins with _ is scoped: the stack's name belongs before it, and no name
// on a cluster begins so.
type declared struct {
	kind      Kind
	key, name string
	external  bool
}

func (t *trailer) empty() bool { return len(t.files)+len(t.variables)+len(t.declared) == 0 }

// String gives the lines, in one order.
func (t *trailer) String() string {
	var lines []string
	for path, digest := range t.files {
		lines = append(lines, trailerMark+"file "+path+" "+digest+"\n")
	}
	for name, digest := range t.variables {
		lines = append(lines, trailerMark+"variable "+name+" "+digest+"\n")
	}
	for _, d := range t.declared {
		verb := "declares"
		if d.external {
			verb = "uses"
		}
		lines = append(lines, fmt.Sprintf("%s%s %s %s %s\n", trailerMark, verb, d.kind, d.key, d.name))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

var (
	digestForm   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	declaredForm = regexp.MustCompile(`^(declares|uses) (network|config|secret) (\S+) (\S+)$`)
	fileForm     = regexp.MustCompile(`^file (\S|\S.*\S) (\S+)$`)
	variableForm = regexp.MustCompile(`^variable ([A-Za-z_][A-Za-z0-9_]*) (\S+)$`)
)

// split takes a packed manifest apart. The text ends in a newline, as if it had been written so.
func split(manifest string) (text string, packed *trailer, err error) {
	lines := strings.SplitAfter(manifest, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	begin := len(lines)
	for begin > 0 && strings.HasPrefix(lines[begin-1], trailerMark) {
		begin--
	}
	packed = &trailer{files: map[string]string{}, variables: map[string]string{}}
	for i, line := range lines[begin:] {
		if !packed.add(strings.TrimSpace(strings.TrimPrefix(line, trailerMark))) {
			return "", nil, &stack.ManifestError{Line: begin + i + 1,
				Err: fmt.Errorf("a line begins with %q, and is none that was packed", trailerMark)}
		}
	}
	text = strings.Join(lines[:begin], "")
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text, packed, nil
}

// add reads a line. False means that it is none of a trailer, or says a second time what another one says.
func (t *trailer) add(line string) bool {
	if at := declaredForm.FindStringSubmatch(line); at != nil {
		t.declared = append(t.declared, declared{Kind(at[2]), at[3], at[4], at[1] == "uses"})
		return true
	}
	into, at := t.files, fileForm.FindStringSubmatch(line)
	if at == nil {
		into, at = t.variables, variableForm.FindStringSubmatch(line)
	}
	if at == nil || into[at[1]] != "" {
		return false
	}
	into[at[1]] = at[2]
	return digestForm.MatchString(at[2]) || at[2] == unset && !strings.HasPrefix(line, "file ")
}

// resolved gives the lines as they are for one stack, to be compared.
func (t *trailer) resolved(stackName string) string {
	made := &trailer{files: t.files, variables: t.variables, declared: slices.Clone(t.declared)}
	for i := range made.declared {
		made.declared[i].name = unscope(made.declared[i].name, stackName)
	}
	return made.String()
}

// unscope is the name on the cluster of what is declared.
func unscope(name, stackName string) string {
	if strings.HasPrefix(name, "_") {
		return stackName + name
	}
	return name
}

// names gives what is declared, by the names on the cluster.
func (t *trailer) names(stackName string) *Stack {
	made := &Stack{Name: stackName}
	for _, d := range t.declared {
		name := unscope(d.name, stackName)
		switch d.kind {
		case KindNetwork:
			made.Networks = append(made.Networks, Network{Key: d.key, Name: name, External: d.external})
		case KindConfig:
			made.Configs = append(made.Configs, Object{Key: d.key, Name: name, External: d.external})
		case KindSecret:
			made.Secrets = append(made.Secrets, Object{Key: d.key, Name: name, External: d.external})
		}
	}
	made.sort()
	return made
}

// sort brings what is declared in the order of keys.
func (s *Stack) sort() {
	slices.SortFunc(s.Services, func(a, b Service) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(s.Networks, func(a, b Network) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(s.Configs, func(a, b Object) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(s.Secrets, func(a, b Object) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(s.Volumes, func(a, b Volume) int { return cmp.Compare(a.Key, b.Key) })
}

// declarations are the lines for what a manifest declares, of which the names of one stack are known.
func declarations(of *Stack) []declared {
	scope := of.Name + "_"
	name := func(on string) string {
		if rest, scoped := strings.CutPrefix(on, scope); scoped {
			return "_" + rest
		}
		return on
	}
	var made []declared
	for _, n := range of.Networks {
		made = append(made, declared{KindNetwork, n.Key, name(n.Name), n.External})
	}
	for _, o := range of.Configs {
		made = append(made, declared{KindConfig, o.Key, name(o.Name), o.External})
	}
	for _, o := range of.Secrets {
		made = append(made, declared{KindSecret, o.Key, name(o.Name), o.External})
	}
	return made
}
