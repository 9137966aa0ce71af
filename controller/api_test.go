package controller_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/task"
)

// This file compiles only while every name that programs rely on has exactly the type that they rely on.

var (
	_ func(error) bool = controller.IsAtInGroupNameError
	_ func(error) bool = controller.IsBadUnitPrefix
	_ func(error) bool = controller.IsGroupsArePrefix
	_ func(error) bool = controller.IsGroupsSameName
	_ func(error) bool = controller.IsInvalidArgument
	_ func(error) bool = controller.IsInvalidSubmitRequestNoSliceIDsGiven
	_ func(error) bool = controller.IsInvalidSubmitRequestSlicesGiven
	_ func(error) bool = controller.IsInvalidUnitStatus
	_ func(error) bool = controller.IsMixedSliceInstance
	_ func(error) bool = controller.IsMultipleAtInUnitName
	_ func(error) bool = controller.IsNoUnitsInGroup
	_ func(error) bool = controller.IsUnitNotFound
	_ func(error) bool = controller.IsUnitSliceNotFound
	_ func(error) bool = controller.IsUnitsAlreadyUpToDate
	_ func(error) bool = controller.IsUnitsSameName
	_ func(error) bool = controller.IsUpdateFailed
	_ func(error) bool = controller.IsUpdateNotAllowed
	_ func(error) bool = controller.IsWaitTimeoutReached

	_ func() string                            = controller.NewID
	_ func([]string, string, int) bool         = controller.StringsCountMoreThan
	_ func([]string, string) bool              = controller.StringsHasPrefix
	_ func([]string, string) bool              = controller.StringsHaveOrNot
	_ func([]string) bool                      = controller.StringsSharePrefix
	_ func([]string) bool                      = controller.StringsUnique
	_ func([]controller.Request) (bool, error) = controller.ValidateMultipleRequest
	_ func(controller.Request) (bool, error)   = controller.ValidateRequest
	_ func(controller.Request) (bool, error)   = controller.ValidateSubmitRequest

	_ func(controller.Aggregator, string, string, string, string) (controller.Status, error) = controller.Aggregator.AggregateStatus
	_ func(controller.Aggregator, fleet.UnitStatus, ...controller.Status) (bool, error)      = controller.Aggregator.UnitHasStatus
	_ func() controller.Config                                                               = controller.DefaultConfig
	_ func(controller.Config) controller.Controller                                          = controller.NewController
	_ func() controller.RequestConfig                                                        = controller.DefaultRequestConfig
	_ func(controller.RequestConfig) controller.Request                                      = controller.NewRequest
	_ func(controller.Request) (controller.Request, error)                                   = controller.Request.ExtendSlices
	_ []controller.StatusContext                                                             = controller.StatusIndex
	_ func(controller.UnitStatusList) (controller.UnitStatusList, error)                     = controller.UnitStatusList.Group
	_ func(*controller.ValidationError, error)                                               = (*controller.ValidationError).Add
	_ func(*controller.ValidationError, func(error) bool) bool                               = (*controller.ValidationError).Contains
	_ func(controller.ValidationError) string                                                = controller.ValidationError.Error
	_ error                                                                                  = controller.ValidationError{}

	_ controller.Status         = controller.StatusFailed
	_ controller.UnitStatusList = []fleet.UnitStatus{}
	_ []fleet.UnitStatus        = controller.UnitStatusList{}
)

// Literals without field names hold the fields' order; those of structs that may grow are held field by field below.
var (
	_ = controller.Aggregator{logging.Logger(nil)}
	_ = controller.RequestConfig{string(""), []string(nil)}
	_ = controller.Request{controller.RequestConfig{}, []controller.Unit(nil), int(0)}
	_ = controller.StatusContext{string(""), string(""), string(""), string(""), controller.Status("")}
	_ = controller.Unit{string(""), string("")}
	_ = controller.ValidationError{[]error(nil)}
	_ = controller.Config{Fleet: fleet.Fleet(nil), TaskService: task.Service(nil), WaitCount: int(0),
		WaitSleep: time.Duration(0), WaitTimeout: time.Duration(0), Logger: logging.Logger(nil)}
	_ = controller.UpdateOptions{MaxGrowth: int(0), MinAlive: int(0), ReadySecs: int(0)}
)

// api is the interface as programs implement it in their own tests.
type api interface {
	ExtendWithExistingSliceIDs(req controller.Request) (controller.Request, error)
	GroupNeedsUpdate(ctx context.Context, req controller.Request) (controller.Request, bool, error)
	Submit(ctx context.Context, req controller.Request) (*task.Task, error)
	Start(ctx context.Context, req controller.Request) (*task.Task, error)
	Stop(ctx context.Context, req controller.Request) (*task.Task, error)
	Destroy(ctx context.Context, req controller.Request) (*task.Task, error)
	GetStatus(ctx context.Context, req controller.Request) ([]fleet.UnitStatus, error)
	WaitForStatus(ctx context.Context, req controller.Request, closer <-chan struct{}, desiredStatuses ...controller.Status) error
	WaitForTask(ctx context.Context, taskID string, closer <-chan struct{}) (*task.Task, error)
	Update(ctx context.Context, req controller.Request, opts controller.UpdateOptions) (*task.Task, error)
}

// Each can stand for the other, so neither has a method more.
var (
	_ api                   = controller.Controller(nil)
	_ controller.Controller = api(nil)
)

func TestAPIValues(t *testing.T) {
	assert.Equal(t, []controller.Status{"failed", "not-found", "running", "starting", "stopped", "stopping"},
		[]controller.Status{controller.StatusFailed, controller.StatusNotFound, controller.StatusRunning,
			controller.StatusStarting, controller.StatusStopped, controller.StatusStopping})
	config := controller.DefaultConfig()
	assert.Equal(t, 3, config.WaitCount)
	assert.Equal(t, time.Second, config.WaitSleep)
	assert.Equal(t, 5*time.Minute, config.WaitTimeout)
	assert.NotNil(t, config.Fleet)
	assert.NotNil(t, config.TaskService)
}

// What is new in a struct of options stands after what programs know.
func TestAPIFieldOrder(t *testing.T) {
	for _, c := range []struct {
		value any
		want  []string
	}{
		{controller.UpdateOptions{}, []string{"MaxGrowth", "MinAlive", "ReadySecs"}},
		{controller.Config{}, []string{"Fleet", "TaskService", "WaitCount", "WaitSleep", "WaitTimeout", "Logger"}},
		{controller.StatusContext{}, []string{"FleetCurrent", "FleetDesired", "SystemdActive", "SystemdSub", "Aggregated"}},
		{controller.RequestConfig{}, []string{"Group", "SliceIDs"}},
		{controller.Request{}, []string{"RequestConfig", "Units", "DesiredSlices"}},
	} {
		fields := reflect.TypeOf(c.value)
		for i, name := range c.want {
			assert.Equal(t, name, fields.Field(i).Name)
		}
	}
}
