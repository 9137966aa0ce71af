package controller_test

import (
	"fmt"

	"github.com/squadronctl/squadron/controller"
)

func ExampleValidateRequest() {
	request := controller.NewRequest(controller.RequestConfig{Group: "web"})
	request.Units = []controller.Unit{
		{Name: "web-app@.service", Content: "[Service]\nExecStart=/bin/sleep 1000\n"},
		{Name: "webhook@.service", Content: "[Service]\nExecStart=/bin/sleep 1000\n"},
	}
	valid, err := controller.ValidateRequest(request)
	fmt.Println(valid, controller.IsBadUnitPrefix(err))
	fmt.Println(err)
	// Output:
	// false true
	// invalid request: group "web": unit "webhook@.service": unit name does not begin with the group's name
}

func ExampleRequest_ExtendSlices() {
	request := controller.NewRequest(controller.RequestConfig{Group: "web", SliceIDs: []string{"3f1", "2fb"}})
	request.Units = []controller.Unit{{Name: "web-app@.service"}, {Name: "web-app@.timer"}}
	extended, err := request.ExtendSlices()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, unit := range extended.Units {
		fmt.Println(unit.Name)
	}
	// Output:
	// web-app@3f1.service
	// web-app@3f1.timer
	// web-app@2fb.service
	// web-app@2fb.timer
}

func ExampleAggregator_AggregateStatus() {
	var aggregator controller.Aggregator
	fmt.Println(aggregator.AggregateStatus("launched", "launched", "active", "running"))
	fmt.Println(aggregator.AggregateStatus("launched", "launched", "activating", "auto-restart"))
	_, err := aggregator.AggregateStatus("launched", "launched", "dreaming", "deeply")
	fmt.Println(err)
	// Output:
	// running <nil>
	// starting <nil>
	// fleet current "launched", fleet desired "launched", systemd active "dreaming", systemd sub "deeply": invalid unit status
}
