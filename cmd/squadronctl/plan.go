package main

import (
	"github.com/squadronctl/squadron/controller"
)

// planData is a plan in the forms for programs.
type planData struct {
	Group        string      `json:"group"`
	UpToDate     bool        `json:"upToDate"`
	Found        int         `json:"found"`
	Wanted       int         `json:"wanted"`
	MaxGrowth    int         `json:"maxGrowth"`
	MinAlive     int         `json:"minAlive"`
	ReadySecs    int         `json:"readySecs"`
	LeastRunning int         `json:"leastRunning"`
	MostExisting int         `json:"mostExisting"`
	Slices       []planSlice `json:"slices"`
	Steps        []planStep  `json:"steps"`
	LeftAlone    []string    `json:"leftAlone"`
}

type planSlice struct {
	Name    string     `json:"name"`
	Slice   string     `json:"slice"`
	Action  string     `json:"action"`
	Running bool       `json:"running"`
	Units   []planUnit `json:"units"`
}

type planUnit struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	Diff   string `json:"diff"`
}

type planStep struct {
	Create int      `json:"create"`
	Launch []string `json:"launch"`
	Remove []string `json:"remove"`
}

// printPlan writes a plan. Its names are those of the slices that would be replaced, removed or launched.
func (a *app) printPlan(form string, plan *controller.Plan) error {
	if form == formTable || form == formWide {
		return a.write(plan.String())
	}
	data := planData{
		Group: plan.Group, UpToDate: plan.UpToDate(), Found: plan.Found, Wanted: plan.Wanted,
		MaxGrowth: plan.MaxGrowth, MinAlive: plan.MinAlive, ReadySecs: plan.ReadySecs,
		LeastRunning: plan.LeastRunning, MostExisting: plan.MostExisting,
		Slices: []planSlice{}, Steps: []planStep{}, LeftAlone: orEmpty(plan.LeftAlone),
	}
	r := result{}
	for _, slice := range plan.Slices {
		planned := planSlice{
			Name: groupName(plan.Group, slice.ID), Slice: slice.ID, Action: string(slice.Action), Running: slice.Running, Units: []planUnit{},
		}
		for _, unit := range slice.Units {
			planned.Units = append(planned.Units, planUnit{Name: unit.Name, Reason: string(unit.Reason), Diff: unit.Diff})
		}
		data.Slices = append(data.Slices, planned)
		if slice.Action != controller.PlanKeep {
			r.names = append(r.names, planned.Name)
		}
	}
	for _, step := range plan.Steps {
		data.Steps = append(data.Steps, planStep{Create: step.Create, Launch: orEmpty(step.Launch), Remove: orEmpty(step.Remove)})
	}
	r.data = data
	return a.print(form, r)
}

// orEmpty makes a list that is written as [] and not as null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
