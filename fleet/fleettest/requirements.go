package fleettest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// requirements are a unit's scheduling options, those of section X-Fleet.
type requirements struct {
	machineID string
	pinned    bool     // there is a MachineID, if an empty one
	peers     []string // MachineOf
	conflicts []string
	replaces  []string
	metadata  map[string][]string // all keys must match, each with one of its values
	global    bool
}

// parseRequirements reads a unit's scheduling options, old spellings included, and expands %n, %N, %p and %i in them.
// With an empty name nothing is expanded, as when a fleetd checks options.
func parseRequirements(name string, file unitFile) requirements {
	expand := specifiers(name)
	values := map[string][]string{}
	for _, option := range file.options {
		if option.Section != "X-Fleet" {
			continue
		}
		for _, value := range splitQuoted(option.Value) {
			values[option.Name] = append(values[option.Name], expand.Replace(value))
		}
	}
	needs := requirements{
		peers:     append(values["X-ConditionMachineOf"], values["MachineOf"]...),
		replaces:  values["Replaces"],
		metadata:  map[string][]string{},
		conflicts: strings.Fields(strings.Join(append(values["X-Conflicts"], values["Conflicts"]...), " ")),
	}
	for _, key := range []string{"X-ConditionMachineBootID", "X-ConditionMachineID", "MachineID"} {
		if v := values[key]; len(v) > 0 {
			needs.machineID, needs.pinned = v[0], true
		}
	}
	for _, pair := range append(values["X-ConditionMachineMetadata"], values["MachineMetadata"]...) {
		if parts := strings.Split(pair, "="); len(parts) == 2 && parts[0] != "" && parts[1] != "" {
			needs.metadata[parts[0]] = append(needs.metadata[parts[0]], parts[1])
		}
	}
	if v := values["Global"]; len(v) > 0 {
		last := v[len(v)-1]
		needs.global = isTrue(last) && !strings.EqualFold(last, "y")
	}
	return needs
}

// specifiers expands what fleet expands in scheduling options.
func specifiers(name string) *strings.Replacer {
	if name == "" {
		return strings.NewReplacer()
	}
	stem := strings.TrimSuffix(name, "."+unitType(name))
	prefix, instance, _ := strings.Cut(stem, "@")
	return strings.NewReplacer("%n", name, "%N", stem, "%p", prefix, "%i", instance)
}

// splitQuoted splits `"a=b" "c=d"` into its values; a line that isn't quoted at both ends is one value.
func splitQuoted(line string) []string {
	if !strings.HasPrefix(line, `"`) || !strings.HasSuffix(line, `"`) {
		return []string{line}
	}
	var values []string
	value := ""
	for i, part := range strings.Split(line, `"`) {
		if inside := i%2 == 1; inside {
			value += part
			continue
		}
		words := strings.Split(part, " ")
		value += words[0]
		for _, word := range words[1:] {
			values = append(values, value)
			value = word
		}
	}
	return append(values, value)
}

// follows says that what becomes of other units can change where this one may run.
func (n requirements) follows() bool {
	return len(n.peers)+len(n.replaces) > 0
}

// suits says whether a machine has the ID, whole or its first eight characters, and the metadata asked for.
func (n requirements) suits(m *machine) bool {
	if n.pinned && n.machineID != m.ID && n.machineID != m.ID[:min(8, len(m.ID))] {
		return false
	}
	for key, values := range n.metadata {
		if value, ok := m.Metadata[key]; !ok || !slices.Contains(values, value) {
			return false
		}
	}
	return true
}

// checkOptions finds what a fleetd refuses in the options of a new unit.
func checkOptions(file unitFile) error {
	if _, err := file.stored(); err != nil {
		return asFleetd(err)
	}
	needs := parseRequirements("", file)
	for _, peer := range needs.peers {
		for _, conflict := range needs.conflicts {
			if globMatches(conflict, peer) {
				return fmt.Errorf("unresolvable requirements: peer %q matches conflict %q", peer, conflict)
			}
		}
		for _, replace := range needs.replaces {
			if globMatches(replace, peer) {
				return fmt.Errorf("unresolvable requirements: peer %q matches replace %q", peer, replace)
			}
		}
	}
	return needs.checkTogether()
}

// checkTogether finds options that exclude one another.
func (n requirements) checkTogether() error {
	peers := len(n.peers) > 0
	conflicts, replaces := len(n.conflicts) > 0, len(n.replaces) > 0
	for _, pair := range []struct {
		both       bool
		one, other string
	}{
		{n.pinned && peers, "MachineID", "Peers"},
		{n.pinned && conflicts, "MachineID", "Conflicts"},
		{n.pinned && n.global, "MachineID", "Global"},
		{n.pinned && replaces, "MachineID", "Replaces"},
		{n.global && peers, "Global", "Peers"},
		{n.global && replaces, "Global", "Replaces"},
		{conflicts && replaces, "Conflicts", "Replaces"},
	} {
		if pair.both {
			return fmt.Errorf("%s cannot be used with %s", pair.one, pair.other)
		}
	}
	return nil
}

func globMatches(pattern, name string) bool {
	matched, err := path.Match(pattern, name)
	return err == nil && matched
}

func anyGlobMatches(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if globMatches(pattern, name) {
			return true
		}
	}
	return false
}
