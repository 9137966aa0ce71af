package swarm_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
	"github.com/squadronctl/squadron/stack/swarm"
)

// It needs a Docker engine that is a manager of a swarm, so it is compiled and not run.
func Example() {
	docker, err := client.New(client.FromEnv)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer docker.Close()
	engine, err := swarm.New(swarm.Config{
		Client:   docker,
		Store:    &revision.Memory{}, // revision.NewDirectory outside of tests
		ReadFile: func(_, path string) ([]byte, error) { return os.ReadFile(path) },
		Lookup:   os.LookupEnv,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	manifest, err := swarm.Pack("services:\n  app:\n    image: shop/web:1\n    deploy: {replicas: 2}\n", os.ReadFile, os.LookupEnv)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	err = engine.DeployStack(ctx, stack.DeployRequest{Name: "shop", Owner: "ops", Manifest: manifest})
	switch {
	case swarm.IsRolledBack(err):
		fmt.Println("Swarm has gone back to what ran before:", err)
	case swarm.IsUnconverged(err):
		fmt.Println("it was deployed, and does not run:", err)
	case err != nil:
		fmt.Println(err)
	}
	for _, service := range engine.StackServices(ctx, "shop") {
		fmt.Printf("%s: %d of %d, %s\n", service.Name, service.Running, service.Desired, service.Status)
	}
}

// What a compose file refers to becomes a part of the manifest.
func ExamplePack() {
	files := map[string]string{"settings.conf": "colour = blue\n"}
	readFile := func(path string) ([]byte, error) { return []byte(files[path]), nil }
	const text = `services:
  app:
    image: shop/web:1
    configs: [settings]
configs:
  settings: {file: settings.conf}
`
	before, err := swarm.Pack(text, readFile, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(strings.TrimPrefix(before, text)) {
		fmt.Printf("%.45s…\n", line)
	}
	files["settings.conf"] = "colour = red\n"
	after, err := swarm.Pack(before, readFile, nil)
	fmt.Println(before != after, err)
	// Output:
	// # squadron: file settings.conf sha256:68ecc8d…
	// true <nil>
}
