package fleettest

import (
	"net/http"
	"slices"
	"strings"
)

// apiState is a unit's state on one machine in the API's JSON.
type apiState struct {
	Hash               string `json:"hash,omitempty"`
	MachineID          string `json:"machineID,omitempty"`
	Name               string `json:"name,omitempty"`
	SystemdActiveState string `json:"systemdActiveState,omitempty"`
	SystemdLoadState   string `json:"systemdLoadState,omitempty"`
	SystemdSubState    string `json:"systemdSubState,omitempty"`
}

type statePage struct {
	NextPageToken string     `json:"nextPageToken,omitempty"`
	States        []apiState `json:"states,omitempty"`
}

func (c *Cluster) serveStates(r *http.Request, _ string) (answer, *apiError) {
	if r.Method != http.MethodGet {
		return answer{}, onlySupported("GET")
	}
	query := r.URL.Query()
	page, err := pageOf(query, c.config.PageLimit)
	if err != nil {
		return answer{}, refuse(http.StatusBadRequest, err)
	}
	var body statePage
	c.locked(func() {
		keys, next := cutPage(c.stateKeys(query.Get("unitName"), query.Get("machineID")), page, c.config.PageLimit)
		for _, key := range keys {
			body.States = append(body.States, c.stateOf(key))
		}
		body.NextPageToken = next
	})
	return answer{code: http.StatusOK, body: body}, nil
}

// stateKey is where an entry of /state is to be found.
type stateKey struct {
	name, machine string
}

// stateKeys lists the published states by name and machine; an empty name or machine is any.
func (c *Cluster) stateKeys(name, machine string) []stateKey {
	names := []string(c.stateNames)
	if name != "" {
		names = []string{name}
	}
	all := make([]stateKey, 0, len(names))
	for _, name := range names {
		from := len(all)
		for id := range c.states[name] {
			if machine == "" || machine == id {
				all = append(all, stateKey{name, id})
			}
		}
		slices.SortFunc(all[from:], func(a, b stateKey) int { return strings.Compare(a.machine, b.machine) })
	}
	return all
}

func (c *Cluster) stateOf(key stateKey) apiState {
	entry := c.states[key.name][key.machine]
	return apiState{
		Name: key.name, MachineID: key.machine, Hash: entry.hash, SystemdLoadState: entry.load,
		SystemdActiveState: entry.active, SystemdSubState: entry.sub,
	}
}

func (c *Cluster) serveState(r *http.Request, item string) (answer, *apiError) {
	if r.Method != http.MethodGet {
		return answer{}, onlySupported("GET")
	}
	var a answer
	c.locked(func() {
		if keys := c.stateKeys(item, ""); len(keys) > 0 {
			a = answer{code: http.StatusOK, body: c.stateOf(keys[0])}
		}
	})
	return a, nil
}
