package compose

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/squadronctl/squadron/stack"
)

// packedAs stands for the stack's name while a manifest is packed, which is for no certain one. No stack can have it.
const packedAs = "-"

// Load reads a manifest. What is wrong with it is one *stack.ManifestError or several that are joined, each with its line. A
// packed manifest is refused where a file or a variable is no longer what it was packed with.
func Load(in Input) (made *Stack, err error) {
	defer recoverTo(&err)
	if err := checkStackName(in.Stack); err != nil {
		return nil, err
	}
	text, packed, err := split(in.Manifest)
	if err != nil {
		return nil, err
	}
	made, using, err := load(in, text, packed)
	if err != nil {
		return nil, err
	}
	if !packed.empty() && using.trailer(made).resolved(in.Stack) != packed.resolved(in.Stack) {
		return nil, &stack.ManifestError{Line: 1 + strings.Count(text, "\n"), Err: errStale}
	}
	return made, nil
}

// Pack puts below a compose file what it refers to, as comments: the digest of each file and variable, and where variables are
// used also the names of networks, configs and secrets. Another content so is another manifest. What was packed before is
// replaced. An error is as of Load, but for what depends on the stack's name.
func Pack(manifest string, readFile func(path string) ([]byte, error), lookup func(name string) (string, bool)) (packed string, err error) {
	defer recoverTo(&err)
	text, _, err := split(manifest)
	if err != nil {
		return "", err
	}
	made, using, err := load(Input{Stack: packedAs, ReadFile: readFile, Lookup: lookup}, text, &trailer{})
	if err != nil {
		return "", err
	}
	return text + using.trailer(made).String(), nil
}

// Declared tells what a manifest declares, by names: of services no more than the name is set. It needs no file and no variable
// of a packed manifest, so that one of the past can be read when those are gone. A manifest that is not packed can't be read so
// when a config or a secret of it is by file.
func Declared(stackName, manifest string, lookup func(name string) (string, bool)) (made *Stack, err error) {
	defer recoverTo(&err)
	if err := checkStackName(stackName); err != nil {
		return nil, err
	}
	text, packed, err := split(manifest)
	if err != nil {
		return nil, err
	}
	found := &faults{}
	root := parse(text, found)
	if root == nil {
		return nil, found.err()
	}
	prepare(root, found)
	if found.any() {
		return nil, found.err()
	}
	m := &maker{root: root, name: stackName, found: found,
		using: newSources(Input{Lookup: lookup}, packed)}
	m.using.onlyName = true
	if len(packed.variables) > 0 {
		made = packed.names(stackName)
	} else {
		made = m.declared()
		m.checkNames(made)
	}
	made.Services = m.serviceNames()
	if found.any() {
		return nil, found.err()
	}
	return made, nil
}

// load reads a compose file.
func load(in Input, text string, packed *trailer) (*Stack, *sources, error) {
	found := &faults{}
	root := parse(text, found)
	if root == nil {
		return nil, nil, found.err()
	}
	prepare(root, found)
	if found.any() {
		return nil, nil, found.err()
	}
	m := &maker{root: root, name: in.Stack, found: found, using: newSources(in, packed)}
	m.interpolate()
	if found.any() {
		return nil, nil, found.err()
	}
	m.checkObjects()
	if found.any() {
		return nil, nil, found.err()
	}
	made := m.make()
	if found.any() {
		return nil, nil, found.err()
	}
	return made, m.using, nil
}

// prepare takes out what no one reads, the services of profiles and the extensions, and refuses keys that are not supported.
// No profile is ever active.
func prepare(root *node, found *faults) {
	if services := root.child("services"); services != nil {
		kept := services.fields[:0:0]
		for _, f := range services.fields {
			if profiles := f.value.child("profiles"); profiles == nil || len(profiles.items) == 0 {
				kept = append(kept, f)
			}
		}
		services.fields = kept
	}
	checkKeys(root, rules, "", found)
}

// maker makes the specs of one manifest.
type maker struct {
	root  *node
	name  string
	using *sources
	found *faults
	used  used
	text  int // how long the values with variables are
	ports int // how many ports there are
}

// interpolate puts the variables in, and turns texts into what a key takes.
func (m *maker) interpolate() {
	m.interpolateNode(m.root)
	if !m.found.any() {
		checkForms(m.root, rules, "the manifest", m.found)
	}
}

func (m *maker) interpolateNode(n *node) {
	for _, f := range n.fields {
		m.interpolateNode(f.value)
	}
	for _, item := range n.items {
		m.interpolateNode(item)
	}
	text, isText := n.scalar.(string)
	if m.text > maxText || !isText || !strings.Contains(text, "$") {
		return
	}
	value, err := interpolate(text, m.using.variable)
	if err != nil {
		m.found.wrap(n.line, err)
		return
	}
	if m.text += len(value); m.text > maxText {
		m.found.wrap(n.line, errTooLong)
	}
	n.scalar = value
}

// make makes all that the manifest declares.
func (m *maker) make() *Stack {
	m.checkTop()
	made := &Stack{Name: m.name}
	for _, f := range m.root.child("services").fields {
		made.Services = append(made.Services, m.service(f))
	}
	m.used.addTo(made)
	made.sort()
	m.checkNames(made)
	return made
}

// checkTop checks what is said of the manifest as a whole.
func (m *maker) checkTop() {
	if name := m.root.child("name"); !name.isNull() && m.name != packedAs && name.text() != m.name {
		m.found.add(name.line, "the manifest's name is %.80q, and the stack's is %.80q", name.text(), m.name)
	}
	services := m.root.child("services")
	if services == nil || services.kind != mapping || len(services.fields) == 0 {
		m.found.add(m.root.lineOf("services"), "the manifest has no service that is in no profile")
		m.root.fields = append(m.root.fields, field{key: "services", value: &node{kind: mapping}})
	}
}

var (
	stackForm = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]*$`)
	// Names of services take no dot, since they are names in DNS.
	serviceForm  = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9_-]*[a-zA-Z0-9])?$`)
	resourceForm = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9_.-]*[a-zA-Z0-9])?$`)
)

// longest are the longest names that a Swarm takes.
const (
	longestService = 63
	longestObject  = 64
)

func checkStackName(name string) error {
	if !stackForm.MatchString(name) {
		return &stack.ManifestError{Err: fmt.Errorf("%.80q can't be the name of a stack: it takes letters, digits, - and _", name)}
	}
	return nil
}

// checkNames refuses names that a Swarm takes for nothing of the kind, and one name for two things.
func (m *maker) checkNames(made *Stack) {
	names := map[string]int{}
	check := func(line int, kind Kind, name string, form *regexp.Regexp, longest int) {
		shown := name
		if rest, scoped := strings.CutPrefix(name, packedAs+"_"); scoped && m.name == packedAs {
			shown = "x_" + rest
		}
		key := string(kind) + " " + name
		switch {
		case !form.MatchString(shown) || len(shown) > longest:
			m.found.add(line, "%.200q can't be the name of a %s on a Swarm", name, kind)
		case names[key] != 0:
			m.found.add(line, "the %s %s is there already, in line %d", kind, name, names[key])
		}
		names[key] = line
	}
	for _, s := range made.Services {
		check(s.Line, "service", s.Spec.Name, serviceForm, longestService)
	}
	for _, n := range made.Networks {
		check(n.Line, KindNetwork, n.Name, resourceForm, longestService)
	}
	for _, o := range made.Configs {
		check(o.Line, KindConfig, o.Name, resourceForm, longestObject)
	}
	for _, o := range made.Secrets {
		check(o.Line, KindSecret, o.Name, resourceForm, longestObject)
	}
	for _, v := range made.Volumes {
		check(v.Line, KindVolume, v.Name, resourceForm, 255)
	}
}

// recoverTo makes an error of a panic: a manifest is nobody's who could be trusted.
func recoverTo(err *error) {
	if p := recover(); p != nil {
		*err = &stack.ManifestError{Line: 1, Err: fmt.Errorf("the manifest can't be read: %v", p)}
	}
}
