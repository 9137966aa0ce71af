package dockertest

import (
	"bytes"
	"net/http"
	"regexp"

	"github.com/moby/moby/api/types/swarm"
)

// object is a config or a secret, which differ in little.
type object struct {
	ID string
	swarm.Meta
	Spec swarm.ConfigSpec
}

// public is the object as the API shows it: a secret's content never leaves the Swarm by it.
func (o *object) public(kind string) object {
	shown := *o
	if kind == kindSecret {
		shown.Spec.Data = nil
	}
	return shown
}

const (
	kindConfig = "config"
	kindSecret = "secret"
)

// maxData is the bound of a content's size, which it has to stay below, by kind.
var maxData = map[string]int{kindConfig: 1000 * 1024, kindSecret: 500 * 1024}

var objectName = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9-_.]{0,62}[a-zA-Z0-9])?$`)

// objectRoutes are the calls of one kind of objects. method is the kind as it stands in the client's methods.
func (s *Swarm) objectRoutes(kind, method string, all map[string]*object) []route {
	return []route{
		{"GET /" + kind + "s", method + "List", "", func(c call) (int, any, error) { return listObjects(c, kind, all) }},
		{"GET /" + kind + "s/{id}", method + "Inspect", kind, func(c call) (int, any, error) {
			id, err := findObject(all, kind, c.PathValue("id"))
			if err != nil {
				return 0, nil, err
			}
			return http.StatusOK, all[id].public(kind), nil
		}},
		{"POST /" + kind + "s/create", method + "Create", kind, func(c call) (int, any, error) {
			var spec swarm.ConfigSpec
			if err := c.decode(&spec); err != nil {
				return 0, nil, err
			}
			id, err := s.makeObject(kind, all, spec)
			if err != nil {
				return 0, nil, err
			}
			return http.StatusCreated, swarm.ConfigCreateResponse{ID: id}, nil
		}},
		{"POST /" + kind + "s/{id}/update", method + "Update", kind, func(c call) (int, any, error) {
			return s.updateObject(c, kind, all)
		}},
		{"DELETE /" + kind + "s/{id}", method + "Remove", kind, func(c call) (int, any, error) {
			id, err := findObject(all, kind, c.PathValue("id"))
			if err == nil {
				err = s.dropObject(kind, all, id)
			}
			return http.StatusNoContent, nil, err
		}},
	}
}

// listObjects knows the filters id, name and label.
func listObjects(c call, kind string, all map[string]*object) (int, any, error) {
	f, err := c.filters("id", "name", "label")
	if err != nil {
		return 0, nil, err
	}
	objects := []object{}
	for _, id := range sortedIDs(all) {
		o := all[id]
		if f.prefix("id", id) && f.prefix("name", o.Spec.Name) && f.labels("label", o.Spec.Labels) {
			objects = append(objects, o.public(kind))
		}
	}
	return http.StatusOK, objects, nil
}

func findObject(all map[string]*object, kind, key string) (string, error) {
	id, err := find(all, func(o *object) string { return o.Spec.Name }, key)
	if err != nil {
		return "", lookupError(err, kind, key)
	}
	return id, nil
}

func (s *Swarm) makeObject(kind string, all map[string]*object, spec swarm.ConfigSpec) (string, error) {
	if !objectName.MatchString(spec.Name) {
		return "", refused("invalid name, only 64 [a-zA-Z0-9-_.] characters allowed, and the start and end character must be " +
			"[a-zA-Z0-9]")
	}
	if len(spec.Data) == 0 || len(spec.Data) >= maxData[kind] {
		return "", refused("%s data must be larger than 0 and less than %d bytes", kind, maxData[kind])
	}
	for _, other := range all {
		if other.Spec.Name == spec.Name {
			return "", exists("%s %s already exists", kind, spec.Name)
		}
	}
	o := &object{ID: s.newID(), Spec: clone(spec)}
	if o.Spec.Labels == nil {
		o.Spec.Labels = map[string]string{}
	}
	s.written(&o.Meta)
	all[o.ID] = o
	return o.ID, nil
}

// updateObject changes labels; nothing else of an object can change.
func (s *Swarm) updateObject(c call, kind string, all map[string]*object) (int, any, error) {
	version, err := c.version(kind)
	if err != nil {
		return 0, nil, err
	}
	var spec swarm.ConfigSpec
	if err := c.decode(&spec); err != nil {
		return 0, nil, err
	}
	id, err := findObject(all, kind, c.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	o := all[id]
	if spec.Name != o.Spec.Name || spec.Data != nil && !bytes.Equal(spec.Data, o.Spec.Data) {
		return 0, nil, refused("only updates to Labels are allowed")
	}
	if version != o.Version.Index {
		return 0, nil, errOutOfSequence()
	}
	o.Spec.Labels = spec.Labels
	if o.Spec.Labels == nil {
		o.Spec.Labels = map[string]string{}
	}
	s.written(&o.Meta)
	return http.StatusOK, nil, nil
}

func (s *Swarm) dropObject(kind string, all map[string]*object, id string) error {
	var users []string
	for _, user := range sortedIDs(s.services) {
		if sv := s.services[user]; mounts(sv, kind, id) {
			users = append(users, sv.Spec.Name)
		}
	}
	switch name := all[id].Spec.Name; len(users) {
	case 0:
		delete(all, id)
		return nil
	case 1:
		return refused("%s '%s' is in use by the following service: %s", kind, name, users[0])
	default:
		return refused("%s '%s' is in use by the following services: %s", kind, name, joined(users))
	}
}

// mounts says whether a service has an object in its containers.
func mounts(sv *service, kind, id string) bool {
	container := sv.Spec.TaskTemplate.ContainerSpec
	if kind == kindConfig {
		for _, ref := range container.Configs {
			if ref.ConfigID == id {
				return true
			}
		}
		return false
	}
	for _, ref := range container.Secrets {
		if ref.SecretID == id {
			return true
		}
	}
	return false
}
