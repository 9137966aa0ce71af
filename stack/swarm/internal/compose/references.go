package compose

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// hostPath makes a reference of an absolute path of a node. It refuses what a node would read as another path than the one that is
// held against what is allowed: a node resolves links before it goes up by "..", and a Swarm fills in templates.
func (m *maker) hostPath(line int, text string) (Reference, bool) {
	switch {
	case isTemplate(text):
		m.found.add(line, "a path of a node can't be a template: write the path itself")
	case climbs(text):
		m.found.add(line, "the path %.200q has .. in it: write where it leads", text)
	case strings.ContainsFunc(text, unicode.IsControl):
		m.found.add(line, "the path %.200q has a control character", text)
	default:
		return Reference{KindHostPath, path.Clean(text), line}, true
	}
	return Reference{}, false
}

// isTemplate says whether a Swarm would put something else in place of a text. It does so for each task with the sources of
// mounts, and with the options of volumes.
func isTemplate(text string) bool { return strings.Contains(text, "{{") }

func climbs(text string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(c rune) bool { return c == '/' || separates(c) }), "..")
}

// separates says whether a character ends a path within a longer text.
func separates(c rune) bool { return strings.ContainsRune(",;=|\"'", c) || unicode.IsSpace(c) }

// localURL is how an address of a node itself begins, and plainURL what such an address has to look like: each program that reads
// it takes it for the same path.
var (
	localURL = regexp.MustCompile(`(?i)^(unix[a-z]*|file):`)
	plainURL = regexp.MustCompile(`^[a-zA-Z]+://(/[^%?#]*)$`)
)

// pathsIn gives the paths of a node that a text names, which belongs to a program that not much is known of: each part that begins
// with a slash, and the addresses of sockets.
func (m *maker) pathsIn(line int, text string) []Reference {
	parts := strings.FieldsFunc(text, separates)
	if whole := strings.TrimSpace(text); len(parts) > 1 && (path.IsAbs(whole) || localURL.MatchString(whole)) {
		parts = append(parts, whole)
	}
	var made []Reference
	for _, part := range parts {
		if localURL.MatchString(part) {
			at := plainURL.FindStringSubmatch(part)
			if at == nil {
				m.found.add(line, "the address of a socket is written as unix:///run/a.sock, without a host, a query, and %%")
				continue
			}
			part = at[1]
		}
		if !path.IsAbs(part) && !climbs(part) {
			continue
		}
		if of, ok := m.hostPath(line, part); ok {
			made = append(made, of)
		}
	}
	return made
}

// fileOptions are the options of Docker's own log drivers that name a file of the node, where the engine runs.
var fileOptions = []string{"syslog-tls-ca-cert", "syslog-tls-cert", "syslog-tls-key", "splunk-capath"}

// optionPaths notes the paths of a node that the options of a log driver name: sockets to write to, and files with keys.
func (m *maker) optionPaths(options *node, of *Service) {
	for _, f := range options.fields {
		text := f.value.text()
		if slices.Contains(fileOptions, f.key) && !path.IsAbs(text) {
			m.found.add(f.line, "%s is no absolute path", f.key)
			continue
		}
		of.References = append(of.References, m.pathsIn(f.line, text)...)
	}
}

// The driver that makes volumes where none is named. It mounts whatever it is told to, as mount(8) does.
const localDriver = "local"

// localOptions are all that it knows.
var localOptions = []string{"type", "o", "device", "size"}

// remoteTypes are the file systems whose device is no path of the node.
var remoteTypes = []string{"tmpfs", "nfs", "nfs3", "nfs4", "cifs"}

// bindOptions make a mount one of a path, whatever type it says that it is of.
var bindOptions = []string{"bind", "rbind", "move", "remount"}

// volumePaths gives the paths of a node that the options of a volume name. Those of the local driver are refused where it can't
// be told what of a node they mean.
func (m *maker) volumePaths(driver string, options *node) (made []Reference) {
	local := driver == "" || driver == localDriver
	for _, f := range options.fields {
		switch {
		case isTemplate(f.value.text()) || isTemplate(f.key):
			m.found.add(f.line, "the option %.80s of a volume is a template, which could become a path of the node: write what it stands for", f.key)
			return nil
		case local && !slices.Contains(localOptions, f.key):
			m.found.add(f.line, "the driver local knows no option %.80q: it has %s", f.key, strings.Join(localOptions, ", "))
			return nil
		case !local:
			made = append(made, m.pathsIn(f.line, f.value.text())...)
		}
	}
	if local {
		return m.localPaths(options)
	}
	return made
}

func (m *maker) localPaths(options *node) []Reference {
	kind, mountOptions, device := options.child("type").text(), options.child("o").text(), options.child("device")
	given := strings.Split(mountOptions, ",")
	binds := slices.ContainsFunc(given, func(o string) bool { return slices.Contains(bindOptions, strings.TrimSpace(o)) })
	switch {
	case binds && device.isNull():
		m.found.add(options.line, "a volume that binds names its device")
		return nil
	case !binds && slices.Contains(remoteTypes, kind), device.isNull() && kind == "":
		return nil
	case !binds && kind != "" && kind != "none" && !plainFileSystem(kind):
		m.found.add(options.lineOf("type"), "a volume of type %.80q could mount whatever a node has", kind)
		return nil
	case !path.IsAbs(device.text()):
		m.found.add(options.lineOf("device"), "the device %.200q of a volume is no absolute path", device.text())
		return nil
	}
	var made []Reference
	if of, ok := m.hostPath(options.lineOf("device"), device.text()); ok {
		made = append(made, of)
	}
	if binds {
		return made // what else is said means nothing then
	}
	return append(made, m.furtherDevices(options.lineOf("o"), given)...)
}

// furtherDevices gives what else of a node the options of a mount name: file systems may lie on several devices.
func (m *maker) furtherDevices(line int, mountOptions []string) (made []Reference) {
	for _, option := range mountOptions {
		switch name, value, _ := strings.Cut(option, "="); {
		case name == "journal_dev":
			m.found.add(line, "journal_dev names a device by its number: write journal_path")
		case name != "subvol": // a path within the file system
			made = append(made, m.pathsIn(line, value)...)
		}
	}
	return made
}

// plainFileSystem says whether a file system is all of its devices, and nothing else of the node.
func plainFileSystem(kind string) bool {
	return slices.Contains([]string{"ext2", "ext3", "ext4", "xfs", "btrfs", "vfat", "iso9660"}, kind)
}
