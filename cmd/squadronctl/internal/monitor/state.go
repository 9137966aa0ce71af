package monitor

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/squadronctl/squadron/prune"
)

// state tells of the last pass. It is collected from there, so that one answer is of one pass, and a stack that is no longer
// declared is not in it.
type state struct{ monitor *Monitor }

var (
	lastPass = prometheus.NewDesc("squadron_last_pass_timestamp_seconds",
		"When the last pass ended, in seconds since 1970.", nil, nil)
	refused = prometheus.NewDesc("squadron_manifests_refused",
		"How many manifests could not be used in the last pass.", nil, nil)
	stackSync = prometheus.NewDesc("squadron_stack_sync",
		"1, with whether the stack is as declared: synced, out-of-sync, unknown.", []string{"stack", "sync"}, nil)
	stackHealth = prometheus.NewDesc("squadron_stack_health",
		"1, with whether what is there of the stack works: healthy, progressing, degraded, missing, unknown.", []string{"stack", "health"}, nil)
	stackDrift = prometheus.NewDesc("squadron_stack_drift_fields",
		"How many fields of the stack were not as declared when they were read last.", []string{"stack"}, nil)
	unmanaged = prometheus.NewDesc("squadron_unmanaged",
		"How many things in declared stacks nobody declares, and nothing proves to be the owner's.", nil, nil)
)

// Describe implements prometheus.Collector.
func (state) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{lastPass, refused, stackSync, stackHealth, stackDrift, unmanaged} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (s state) Collect(to chan<- prometheus.Metric) {
	s.monitor.mutex.Lock()
	last := s.monitor.last
	s.monitor.mutex.Unlock()
	if last == nil {
		return
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	const perSecond = 1e9 // nanoseconds
	gauge(lastPass, float64(last.Report.Ended.UnixNano())/perSecond)
	gauge(refused, float64(len(last.Report.Faults)))
	gauge(unmanaged, float64(len(last.Swept.Of(prune.Unmanaged))))
	for _, stack := range last.Report.Stacks {
		gauge(stackSync, 1, stack.Name, string(stack.Sync))
		gauge(stackHealth, 1, stack.Name, string(stack.Health))
		gauge(stackDrift, float64(len(stack.Changes)), stack.Name)
	}
}
