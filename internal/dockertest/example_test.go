package dockertest_test

import (
	"context"
	"fmt"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/internal/dockertest"
)

// A config that a service mounts can't be removed.
func Example() {
	s := dockertest.New(dockertest.Config{})
	c, err := s.Client()
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	conf, err := s.CreateConfig("shop_conf", []byte("colour=red"), map[string]string{dockertest.OwnerLabel: "ops"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.ServiceCreate(ctx, client.ServiceCreateOptions{Spec: swarm.ServiceSpec{
		Annotations: swarm.Annotations{Name: "shop_web"},
		TaskTemplate: swarm.TaskSpec{ContainerSpec: &swarm.ContainerSpec{Image: "shop/web:1", Configs: []*swarm.ConfigReference{
			{ConfigID: conf, ConfigName: "shop_conf", File: &swarm.ConfigReferenceFileTarget{Name: "/etc/shop"}},
		}}},
	}})
	fmt.Println(err)
	_, err = c.ConfigRemove(ctx, conf, client.ConfigRemoveOptions{})
	fmt.Println(err)
	for _, thing := range s.Snapshot() {
		fmt.Printf("%s %s of %q\n", thing.Kind, thing.Name, thing.Owner)
	}
	fmt.Println(s.Writes())
	// Output:
	// <nil>
	// Error response from daemon: rpc error: code = InvalidArgument desc = config 'shop_conf' is in use by the following service: shop_web
	// config shop_conf of "ops"
	// service shop_web of ""
	// [ServiceCreate shop_web]
}
