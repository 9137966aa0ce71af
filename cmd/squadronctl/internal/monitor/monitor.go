// Package monitor tells over HTTP how a reconciler is doing: whether it lives, whether it can do its work, and in numbers
// for Prometheus what it has done.
package monitor

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/squadronctl/squadron/prune"
	"github.com/squadronctl/squadron/reconcile"
)

// Pass is one pass of a reconciler, and the sweep after it.
type Pass struct {
	Report reconcile.Report
	Swept  prune.Report
	// Err is why nobody knows what is declared, or what is to be swept; nil where all is known.
	Err error
}

// Monitor keeps the last pass and counts over all. Its methods are safe for use by many goroutines at once.
type Monitor struct {
	registry    *prometheus.Registry
	passes      prometheus.Histogram
	deployments *prometheus.CounterVec
	swept       *prometheus.CounterVec

	mutex sync.Mutex
	last  *Pass // nil before the first
}

// New gives a Monitor of a reconciler that has not run yet.
func New() *Monitor {
	m := &Monitor{
		registry: prometheus.NewRegistry(),
		passes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "squadron_pass_duration_seconds", Help: "How long passes took, deployments included.",
			Buckets: []float64{0.01, 0.1, 1, 10, 60, 300, 1800},
		}),
		deployments: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "squadron_deployments_total", Help: "Deployments of stacks, by how they ended.",
		}, []string{"outcome"}),
		swept: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "squadron_swept_total", Help: "Stacks and services that the sweep had to remove, by what became of it.",
		}, []string{"outcome"}),
	}
	for _, outcome := range []reconcile.Action{reconcile.ActionDeployed, reconcile.ActionFailed} {
		m.deployments.WithLabelValues(string(outcome))
	}
	for _, outcome := range []prune.Outcome{prune.Removed, prune.Failed} {
		m.swept.WithLabelValues(string(outcome))
	}
	m.registry.MustRegister(m.passes, m.deployments, m.swept, state{m},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Observe takes up a pass that has ended. What it holds must not be changed afterwards.
func (m *Monitor) Observe(pass Pass) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.passes.Observe(pass.Report.Ended.Sub(pass.Report.Started).Seconds())
	m.countDeployments(pass.Report)
	for _, item := range pass.Swept.Items {
		if item.Outcome == prune.Removed || item.Outcome == prune.Failed {
			m.swept.WithLabelValues(string(item.Outcome)).Inc()
		}
	}
	m.last = &pass
}

// countDeployments counts those of a pass. The one of the process's own stack ends after the pass has been reported, so the next
// report tells how, where there is one.
func (m *Monitor) countDeployments(report reconcile.Report) {
	held := map[string]int{} // failures until then, by stack
	if m.last != nil {
		for _, s := range m.last.Report.Stacks {
			if s.Action == reconcile.ActionHeld {
				held[s.Name] = s.Failures
			}
		}
	}
	for _, s := range report.Stacks {
		failures, wasHeld := held[s.Name]
		switch {
		case s.Action == reconcile.ActionDeployed || s.Action == reconcile.ActionFailed:
			m.deployments.WithLabelValues(string(s.Action)).Inc()
		case wasHeld && s.Failures > failures:
			m.deployments.WithLabelValues(string(reconcile.ActionFailed)).Inc()
		case wasHeld && s.Sync == reconcile.Synced:
			m.deployments.WithLabelValues(string(reconcile.ActionDeployed)).Inc()
		}
	}
}

// Handler answers
//
//   - /healthz: 200 as long as it answers at all;
//   - /readyz: 200 when the last pass knew what is declared and what is there; else, and before the first, 503 with the reason;
//   - /metrics: what Prometheus reads.
func (m *Monitor) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := m.ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

func (m *Monitor) ready() error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.last == nil {
		return fmt.Errorf("the first pass has not ended yet")
	}
	if m.last.Err != nil {
		return m.last.Err
	}
	for _, s := range m.last.Report.Stacks {
		if s.Reason == reconcile.ReasonUnreadable {
			return fmt.Errorf("stack %s: %s", s.Name, s.Error)
		}
	}
	return nil
}
