package dockerhost_test

import (
	"fmt"
	"os"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/dockerhost"
)

func ExampleResolve() {
	host, err := dockerhost.Resolve(map[string]string{"DOCKER_HOST": "ssh://deploy@manager.example.com"}, os.ReadFile)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(host.Source, host.URL.String())
	// Output: DOCKER_HOST ssh://deploy@manager.example.com/var/run/docker.sock
}
