// Command groupsteps takes units through their lives with the library, as fleetref's plainloop does it without, and prints
// the seconds that each step took: a line of JSON. It is a process of its own as that is, so that the two can be compared
// whatever the test around them is built with.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/url"
	"os"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/task"
)

const group = "ours"

// result is what is printed; times are in seconds.
type result struct {
	Submit  float64 `json:"submit"`
	Start   float64 `json:"start"`
	Status  float64 `json:"status"`
	Destroy float64 `json:"destroy"`
}

func main() {
	endpoint := flag.String("endpoint", "", "the API: http://host:port")
	units := flag.Int("units", 500, "how many units")
	pace := flag.Duration("pace", time.Second, "the pause between two looks")
	flag.Parse()
	done, err := run(*endpoint, *units, *pace)
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(done); err != nil {
		log.Fatal(err)
	}
}

func run(endpoint string, units int, pace time.Duration) (done result, err error) {
	where, err := url.Parse(endpoint)
	if err != nil {
		return result{}, err
	}
	client, err := fleet.NewFleet(fleet.Config{Endpoint: *where})
	if err != nil {
		return result{}, err
	}
	c := controller.NewController(controller.Config{
		Fleet: client, TaskService: task.NewTaskService(task.DefaultConfig()), WaitSleep: pace,
	})
	defer func() { err = errors.Join(err, c.(io.Closer).Close()) }()
	all := controller.NewRequest(controller.RequestConfig{Group: group})
	req := controller.NewRequest(controller.RequestConfig{Group: group})
	req.Units = []controller.Unit{{Name: group + "-app@.service", Content: "[Service]\nExecStart=/bin/sleep 100000\n"}}
	req.DesiredSlices = units
	for _, step := range []struct {
		took *float64
		do   func() error
	}{
		{&done.Submit, func() error { return follow(c, c.Submit, req) }},
		{&done.Start, func() error { return follow(c, c.Start, all) }},
		{&done.Status, func() error { return status(c, all, units) }},
		{&done.Destroy, func() error { return follow(c, c.Destroy, all) }},
	} {
		began := time.Now()
		if err := step.do(); err != nil {
			return result{}, err
		}
		*step.took = time.Since(began).Seconds()
	}
	return done, nil
}

// follow runs an operation to its end.
func follow(c controller.Controller, op func(context.Context, controller.Request) (*task.Task, error), req controller.Request) error {
	begun, err := op(context.Background(), req)
	if err != nil {
		return err
	}
	ended, err := c.WaitForTask(context.Background(), begun.ID, nil)
	if err != nil {
		return err
	}
	return ended.Error
}

func status(c controller.Controller, req controller.Request, units int) error {
	statuses, err := c.GetStatus(context.Background(), req)
	if err == nil && len(statuses) != units {
		return fmt.Errorf("there are %d of %d units", len(statuses), units)
	}
	return err
}
