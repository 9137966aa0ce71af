// Command apiserver serves coreos/fleet's own API over its registry in memory, without etcd, engine and agents: units are
// kept as they were put, and nothing ever happens to them unless a flag says so.
package main

import (
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"strings"

	"github.com/coreos/fleet/api"
	"github.com/coreos/fleet/machine"
	"github.com/coreos/fleet/registry"
	"github.com/coreos/fleet/unit"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address of the API over TCP; its port is printed as the first line")
	socket := flag.String("socket", "", "path of the API's unix socket; empty: none")
	limit := flag.Int("limit", 100, "entries on a page")
	machines := flag.String("machines", "", "machines, separated by spaces: ID,IP,key=value…")
	states := flag.String("states", "", "unit states, separated by spaces: name,machine ID,load,active,sub,hash")
	flag.Parse()

	fake := registry.NewFakeRegistry()
	fake.SetMachines(parseMachines(*machines))
	fake.SetUnitStates(parseStates(*states))

	tcp, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	listeners := []net.Listener{tcp}
	if *socket != "" {
		unix, err := net.Listen("unix", *socket)
		if err != nil {
			log.Fatal(err)
		}
		listeners = append(listeners, unix)
	}
	server := api.NewServer(listeners, api.NewServeMux(fake, *limit))
	server.Serve()
	fmt.Println(tcp.Addr())
	os.Stdout.Close()
	server.Available(nil)
}

func parseMachines(text string) []machine.MachineState {
	all := []machine.MachineState{}
	for _, entry := range strings.Fields(text) {
		fields := strings.Split(entry, ",")
		if len(fields) < 2 {
			log.Fatalf("machine %q: must be ID,IP,key=value…", entry)
		}
		one := machine.MachineState{ID: fields[0], PublicIP: fields[1], Metadata: map[string]string{}}
		for _, pair := range fields[2:] {
			key, value, _ := strings.Cut(pair, "=")
			one.Metadata[key] = value
		}
		all = append(all, one)
	}
	return all
}

func parseStates(text string) []unit.UnitState {
	var all []unit.UnitState
	for _, entry := range strings.Fields(text) {
		fields := strings.Split(entry, ",")
		if len(fields) != 6 {
			log.Fatalf("state %q: must be name,machine ID,load,active,sub,hash", entry)
		}
		all = append(all, unit.UnitState{
			UnitName: fields[0], MachineID: fields[1], LoadState: fields[2],
			ActiveState: fields[3], SubState: fields[4], UnitHash: fields[5],
		})
	}
	return all
}
