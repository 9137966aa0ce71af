package compose

import (
	"path"
	"slices"
	"strings"
)

// optionPaths notes the paths of a node that the options of a log driver name: sockets to write to, and files with keys.
func (m *maker) optionPaths(options *node, of *Service) {
	for _, f := range options.fields {
		for _, part := range strings.Split(f.value.text(), ",") {
			part = strings.TrimSpace(part)
			if scheme, rest, found := strings.Cut(part, "://"); found && strings.HasPrefix(strings.ToLower(scheme), "unix") {
				part = "/" + strings.TrimPrefix(rest, "/")
			}
			if path.IsAbs(part) {
				of.References = append(of.References, Reference{KindHostPath, path.Clean(part), f.line})
			}
		}
	}
}

// The driver that makes volumes where none is named. It mounts whatever it is told to, as mount(8) does.
const localDriver = "local"

// remoteTypes are the file systems whose device is no path of the node.
var remoteTypes = []string{"tmpfs", "nfs", "nfs3", "nfs4", "cifs"}

// bindOptions make a mount one of a path, whatever type it says that it is of.
var bindOptions = []string{"bind", "rbind", "move", "remount"}

// volumePaths gives the paths of a node that the options of a volume name. Those of the local driver are refused where it can't
// be told what of a node they mean.
func (m *maker) volumePaths(driver string, options *node) []Reference {
	if driver != "" && driver != localDriver {
		return absolutePaths(options.fields)
	}
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
	return []Reference{{KindHostPath, path.Clean(device.text()), device.line}}
}

// plainFileSystem says whether a file system is all of its device, and nothing else of the node.
func plainFileSystem(kind string) bool {
	return slices.Contains([]string{"ext2", "ext3", "ext4", "xfs", "btrfs", "vfat", "iso9660"}, kind)
}

// absolutePaths are options of a driver that nothing is known of: each that looks like a path counts as one.
func absolutePaths(options []field) []Reference {
	var made []Reference
	for _, f := range options {
		if text := f.value.text(); path.IsAbs(text) {
			made = append(made, Reference{KindHostPath, path.Clean(text), f.line})
		}
	}
	return made
}
