package progress_test

import (
	"os"
	"time"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/progress"
	"github.com/squadronctl/squadron/controller"
)

// Where the output is no terminal, each event is a line.
func ExampleDisplay() {
	display := progress.New(progress.Config{Out: os.Stdout})
	options := controller.UpdateOptions{Progress: display.Event}

	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	options.Progress(controller.UpdateEvent{Time: noon, Group: "web", Slice: "3f1", Phase: controller.PhaseStarting})
	options.Progress(controller.UpdateEvent{Time: noon.Add(2 * time.Second), Group: "web", Slice: "3f1", Phase: controller.PhaseRunning})
	_ = display.Close()
	// Output:
	// 12:00:00 slice 3f1: starting (0 there, 0 running, 0 going)
	// 12:00:02 slice 3f1: running (0 there, 0 running, 0 going)
}
