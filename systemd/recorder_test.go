package systemd

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/squadronctl/squadron/logging"
)

// recorder is a Logger that keeps warnings.
type recorder struct {
	logging.Logger
	mutex    sync.Mutex
	warnings []string
}

func (r *recorder) Warning(_ context.Context, f string, v ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.warnings = append(r.warnings, fmt.Sprintf(f, v...))
}

func (r *recorder) all() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return slices.Clone(r.warnings)
}
