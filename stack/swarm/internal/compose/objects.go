package compose

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/moby/api/types/swarm"
)

// A Swarm takes no empty config or secret, and none that is larger.
const (
	maxConfig = 1000 << 10
	maxSecret = 500 << 10
)

// hashLength is how much of a content's hash ends a name.
const hashLength = 12

// checkObjects refuses a config or secret that has no content, or several.
func (m *maker) checkObjects() {
	for _, kind := range []string{"configs", "secrets"} {
		all := m.root.child(kind)
		if all.isNull() {
			continue
		}
		for _, f := range all.fields {
			var given []string
			for _, key := range []string{"file", "content", "external"} {
				if n := f.value.child(key); !n.isNull() && n.scalar != false {
					given = append(given, key)
				}
			}
			if len(given) != 1 {
				m.found.add(f.line, "%s needs one of file, content and external, and has %d", f.key, len(given))
			}
		}
	}
}

// object gives a config or a secret by its key; nil is a fault that has been noted.
func (m *maker) object(of Kind, key string, line int) *Object {
	known, section, largest := &m.used.configs, "configs", maxConfig
	if of == KindSecret {
		known, section, largest = &m.used.secrets, "secrets", maxSecret
	}
	if made := (*known)[key]; made != nil {
		return made
	}
	all := m.root.child(section)
	from := all.child(key)
	if from == nil {
		m.found.add(line, "the %s %.80q is not declared", of, key)
		return nil
	}
	made := &Object{Key: key, Line: all.lineOf(key)}
	if made.Name, made.External = m.nameOf(key, from); !made.External {
		digest := m.content(from, made, largest)
		made.Name += "_" + strings.TrimPrefix(digest, "sha256:")[:hashLength]
		made.Labels = m.stamped(from.child("labels"))
	}
	if *known == nil {
		*known = map[string]*Object{}
	}
	(*known)[key] = made
	return made
}

// content reads what a config or a secret holds, and gives its digest.
func (m *maker) content(from *node, into *Object, largest int) string {
	file, content := from.child("file"), from.child("content")
	none := digestOf(nil)
	if file.isNull() {
		into.Data = []byte(content.text())
		m.checkSize(content, from, len(into.Data), largest)
		return digestOf(into.Data)
	}
	data, digest, err := m.using.file(file.text())
	if err != nil {
		m.found.wrap(file.line, err)
		return none
	}
	if into.Data = data; data != nil || !m.using.onlyName {
		m.checkSize(file, from, len(data), largest)
	}
	return digest
}

func (m *maker) checkSize(at, from *node, size, largest int) {
	line := from.line
	if at != nil {
		line = at.line
	}
	switch {
	case size == 0:
		m.found.add(line, "the content is empty, and a Swarm takes none that is")
	case size >= largest:
		m.found.add(line, "the content has %d bytes, and a Swarm takes less than %d", size, largest)
	}
}

// mounted is a config or a secret in a container.
type mounted struct {
	object         *Object
	line           int
	name, uid, gid string
	mode           os.FileMode
}

// mountedObjects reads the list of a service's configs or secrets, sorted by their names on the cluster.
func (m *maker) mountedObjects(kind Kind, from *node, of *Service) []mounted {
	var made []mounted
	from.each(func(n *node) {
		key := n.text()
		if n.kind == mapping {
			key = n.child("source").text()
		}
		object := m.object(kind, key, n.line)
		if object == nil {
			return
		}
		if object.External {
			of.References = append(of.References, Reference{kind, object.Name, n.line})
		}
		one := mounted{object: object, line: n.line, name: key, uid: "0", gid: "0", mode: 0o444}
		for of, into := range map[string]*string{"target": &one.name, "uid": &one.uid, "gid": &one.gid} {
			if text := n.child(of).text(); text != "" {
				*into = text
			}
		}
		one.mode = m.mode8(n.child("mode"), one.mode)
		if slices.ContainsFunc(made, func(other mounted) bool { return other.name == one.name }) {
			m.found.add(n.line, "the target %s is taken by another %s", one.name, kind)
		}
		made = append(made, one)
	})
	slices.SortStableFunc(made, func(a, b mounted) int { return strings.Compare(a.object.Name, b.object.Name) })
	return made
}

// mode8 reads the permissions of a file: a number, or octal digits in quotes.
func (m *maker) mode8(n *node, otherwise os.FileMode) os.FileMode {
	if n.isNull() {
		return otherwise
	}
	var read uint64
	var err error
	switch v := n.scalar.(type) {
	case int:
		read = uint64(v)
	case string:
		read, err = strconv.ParseUint(strings.TrimPrefix(v, "0o"), 8, 32)
	default:
		err = strconv.ErrSyntax
	}
	if err != nil || read > 0o7777 {
		m.found.add(n.line, "%.80q are no permissions: write 0440", n.text())
		return otherwise
	}
	return os.FileMode(read)
}

func (m *maker) configReferences(from *node, of *Service) []*swarm.ConfigReference {
	var made []*swarm.ConfigReference
	for _, c := range m.mountedObjects(KindConfig, from, of) {
		made = append(made, &swarm.ConfigReference{ConfigName: c.object.Name,
			File: &swarm.ConfigReferenceFileTarget{Name: c.name, UID: c.uid, GID: c.gid, Mode: c.mode}})
	}
	return made
}

func (m *maker) secretReferences(from *node, of *Service) []*swarm.SecretReference {
	var made []*swarm.SecretReference
	for _, s := range m.mountedObjects(KindSecret, from, of) {
		made = append(made, &swarm.SecretReference{SecretName: s.object.Name,
			File: &swarm.SecretReferenceFileTarget{Name: s.name, UID: s.uid, GID: s.gid, Mode: s.mode}})
	}
	return made
}

// declared tells what the manifest declares, and its services use, without making any service.
func (m *maker) declared() *Stack {
	made := &Stack{Name: m.name}
	if m.interpolate(); m.found.any() {
		return made
	}
	if services := m.root.child("services"); services != nil {
		for _, f := range services.fields {
			ignored := &Service{}
			m.attachments(f, ignored)
			m.mountedObjects(KindConfig, f.value.child("configs"), ignored)
			m.mountedObjects(KindSecret, f.value.child("secrets"), ignored)
		}
	}
	m.used.addTo(made)
	made.sort()
	return made
}
