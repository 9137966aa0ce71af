package fleettest

import (
	"errors"
	"net/http"
	"strings"
)

// apiMachine is a machine in the API's JSON.
type apiMachine struct {
	ID        string            `json:"id,omitempty"`
	Metadata  map[string]string `json:"metadata,omitempty"`
	PrimaryIP string            `json:"primaryIP,omitempty"`
}

type machinePage struct {
	Machines      []apiMachine `json:"machines,omitempty"`
	NextPageToken string       `json:"nextPageToken,omitempty"`
}

// metadataPatch is one operation of a PATCH of /machines.
type metadataPatch struct {
	Op    string
	Path  string
	Value struct {
		Value string `json:"value"`
	}
}

func (c *Cluster) serveMachines(r *http.Request, _ string) (answer, *apiError) {
	switch r.Method {
	case http.MethodGet:
		return c.listMachines(r)
	case http.MethodPatch:
		return c.patchMachines(r)
	default:
		return answer{}, onlySupported("GET and PATCH")
	}
}

func (c *Cluster) listMachines(r *http.Request) (answer, *apiError) {
	page, err := pageOf(r.URL.Query(), c.config.PageLimit)
	if err != nil {
		return answer{}, refuse(http.StatusBadRequest, err)
	}
	var all []apiMachine
	c.locked(func() {
		for _, id := range c.ids {
			if m := c.machines[id]; m.listed {
				all = append(all, m.toAPI())
			}
		}
	})
	var body machinePage
	body.Machines, body.NextPageToken = cutPage(all, page, c.config.PageLimit)
	return answer{code: http.StatusOK, body: body}, nil
}

func (m *machine) toAPI() apiMachine {
	data := apiMachine{ID: m.ID, Metadata: map[string]string{}}
	if m.IP != nil {
		data.PrimaryIP = m.IP.String()
	}
	for key, value := range m.Metadata {
		data.Metadata[key] = value
	}
	return data
}

// patchMachines checks all operations before it carries out the first. Those on unknown machines do nothing.
func (c *Cluster) patchMachines(r *http.Request) (answer, *apiError) {
	var patches []metadataPatch
	if err := decode(r, &patches); err != nil {
		return answer{}, refuse(http.StatusBadRequest, asFleetd(err))
	}
	for _, patch := range patches {
		if err := patch.check(); err != nil {
			return answer{}, refuse(http.StatusBadRequest, err)
		}
	}
	c.locked(func() {
		for _, patch := range patches {
			id, key, _ := patch.target()
			m := c.machines[id]
			switch {
			case m == nil:
			case patch.Op == "remove":
				delete(m.Metadata, key)
			default:
				m.Metadata[key] = patch.Value.Value
			}
		}
		c.machinesChanged()
	})
	return answer{code: http.StatusNoContent, typed: true}, nil
}

func (p metadataPatch) check() error {
	if p.Op != "add" && p.Op != "remove" && p.Op != "replace" {
		return errors.New("invalid op: expect add, remove, or replace")
	}
	if _, _, ok := p.target(); !ok {
		return errors.New("machine metadata path invalid")
	}
	if p.Op != "remove" && p.Value.Value == "" {
		return errors.New("invalid value: add and replace require a value")
	}
	return nil
}

// target splits /ID/metadata/KEY.
func (p metadataPatch) target() (id, key string, ok bool) {
	parts := strings.Split(p.Path, "/")
	if len(parts) != 4 || parts[0] != "" || parts[1] == "" || parts[2] != "metadata" || parts[3] == "" {
		return "", "", false
	}
	bad := strings.ContainsFunc(parts[3], func(r rune) bool {
		return r > 'z' || !strings.ContainsRune("_.-", r) && !isAlphanumeric(r)
	})
	return parts[1], parts[3], !bad
}

func isAlphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
