package fleettest

import "time"

// ReportEvery has Close say more often what it is waiting for.
func (s *Server) ReportEvery(d time.Duration) { s.report = d }
