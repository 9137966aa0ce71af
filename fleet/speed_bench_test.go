package fleet_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// recorded answers each request with what a cluster has answered to it the first time, so that a benchmark shows what the
// client does and not what the cluster does.
type recorded struct {
	cluster  *fleettest.Cluster
	latency  time.Duration
	requests atomic.Int64
	mutex    sync.Mutex
	bodies   map[string][]byte
}

func (c *recorded) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	if c.latency > 0 {
		<-time.After(c.latency)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	asked := r.URL.String()
	body, known := c.bodies[asked]
	if !known {
		recorder := httptest.NewRecorder()
		c.cluster.ServeHTTP(recorder, httptest.NewRequest(r.Method, asked, nil))
		body = recorder.Body.Bytes()
		c.bodies[asked] = body
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: -1, Request: r}, nil
}

// record makes a cluster of n launched units of a few hundred bytes each, in a hundred groups with a content each, and a
// client to it.
func record(b *testing.B, n int, latency time.Duration) (*recorded, *fleet.Client) {
	b.Helper()
	cluster := fleettest.NewCluster(fleettest.Config{})
	for i := range n {
		content := fmt.Sprintf("[Unit]\nDescription=application %d\nAfter=docker.service\nRequires=docker.service\n\n[Service]\n"+
			"ExecStartPre=-/usr/bin/docker rm -f app-%%i\nExecStart=/usr/bin/docker run --rm --name app-%%i \\\n  registry.example/app:1.2\n"+
			"Restart=always\nRestartSec=5\n\n[X-Fleet]\nMachineMetadata=zone=a\n", i%100)
		if err := cluster.Put(groupedName(i), content, "launched"); err != nil {
			b.Fatal(err)
		}
	}
	transport := &recorded{cluster: cluster, bodies: map[string][]byte{}}
	client, err := fleet.NewFleet(fleet.Config{Client: &http.Client{Transport: transport}, Endpoint: url.URL{Scheme: "http", Host: "fleet.example"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { client.(*fleet.Client).Close() })
	if _, err := client.(*fleet.Client).ReadUnits(b.Context(), fleet.Selector{}); err != nil {
		b.Fatal(err)
	}
	transport.latency = latency
	return transport, client.(*fleet.Client)
}

func groupedName(i int) string { return fmt.Sprintf("app-%02d@%06d.service", i%100, i) }

// measure reads again and again.
func measure(b *testing.B, transport *recorded, client *fleet.Client, selector fleet.Selector) {
	b.ReportAllocs()
	transport.requests.Store(0)
	found := 0
	for b.Loop() {
		listing, err := client.ReadUnits(b.Context(), selector)
		if err != nil {
			b.Fatal(err)
		}
		found = len(listing.Units)
	}
	b.ReportMetric(float64(transport.requests.Load())/float64(b.N), "requests/op")
	b.ReportMetric(float64(found), "units/op")
}

// BenchmarkListing lists a cluster of n units and takes all of them, or a group of one in a hundred.
func BenchmarkListing(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		transport, client := record(b, n, 0)
		b.Run(fmt.Sprintf("units=%d/all", n), func(b *testing.B) { measure(b, transport, client, fleet.Selector{}) })
		group := fleet.Selector{Groups: []string{"app-07"}}
		b.Run(fmt.Sprintf("units=%d/1%%", n), func(b *testing.B) { measure(b, transport, client, group) })
	}
}

// BenchmarkListingWithLatency lists where each request takes 2 ms.
func BenchmarkListingWithLatency(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		transport, client := record(b, n, 2*time.Millisecond)
		b.Run(fmt.Sprintf("units=%d", n), func(b *testing.B) { measure(b, transport, client, fleet.Selector{}) })
	}
}

// BenchmarkReadByName reads units of a cluster of 10,000 by their names, which the client does where that is cheaper.
func BenchmarkReadByName(b *testing.B) {
	transport, client := record(b, 10_000, 0)
	var names []string
	for _, n := range []int{1, 10, 100} {
		for len(names) < n {
			names = append(names, groupedName(len(names)))
		}
		b.Run(fmt.Sprintf("names=%d", n), func(b *testing.B) { measure(b, transport, client, fleet.Selector{Names: names}) })
	}
}
