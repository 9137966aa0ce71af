package bench

import "github.com/squadronctl/squadron/controller"

// Service is the content of a service that runs exec.
func Service(exec string) string { return "[Service]\nExecStart=" + exec + "\n" }

// Pair is the request of a sliced group of two units that each run exec; the second follows the first to its machine.
func Pair(group, exec string) controller.Request {
	return Request(group,
		controller.Unit{Name: group + "-main@.service", Content: Service(exec)},
		controller.Unit{Name: group + "-side@.service", Content: Service(exec) + "[X-Fleet]\nMachineOf=" + group + "-main@%i.service\n"})
}

// Request is the request with these units.
func Request(group string, units ...controller.Unit) controller.Request {
	req := controller.NewRequest(controller.RequestConfig{Group: group})
	req.Units = append(req.Units, units...)
	return req
}

// Slices is the request for these slice IDs.
func Slices(req controller.Request, ids ...string) controller.Request {
	req.SliceIDs = ids
	return req
}

// Number is the request for so many slices.
func Number(req controller.Request, n int) controller.Request {
	req.DesiredSlices = n
	return req
}
