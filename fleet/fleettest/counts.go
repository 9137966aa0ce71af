package fleettest

import (
	"net/http"
	"strings"
)

// Counts says how many requests a Cluster has been asked, by what they were about. What a fault in front of the cluster
// answered itself isn't counted.
type Counts struct {
	// UnitPages and UnitListings are calls of GET /units, all of them and those that began at the first page.
	UnitPages, UnitListings int
	// StatePages and StateListings are the same of GET /state; StateFiltered are those of the listings that asked for one
	// unit by name.
	StatePages, StateListings, StateFiltered int
	// MachinePages and MachineListings are the same of GET /machines.
	MachinePages, MachineListings int
	// UnitReads and StateReads are calls of GET /units/{name} and of GET /state/{name}.
	UnitReads, StateReads int
	// Puts and Deletes are calls of PUT and DELETE.
	Puts, Deletes int
	// Others are all other calls.
	Others int
}

// Counts tells what the cluster has been asked since it was made or ResetCounts was called.
func (c *Cluster) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// ResetCounts begins to count from zero.
func (c *Cluster) ResetCounts() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts = Counts{}
}

func (c *Cluster) count(r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, resource, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/fleet"), "/v1")
	resource, name, single := strings.Cut(strings.Trim(resource, "/"), "/")
	first := 0
	if !r.URL.Query().Has("nextPageToken") {
		first = 1
	}
	switch {
	case r.Method == http.MethodPut:
		c.counts.Puts++
	case r.Method == http.MethodDelete:
		c.counts.Deletes++
	case r.Method != http.MethodGet:
		c.counts.Others++
	case resource == "units" && single && name != "":
		c.counts.UnitReads++
	case resource == "state" && single && name != "":
		c.counts.StateReads++
	case resource == "units":
		c.counts.UnitPages++
		c.counts.UnitListings += first
	case resource == "state":
		c.counts.StatePages++
		c.counts.StateListings += first
		if r.URL.Query().Get("unitName") != "" {
			c.counts.StateFiltered += first
		}
	case resource == "machines":
		c.counts.MachinePages++
		c.counts.MachineListings += first
	default:
		c.counts.Others++
	}
}
