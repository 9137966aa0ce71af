package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"

	"github.com/coreos/go-systemd/v22/unit"
)

// apiPath is the path of fleet's API, version 1, below the endpoint.
const apiPath = "/fleet/v1/"

// fleet's names for the states of a unit.
const (
	stateInactive = "inactive"
	stateLoaded   = "loaded"
	stateLaunched = "launched"
)

type wireOption struct {
	Section string `json:"section"`
	Name    string `json:"name"`
	Value   string `json:"value"`
}

// wireUnit is a unit as fleet answers it and, with options and desired state only, as it is put.
type wireUnit struct {
	Name         string       `json:"name,omitempty"`
	Options      []wireOption `json:"options,omitempty"`
	DesiredState string       `json:"desiredState,omitempty"`
	CurrentState string       `json:"currentState,omitempty"`
	MachineID    string       `json:"machineID,omitempty"`
}

type wireState struct {
	Name               string `json:"name"`
	Hash               string `json:"hash"`
	MachineID          string `json:"machineID"`
	SystemdLoadState   string `json:"systemdLoadState"`
	SystemdActiveState string `json:"systemdActiveState"`
	SystemdSubState    string `json:"systemdSubState"`
}

type wireMachine struct {
	ID        string            `json:"id"`
	PrimaryIP string            `json:"primaryIP"`
	Metadata  map[string]string `json:"metadata"`
}

type unitPage struct {
	Units         []wireUnit `json:"units"`
	NextPageToken string     `json:"nextPageToken"`
}

type statePage struct {
	States        []wireState `json:"states"`
	NextPageToken string      `json:"nextPageToken"`
}

type machinePage struct {
	Machines      []wireMachine `json:"machines"`
	NextPageToken string        `json:"nextPageToken"`
}

type wireError struct {
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

var errNoObject = errors.New("not a JSON object")

// decode reads one JSON object, and nothing after it. What ends too early gives io.ErrUnexpectedEOF and stores nothing.
func decode(body []byte, into any) error {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 {
		return io.ErrUnexpectedEOF
	}
	if body[0] != '{' {
		return errNoObject
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("more than one JSON object")
	}
	return nil
}

func toWire(options []*unit.UnitOption) []wireOption {
	wire := make([]wireOption, 0, len(options))
	for _, option := range options {
		wire = append(wire, wireOption{Section: option.Section, Name: option.Name, Value: option.Value})
	}
	return wire
}

func fromWire(wire []wireOption) []*unit.UnitOption {
	options := make([]*unit.UnitOption, 0, len(wire))
	for _, option := range wire {
		options = append(options, unit.NewUnitOption(option.Section, option.Name, option.Value))
	}
	return options
}

func (m wireMachine) machine() Machine {
	return Machine{ID: m.ID, IP: net.ParseIP(m.PrimaryIP), Metadata: m.Metadata}
}
