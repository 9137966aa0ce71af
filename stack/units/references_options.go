package units

import (
	"slices"
	"strings"

	"github.com/squadronctl/squadron/validator"
)

// pathReader finds the paths of the host in the value of an option.
type pathReader func(value string) []string

// pathOptions are the options that refer to the host's files, in whichever section they stand.
var pathOptions = map[string]pathReader{
	"EnvironmentFile":         oneWhole,
	"BindPaths":               eachBefore,
	"BindReadOnlyPaths":       eachBefore,
	"MountImages":             eachBefore,
	"ExtensionImages":         eachBefore,
	"ExtensionDirectories":    eachBefore,
	"RootDirectory":           oneWhole,
	"RootImage":               oneWhole,
	"OpenFile":                oneBefore,
	"LoadCredential":          behindName,
	"LoadCredentialEncrypted": behindName,
	"StandardInput":           behindKind,
	"StandardOutput":          behindKind,
	"StandardError":           behindKind,
	"PathExists":              oneWhole,
	"PathExistsGlob":          oneWhole,
	"PathChanged":             oneWhole,
	"PathModified":            oneWhole,
	"DirectoryNotEmpty":       oneWhole,
	"What":                    oneIfPath,
	"Where":                   oneIfPath,
	"ListenStream":            oneIfPath,
	"ListenDatagram":          oneIfPath,
	"ListenSequentialPacket":  oneIfPath,
	"ListenFIFO":              oneIfPath,
	"ListenSpecial":           oneBeforeBlank,
	"ListenUSBFunction":       oneIfPath,
	"Symlinks":                eachBefore,
}

// hostPathsOf gives the paths of the host that an option refers to. An empty value takes back what was said before, and refers
// to nothing.
func hostPathsOf(o option) []string {
	read := pathOptions[o.name]
	if read == nil || o.section == "Unit" || o.section == "Install" || strings.HasPrefix(o.section, "X-") {
		return nil
	}
	return slices.DeleteFunc(read(o.value), func(path string) bool { return path == "" })
}

// modified takes off the signs before a path that say how it is to be taken.
func modified(path string) string { return strings.TrimLeft(path, "-+:") }

func oneWhole(value string) []string {
	return []string{modified(strings.Trim(strings.TrimSpace(strings.ReplaceAll(value, "\\\n", " ")), `"'`))}
}

// eachBefore reads several of path:more.
func eachBefore(value string) []string {
	var paths []string
	for _, word := range words(value) {
		path, _, _ := strings.Cut(modified(word), ":")
		paths = append(paths, path)
	}
	return paths
}

func oneBefore(value string) []string {
	path, _, _ := strings.Cut(oneWhole(value)[0], ":")
	return []string{path}
}

func oneBeforeBlank(value string) []string {
	path, _, _ := strings.Cut(oneWhole(value)[0], " ")
	return []string{path}
}

// behindName reads name:path. Without a path, or with one that is none, the name is looked up among what systemd was given,
// which is the host's as well.
func behindName(value string) []string {
	name, path, found := strings.Cut(oneWhole(value)[0], ":")
	if !found {
		return []string{name}
	}
	return []string{path}
}

// behindKind reads file:path and its like. What is no file of the host (journal, null, socket) has no path.
func behindKind(value string) []string {
	kind, path, _ := strings.Cut(oneWhole(value)[0], ":")
	switch kind {
	case "file", "append", "truncate":
		return []string{path}
	}
	return nil
}

func oneIfPath(value string) []string {
	if path := oneWhole(value)[0]; strings.HasPrefix(path, "/") || strings.HasPrefix(path, "%") {
		return []string{path}
	}
	return nil
}

// dependencyOptions are the options by which a unit depends on units, or acts on them.
var dependencyOptions = map[string]bool{
	"Unit.After": true, "Unit.Before": true, "Unit.Requires": true, "Unit.Requisite": true, "Unit.Wants": true,
	"Unit.BindsTo": true, "Unit.PartOf": true, "Unit.Upholds": true, "Unit.Conflicts": true, "Unit.OnFailure": true,
	"Unit.OnSuccess": true, "Unit.PropagatesReloadTo": true, "Unit.ReloadPropagatedFrom": true,
	"Unit.PropagatesStopTo": true, "Unit.StopPropagatedFrom": true, "Unit.JoinsNamespaceOf": true,
	"Service.Sockets": true, "Socket.Service": true, "Timer.Unit": true, "Path.Unit": true, "Automount.Unit": true,
}

// dependenciesOf gives the units that an option of systemd's names.
func dependenciesOf(o option) []string {
	if !dependencyOptions[o.key()] {
		return nil
	}
	return words(o.value)
}

// peersOf gives the units that an option of fleet's names, which are always the cluster's. The names with X- are old ones.
func peersOf(o option) []string {
	if o.section != "X-Fleet" {
		return nil
	}
	switch o.name {
	case "MachineOf", "X-ConditionMachineOf", "Replaces":
		return validator.SchedulingValues(o.value)
	case "Conflicts", "X-Conflicts":
		var found []string
		for _, value := range validator.SchedulingValues(o.value) {
			found = append(found, strings.Fields(value)...)
		}
		return found
	}
	return nil
}
