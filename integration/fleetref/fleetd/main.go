// Command fleetd runs one machine's fleet engine, agent and API server, built from coreos/fleet v1.0.0.
// Its configuration comes from flags; it ends at SIGTERM, and takes its registration back first.
package main

import (
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/coreos/fleet/agent"
	"github.com/coreos/fleet/config"
	fleetlog "github.com/coreos/fleet/log"
	"github.com/coreos/fleet/registry"
	"github.com/coreos/fleet/server"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:42410", "address of the API over TCP")
	socket := flag.String("socket", "/run/fleet.sock", "path of the API's unix socket; empty: none")
	etcd := flag.String("etcd", "http://127.0.0.1:42379", "etcd servers, separated by commas")
	ip := flag.String("ip", "", "address that the machine publishes")
	metadata := flag.String("metadata", "", "the machine's metadata, k=v,k=v")
	verbose := flag.Bool("v", false, "log debug lines")
	flag.Parse()
	if *verbose {
		fleetlog.EnableDebug()
	}
	listeners, err := listenOn(*listen, *socket)
	if err != nil {
		log.Fatal(err)
	}
	srv, err := server.New(config.Config{
		EtcdServers:             strings.Split(*etcd, ","),
		EtcdKeyPrefix:           registry.DefaultKeyPrefix,
		EtcdRequestTimeout:      1.0,
		EngineReconcileInterval: 2.0,
		PublicIP:                *ip,
		RawMetadata:             *metadata,
		AgentTTL:                agent.DefaultTTL,
		TokenLimit:              100,
		UnitsDirectory:          "/run/fleet/units/",
	}, listeners)
	if err != nil {
		log.Fatal(err)
	}
	srv.Run()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
	srv.Kill()
	srv.Purge()
}

func listenOn(address, socket string) ([]net.Listener, error) {
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	if socket == "" {
		return []net.Listener{tcp}, nil
	}
	os.Remove(socket)
	unix, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	return []net.Listener{tcp, unix}, nil
}
