// Command keep starts a cluster, prints its endpoints, and keeps it until SIGINT, SIGTERM or SIGHUP, or its own death.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/squadronctl/squadron/integration/cluster"
)

func main() {
	machines := flag.Int("machines", 3, "how many machines the cluster has")
	flag.Parse()
	if err := keep(*machines); err != nil {
		fmt.Fprintln(os.Stderr, "keep:", err)
		os.Exit(1)
	}
}

func keep(machines int) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Config{Machines: machines})
	if err != nil {
		return err
	}
	for _, m := range c.Machines() {
		endpoint, socket := m.Endpoint(), m.Socket()
		fmt.Printf("%s\n%s\n", endpoint.String(), socket.String())
	}
	fmt.Fprintf(os.Stderr, "files and logs: %s; ends at Ctrl-C\n", c.Dir())
	<-ctx.Done()
	return c.Stop()
}
