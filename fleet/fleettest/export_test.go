package fleettest

import "time"

// ReportEvery has Close say more often what it is waiting for.
func (s *Server) ReportEvery(d time.Duration) { s.report = d }

// RuleNames names all rules that TestBackend walks.
func RuleNames() []string {
	var names []string
	for _, rule := range backendRules() {
		names = append(names, rule.name)
	}
	return names
}
