package systemd_test

import (
	"context"
	"fmt"
	"log"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/systemd"
)

// A unit on this host, from its file to its state.
func ExampleNew() {
	ctx := context.Background()
	host, err := systemd.New(systemd.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer host.(*systemd.Host).Close()
	content := "[Service]\nExecStart=/usr/bin/sleep infinity\n"
	if err := host.Submit(ctx, "web@1.service", content); systemd.IsForeignUnit(err) {
		log.Fatal("somebody else has a web@1.service: ", err)
	} else if err != nil {
		log.Fatal(err)
	}
	if err := host.Start(ctx, "web@1.service"); err != nil && !fleet.IsTemporary(err) {
		log.Fatal(err)
	}
	status, err := host.GetStatus(ctx, "web@1.service")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(status.Desired, status.Machine[0].SystemdActive)
}
