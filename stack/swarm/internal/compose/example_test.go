package compose_test

import (
	"fmt"

	"github.com/squadronctl/squadron/stack/swarm/internal/compose"
)

func Example() {
	made, err := compose.Load(compose.Input{Stack: "shop", Manifest: `
services:
  web:
    image: web:${TAG:-1}
    volumes: ["/etc/web:/etc/web:ro"]
    deploy: {replicas: 3}
`})
	if err != nil {
		fmt.Println(err)
		return
	}
	web := made.Services[0]
	fmt.Println(web.Spec.Name, web.Spec.TaskTemplate.ContainerSpec.Image, *web.Spec.Mode.Replicated.Replicas)
	fmt.Println(web.References)

	_, err = compose.Load(compose.Input{Stack: "shop", Manifest: "services:\n  web:\n    build: .\n"})
	fmt.Println(err)
	// Output:
	// shop_web web:1 3
	// [{host path /etc/web 5}]
	// manifest:3: the key build is not supported: a Swarm builds no images
}
