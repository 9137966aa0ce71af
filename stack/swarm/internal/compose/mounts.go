package compose

import (
	"path"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/format"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/moby/moby/api/types/mount"
)

// volume is a named volume, with what a mount of it says of how a node makes it.
type volume struct {
	Volume
	labels     map[string]string
	driver     *mount.Driver
	references []Reference
}

// mounts reads the list of a service's volumes, in its order.
func (m *maker) mounts(from *node, of *Service) []mount.Mount {
	var made []mount.Mount
	from.each(func(n *node) {
		read, ok := m.readMount(n)
		if !ok {
			return
		}
		one, ok := m.mount(n, read, of)
		if !ok {
			return
		}
		if slices.ContainsFunc(made, func(other mount.Mount) bool { return path.Clean(other.Target) == path.Clean(one.Target) }) {
			m.found.add(n.line, "there is a mount at %s already", one.Target)
		}
		made = append(made, one)
	})
	return made
}

// readMount reads one item of the list, in its short syntax or its long one.
func (m *maker) readMount(n *node) (types.ServiceVolumeConfig, bool) {
	if n.kind != mapping {
		return m.shortMount(n)
	}
	var read types.ServiceVolumeConfig
	read.Type, read.Source, read.Target = n.child("type").text(), n.child("source").text(), n.child("target").text()
	read.ReadOnly = n.child("read_only").text() == "true"
	for _, section := range []string{types.VolumeTypeBind, types.VolumeTypeVolume, types.VolumeTypeTmpfs} {
		if !n.child(section).isNull() && section != read.Type {
			m.found.add(n.lineOf(section), "a mount of type %.80q has no options of %s", read.Type, section)
			return read, false
		}
	}
	if bind := n.child("bind"); !bind.isNull() {
		read.Bind = &types.ServiceVolumeBind{Propagation: m.oneOf(bind.child("propagation"), format.Propagations...)}
	}
	if of := n.child("volume"); !of.isNull() {
		read.Volume = &types.ServiceVolumeVolume{NoCopy: of.child("nocopy").text() == "true"}
	}
	if tmpfs := n.child("tmpfs"); !tmpfs.isNull() {
		read.Tmpfs = &types.ServiceVolumeTmpfs{Size: types.UnitBytes(m.bytes(tmpfs.child("size")))}
	}
	return read, true
}

// shortMount reads [SOURCE:]TARGET[:OPTION,…]. A name of one letter is no drive: nodes run Linux.
func (m *maker) shortMount(n *node) (types.ServiceVolumeConfig, bool) {
	read := types.ServiceVolumeConfig{Type: types.VolumeTypeVolume}
	parts := strings.Split(n.text(), ":")
	if slices.Contains(parts, "") || len(parts) > 3 {
		m.found.add(n.line, "the volume %.200q is not SOURCE:TARGET:OPTIONS, nor a part of that", n.text())
		return read, false
	}
	if read.Target = parts[0]; len(parts) > 1 {
		read.Source, read.Target = parts[0], parts[1]
	}
	if read.Source != "" && strings.ContainsRune("/.~", rune(read.Source[0])) {
		read.Type = types.VolumeTypeBind
	}
	if len(parts) == 3 {
		return read, m.shortOptions(n, strings.Split(parts[2], ","), &read)
	}
	return read, true
}

// shortOptions reads options, of which those of another type, and two of one kind, are refused.
func (m *maker) shortOptions(n *node, options []string, into *types.ServiceVolumeConfig) bool {
	given := map[string]string{}
	for _, option := range options {
		kind := ""
		switch {
		case option == "ro" || option == "rw":
			kind, into.ReadOnly = "access", option == "ro"
		case option == "nocopy" && into.Type == types.VolumeTypeVolume:
			kind, into.Volume = "copy", &types.ServiceVolumeVolume{NoCopy: true}
		case slices.Contains(format.Propagations, option) && into.Type == types.VolumeTypeBind:
			kind, into.Bind = "propagation", &types.ServiceVolumeBind{Propagation: option}
		default:
			m.found.add(n.line, "a %s has no option %.80q", into.Type, option)
			return false
		}
		if given[kind] != "" {
			m.found.add(n.line, "of the options %s and %s of a %s only one can be", given[kind], option, into.Type)
			return false
		}
		given[kind] = option
	}
	return true
}

func (m *maker) mount(n *node, from types.ServiceVolumeConfig, of *Service) (mount.Mount, bool) {
	made := mount.Mount{Type: mount.Type(from.Type), Source: from.Source, Target: from.Target, ReadOnly: from.ReadOnly}
	if !path.IsAbs(from.Target) {
		m.found.add(n.lineOf("target"), "the target %.200q of a mount is no absolute path", from.Target)
		return made, false
	}
	switch from.Type {
	case types.VolumeTypeBind:
		return made, m.bind(n, from, &made, of)
	case types.VolumeTypeVolume:
		return made, m.named(n, from, &made, of)
	case types.VolumeTypeTmpfs:
		if from.Source != "" {
			m.found.add(n.lineOf("source"), "a tmpfs has no source")
			return made, false
		}
		if from.Tmpfs != nil {
			made.TmpfsOptions = &mount.TmpfsOptions{SizeBytes: int64(from.Tmpfs.Size)}
		}
		return made, true
	default:
		m.found.add(n.lineOf("type"), "the type %.80q of a mount is none of volume, bind and tmpfs", from.Type)
		return made, false
	}
}

func (m *maker) bind(n *node, from types.ServiceVolumeConfig, made *mount.Mount, of *Service) bool {
	if !path.IsAbs(from.Source) {
		m.found.add(n.lineOf("source"), "the source %.200q of a bind is no absolute path: a node knows nothing of the manifest's place",
			from.Source)
		return false
	}
	if from.Bind != nil && from.Bind.Propagation != "" {
		made.BindOptions = &mount.BindOptions{Propagation: mount.Propagation(from.Bind.Propagation)}
	}
	reference, ok := m.hostPath(n.lineOf("source"), from.Source)
	of.References = append(of.References, reference)
	return ok
}

// named mounts a volume by name, or one that has none and is made for each container.
func (m *maker) named(n *node, from types.ServiceVolumeConfig, made *mount.Mount, of *Service) bool {
	if from.Source == "" {
		if from.Volume != nil && from.Volume.NoCopy {
			made.VolumeOptions = &mount.VolumeOptions{NoCopy: true}
		}
		return true
	}
	v := m.volume(from.Source, n.lineOf("source"))
	if v == nil {
		return false
	}
	made.Source = v.Name
	made.VolumeOptions = &mount.VolumeOptions{Labels: v.labels, DriverConfig: v.driver}
	if from.Volume != nil {
		made.VolumeOptions.NoCopy = from.Volume.NoCopy
	}
	if v.External || !strings.HasPrefix(v.Name, m.name+"_") {
		of.References = append(of.References, Reference{KindVolume, v.Name, n.lineOf("source")})
	}
	for _, reference := range v.references {
		if !slices.Contains(of.References, reference) {
			of.References = append(of.References, reference)
		}
	}
	return true
}

// volume gives a named volume by its key; nil is a fault that has been noted.
func (m *maker) volume(key string, line int) *volume {
	if known := m.used.volumes[key]; known != nil {
		return known
	}
	all := m.root.child("volumes")
	if all == nil || !has(all, key) {
		m.found.add(line, "the volume %.80q is not declared", key)
		return nil
	}
	from := all.child(key)
	made := &volume{Volume: Volume{Key: key, Line: all.lineOf(key)}}
	if made.Name, made.External = m.nameOf(key, from); !made.External {
		made.labels = m.stamped(from.child("labels"))
		driver, options := from.child("driver").text(), from.child("driver_opts")
		if driver != "" || !options.isNull() {
			made.driver = &mount.Driver{Name: driver}
		}
		if !options.isNull() {
			made.driver.Options = m.labels(options)
			made.references = m.volumePaths(driver, options)
		}
	}
	if m.used.volumes == nil {
		m.used.volumes = map[string]*volume{}
	}
	m.used.volumes[key] = made
	return made
}
