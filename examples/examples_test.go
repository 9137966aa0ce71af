package examples

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/task"
	"github.com/squadronctl/squadron/validator"
)

// forEachGroup runs a test for every directory of groups, with a request to submit it.
func forEachGroup(t *testing.T, test func(t *testing.T, req controller.Request)) {
	dirs, err := filepath.Glob("groups/*")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(dirs), 4)
	for _, dir := range dirs {
		req := requestOf(t, dir)
		t.Run(req.Group, func(t *testing.T) { test(t, req) })
	}
}

// requestOf is a request for two slices of the group in a directory, or for its one copy where its units are no
// templates.
func requestOf(t *testing.T, dir string) controller.Request {
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	req := controller.NewRequest(controller.RequestConfig{Group: filepath.Base(dir)})
	req.DesiredSlices = 1
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(dir, file.Name()))
		require.NoError(t, err)
		req.Units = append(req.Units, controller.Unit{Name: file.Name(), Content: string(content)})
		if strings.Contains(file.Name(), "@.") {
			req.DesiredSlices = 2
		}
	}
	return req
}

func TestGroupsAreValid(t *testing.T) {
	forEachGroup(t, func(t *testing.T, req controller.Request) {
		valid, err := controller.ValidateSubmitRequest(req)
		assert.NoError(t, err)
		assert.True(t, valid)
		for _, unit := range req.Units {
			assert.NoError(t, validator.TemplateName(unit.Name))
			assert.NoError(t, validator.UnitFile(unit.Name, unit.Content))
			assert.True(t, strings.HasPrefix(unit.Content, "# "), "%s begins with a comment on what it shows", unit.Name)
		}
	})
}

// Every group goes through its life, and an update to the content it has finds nothing to do.
func TestGroupsRun(t *testing.T) {
	forEachGroup(t, func(t *testing.T, req controller.Request) {
		synctest.Test(t, func(t *testing.T) {
			cluster := fleettest.NewCluster(fleettest.Config{Timing: fleettest.Fast()})
			client, err := fleet.NewFleet(fleettest.ClientConfig(cluster))
			require.NoError(t, err)
			ctl := controller.NewController(controller.Config{
				Fleet:       client,
				TaskService: task.NewTaskService(task.DefaultConfig()),
			})
			defer func() { assert.NoError(t, ctl.(io.Closer).Close()) }()

			all := controller.NewRequest(controller.RequestConfig{Group: req.Group})
			require.NoError(t, outcome(ctl, ctl.Submit, req))
			require.NoError(t, outcome(ctl, ctl.Start, all))
			assertTogether(t, cluster)
			err = outcome(ctl, func(ctx context.Context, req controller.Request) (*task.Task, error) {
				return ctl.Update(ctx, req, controller.UpdateOptions{})
			}, req)
			require.True(t, controller.IsUnitsAlreadyUpToDate(err), "%v", err)
			require.NoError(t, outcome(ctl, ctl.Stop, all))
			require.NoError(t, outcome(ctl, ctl.Destroy, all))
			assert.Empty(t, cluster.Units())
		})
	})
}

func outcome(ctl controller.Controller, operation func(context.Context, controller.Request) (*task.Task, error), req controller.Request) error {
	created, err := operation(context.Background(), req)
	if err != nil {
		return err
	}
	final, err := ctl.WaitForTask(context.Background(), created.ID, nil)
	if err != nil {
		return err
	}
	return final.Error
}

// assertTogether checks that each MachineOf of the groups was kept.
func assertTogether(t *testing.T, cluster *fleettest.Cluster) {
	for _, unit := range cluster.Units() {
		_, rest, found := strings.Cut(unit.Content, "MachineOf=")
		if !found {
			continue
		}
		peer, _, _ := strings.Cut(rest, "\n")
		stem, _ := validator.SplitSuffix(unit.Name)
		_, id, _ := strings.Cut(stem, "@")
		other, there := cluster.Unit(strings.ReplaceAll(peer, "%i", id))
		assert.True(t, there, "%s: no unit %s", unit.Name, peer)
		assert.Equal(t, other.Machine, unit.Machine, "%s and %s", unit.Name, other.Name)
	}
}
