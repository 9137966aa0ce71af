// Command client drives a fleet API with coreos/fleet's own client package: one call per line of standard input, one line of
// JSON per call on standard output, so that what two servers answer can be compared.
//
// A line of input is a JSON array: the method's name and its arguments, as
//
//	["CreateUnit", "web.service", "loaded", "Service", "ExecStart", "/bin/true"]
//
// with the unit's options as triples of section, name and value; the other methods have string arguments only.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"

	"github.com/coreos/fleet/client"
	"github.com/coreos/fleet/schema"
	"google.golang.org/api/googleapi"
)

// answer is one line of output.
type answer struct {
	Method    string   `json:"method"`
	Arguments []string `json:"arguments"`
	Result    any      `json:"result,omitempty"`
	Error     string   `json:"error,omitempty"`
	Code      int      `json:"code,omitempty"`     // of an error that the API has answered
	NotFound  bool     `json:"notFound,omitempty"` // client.IsErrorUnitNotFound
}

func main() {
	endpoint := flag.String("endpoint", "http://127.0.0.1:42411", "the API: http://host:port or unix:///path")
	flag.Parse()
	fleet, err := connect(*endpoint)
	if err != nil {
		log.Fatal(err)
	}
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var words []string
		if err := json.Unmarshal(in.Bytes(), &words); err != nil || len(words) == 0 {
			log.Fatalf("line %q: must be an array of strings: %v", in.Text(), err)
		}
		if err := out.Encode(answerTo(fleet, words[0], words[1:])); err != nil {
			log.Fatal(err)
		}
	}
	if err := in.Err(); err != nil {
		log.Fatal(err)
	}
}

func connect(endpoint string) (client.API, error) {
	where, err := url.Parse(endpoint)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{}
	if where.Scheme == "unix" {
		path := where.Path
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		where = &url.URL{Scheme: "http", Host: "domain-sock"}
	}
	return client.NewHTTPClient(&http.Client{Transport: transport}, *where)
}

func answerTo(fleet client.API, method string, arguments []string) answer {
	a := answer{Method: method, Arguments: arguments}
	result, err := call(fleet, method, arguments)
	if err != nil {
		a.Error = err.Error()
		a.NotFound = client.IsErrorUnitNotFound(err)
		var api *googleapi.Error
		if errors.As(err, &api) {
			a.Code = api.Code
		}
		return a
	}
	a.Result = result
	return a
}

// call calls a method. Those that coreos/fleet's client declares and does not have panic with a nil pointer, which comes
// out as an error.
func call(fleet client.API, method string, arguments []string) (result any, err error) {
	defer func() {
		if cause, is := recover().(runtime.Error); is {
			err = fmt.Errorf("panic: %w", cause)
		}
	}()
	argument := func(i int) string {
		if i < len(arguments) {
			return arguments[i]
		}
		return ""
	}
	switch method {
	case "Machines":
		return fleet.Machines()
	case "SetMachineMetadata":
		return nil, fleet.SetMachineMetadata(argument(0), argument(1), argument(2))
	case "DeleteMachineMetadata":
		return nil, fleet.DeleteMachineMetadata(argument(0), argument(1))
	case "Unit":
		return fleet.Unit(argument(0))
	case "Units":
		return fleet.Units()
	case "UnitState":
		return fleet.UnitState(argument(0))
	case "UnitStates":
		return fleet.UnitStates()
	case "SetUnitTargetState":
		return nil, fleet.SetUnitTargetState(argument(0), argument(1))
	case "CreateUnit":
		return nil, fleet.CreateUnit(newUnit(arguments))
	case "DestroyUnit":
		return nil, fleet.DestroyUnit(argument(0))
	}
	return nil, fmt.Errorf("unknown method %q", method)
}

func newUnit(arguments []string) *schema.Unit {
	u := &schema.Unit{}
	if len(arguments) > 0 {
		u.Name = arguments[0]
	}
	if len(arguments) > 1 {
		u.DesiredState = arguments[1]
	}
	for i := 2; i+2 < len(arguments); i += 3 {
		u.Options = append(u.Options, &schema.UnitOption{Section: arguments[i], Name: arguments[i+1], Value: arguments[i+2]})
	}
	return u
}
