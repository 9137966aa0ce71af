package swarm_test

import (
	"errors"
	"strings"
	"testing"

	api "github.com/moby/moby/api/types/swarm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/internal/dockertest"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
	"github.com/squadronctl/squadron/stack/swarm"
)

const namespace = "com.docker.stack.namespace"

// foreign is a service that "docker stack deploy" could have made.
func foreign(stackName, name string) api.ServiceSpec {
	labels := map[string]string{}
	if stackName != "" {
		labels[namespace] = stackName
	}
	return api.ServiceSpec{
		Annotations:  api.Annotations{Name: name, Labels: labels},
		TaskTemplate: api.TaskSpec{ContainerSpec: &api.ContainerSpec{Image: "theirs:1"}},
	}
}

func TestANameThatIsSomebodyElsesIsRefused(t *testing.T) {
	for name, put := range map[string]func(b *bench) error{
		"another owner": func(b *bench) error { return b.deploy("dev", "shop", web) },
		"docker stack deploy": func(b *bench) error {
			_, err := b.swarm.CreateService(foreign("shop", "shop_other"))
			return err
		},
		"a service of the name": func(b *bench) error {
			_, err := b.swarm.CreateService(foreign("", "shop_app"))
			return err
		},
		"a service of another stack": func(b *bench) error {
			_, err := b.swarm.CreateService(foreign("other", "shop_app"))
			return err
		},
		"a network": func(b *bench) error {
			_, err := b.swarm.CreateNetwork("shop_default", nil)
			return err
		},
		"a config": func(b *bench) error {
			_, err := b.swarm.CreateConfig("shop_theirs", []byte("x"), map[string]string{namespace: "shop"})
			return err
		},
		"a secret": func(b *bench) error {
			_, err := b.swarm.CreateSecret("shop_theirs", []byte("x"), map[string]string{namespace: "shop", "squadron.owner": "dev"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
				require.NoError(t, put(b))
				b.config.Store = &revision.Memory{}
				b.restart()
				err := b.unwritten(func() error { return b.deploy("ops", "shop", web) })
				require.True(t, stack.IsForeignStack(err), "%v", err)
				request := stack.DeployRequest{Name: "shop", Owner: "ops", Manifest: web}
				assert.True(t, stack.IsForeignStack(b.engine.CheckDeploy(t.Context(), request)))
				revisions, err := b.config.Store.Revisions(t.Context(), "ops", "shop")
				require.NoError(t, err)
				assert.Empty(t, revisions)
			})
		})
	}
}

// What carries no label, of a stack that the store knows, is taken over; what it does not declare stays as it is.
func TestWhatLostItsLabelIsTakenOver(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		require.NoError(t, b.swarm.EditService("shop_app", func(spec *api.ServiceSpec) { delete(spec.Labels, "squadron.owner") }))
		_, err := b.swarm.CreateService(foreign("shop", "shop_debug"))
		require.NoError(t, err)
		b.mustDeploy("ops", "shop", web)
		assert.Equal(t, []string{
			"ops network shop shop_default", "ops service shop shop_app", " service shop shop_debug",
		}, b.contents())
		b.quiet("ops", "shop", web)

		require.NoError(t, b.engine.RemoveStack(t.Context(), "shop"))
		assert.Equal(t, []string{" service shop shop_debug"}, b.contents())
	})
}

// What lost its label goes with its stack, where a revision has it; what somebody added stays.
func TestRemoveStackWithWhatLostItsLabel(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		require.NoError(t, b.swarm.EditService("shop_app", func(spec *api.ServiceSpec) { delete(spec.Labels, "squadron.owner") }))
		_, err := b.swarm.CreateService(foreign("shop", "shop_debug"))
		require.NoError(t, err)
		require.NoError(t, b.engine.RemoveStack(t.Context(), "shop"))
		assert.Equal(t, []string{" service shop shop_debug"}, b.contents())
		require.NoError(t, b.engine.RemoveStack(t.Context(), "shop"), "nothing of it is anybody's")
		assert.Equal(t, []string{" service shop shop_debug"}, b.contents())
	})
}

func TestOwnedStacks(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		b.mustDeploy("ops", "api", web)
		b.mustDeploy("dev", "lab", web)
		require.NoError(t, b.swarm.Remove(dockertest.KindService, "api_app"))
		names, err := b.engine.OwnedStacks(t.Context(), "ops")
		require.NoError(t, err)
		assert.Equal(t, []string{"api", "shop"}, names, "a network that is left counts")
		b.swarm.FailReads(func(op string) error {
			if op == "SecretList" {
				return errors.New("reset")
			}
			return nil
		})
		_, err = b.engine.OwnedStacks(t.Context(), "ops")
		require.Error(t, err)
	})
}

func TestRemoveStack(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.files["./settings.conf"] = "a = 1\n"
		b.mustDeploy("ops", "shop", whole)
		b.mustDeploy("ops", "other", web)
		require.NoError(t, b.engine.RemoveStack(t.Context(), "shop"))
		assert.Equal(t, []string{"ops network other other_default", "ops service other other_app"}, b.contents())
		b.wrote()
		require.NoError(t, b.engine.RemoveStack(t.Context(), "shop"), "one that is not there is no error")
		assert.Empty(t, b.wrote())
		b.mustDeploy("ops", "shop", whole)
	})
}

// Of a node that is down nobody knows what runs there: its tasks are not waited for.
func TestRemoveStackWhileANodeIsDown(t *testing.T) {
	nodes := []dockertest.Node{{Hostname: "one", Manager: true}, {Hostname: "two"}}
	onBench(t, dockertest.Config{Nodes: nodes}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		require.NoError(t, b.swarm.NodeDown("two"))
		require.NoError(t, b.engine.RemoveStack(t.Context(), "shop"))
		assert.Empty(t, b.contents())
	})
}

// Where the labels of several owners are there nothing is removed.
func TestAStackOfSeveralOwnersIsNotRemoved(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		_, err := b.swarm.CreateConfig("shop_theirs", []byte("x"), map[string]string{namespace: "shop", "squadron.owner": "dev"})
		require.NoError(t, err)
		assert.True(t, stack.IsForeignStack(b.unwritten(func() error { return b.engine.RemoveStack(t.Context(), "shop") })))
		assert.True(t, stack.IsForeignStack(b.unwritten(func() error { return b.deploy("ops", "shop", webOf("shop/web:2", "1")) })))
	})
}

// What another stack uses stays, and all else is gone.
func TestRemoveStackWhoseNetworkIsUsed(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		backend := b.engine.WithAllowedReferences(stack.Allow{Networks: []string{"shop_default"}})
		require.NoError(t, deployWith(t.Context(), backend, "ops", "guest",
			"services:\n  app: {image: a, networks: [n]}\nnetworks:\n  n: {external: true, name: shop_default}\n"))
		require.ErrorContains(t, b.engine.RemoveStack(t.Context(), "shop"), "in use")
		assert.Equal(t, []string{"ops network shop shop_default", "ops service guest guest_app"}, b.contents())
	})
}

const controllers = `
services:
  ctl:
    image: ctl:1
    secrets: [token]
    configs: [settings]
  helper:
    image: helper:1
secrets:
  token: {external: true, name: ctl-token}
configs:
  settings: {external: true, name: ctl-settings}
`

// onOwnBench is a bench whose program is the service self_ctl.
func onOwnBench(t *testing.T, f func(t *testing.T, b *bench, deployed string)) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		_, err := b.swarm.CreateSecret("ctl-token", []byte("x"), nil)
		require.NoError(t, err)
		_, err = b.swarm.CreateConfig("ctl-settings", []byte("x"), nil)
		require.NoError(t, err)
		allow := stack.Allow{Secrets: []string{"ctl-token"}, Configs: []string{"ctl-settings"}}
		require.NoError(t, deployWith(t.Context(), b.engine.WithAllowedReferences(allow), "ops", "self", controllers))
		b.config.Own, b.config.OwnService = "self", "self_ctl"
		b.restart()
		f(t, b, controllers)
	})
}

func (b *bench) own() *swarm.Engine {
	allow := stack.Allow{Secrets: []string{"ctl-token"}, Configs: []string{"ctl-settings"}}
	return b.engine.WithAllowedReferences(allow).(*swarm.Engine)
}

// What is the controller's own no other stack may have, whatever is allowed.
func TestTheControllersFilesAreItsOwn(t *testing.T) {
	onOwnBench(t, func(t *testing.T, b *bench, deployed string) {
		const thief = "services:\n  app:\n    image: a\n    secrets: [s]\nsecrets:\n  s: {external: true, name: NAME}\n"
		err := b.unwritten(func() error {
			return deployWith(t.Context(), b.own(), "ops", "thief", strings.Replace(thief, "NAME", "ctl-token", 1))
		})
		require.True(t, stack.IsForbiddenReference(err), "as Swarm says it is mounted: %v", err)
		var fault *stack.ManifestError
		require.ErrorAs(t, err, &fault)
		assert.Positive(t, fault.Line)

		_, err = b.swarm.CreateSecret("named", []byte("x"), nil)
		require.NoError(t, err)
		backend := b.engine.WithAllowedReferences(stack.Allow{Secrets: []string{"named"}})
		forbids := backend.(capability.ForbidSecrets).WithForbiddenSecrets(map[string]struct{}{"named": {}})
		named := strings.Replace(thief, "NAME", "named", 1)
		err = b.unwritten(func() error { return deployWith(t.Context(), forbids, "ops", "thief", named) })
		require.True(t, stack.IsForbiddenReference(err), "as it was named: %v", err)
		require.NoError(t, deployWith(t.Context(), backend, "ops", "thief", named))
		forbids = b.own().WithForbiddenSecrets(map[string]struct{}{"ctl-token": {}})
		require.NoError(t, deployWith(t.Context(), forbids, "ops", "self", deployed), "the own stack may have it")
	})
}

func TestTheOwnStack(t *testing.T) {
	onOwnBench(t, func(t *testing.T, b *bench, deployed string) {
		require.NoError(t, deployWith(t.Context(), b.own(), "ops", "self", deployed), "nothing has to be done")
		changed := strings.NewReplacer("ctl:1", "ctl:2", "helper:1", "helper:2").Replace(deployed)
		err := b.unwritten(func() error { return deployWith(t.Context(), b.own(), "ops", "self", changed) })
		require.ErrorIs(t, err, capability.ErrOwnStack)
		require.ErrorIs(t, b.unwritten(func() error { return b.engine.RemoveStack(t.Context(), "self") }), capability.ErrOwnStack)
		service, _ := b.swarm.Service("self_helper")
		require.ErrorIs(t, b.unwritten(func() error { return b.engine.RemoveService(t.Context(), service.ID) }), capability.ErrOwnStack)

		var held []func() error
		backend := b.own().WithSelfRelease(capabilityHold(t, &held))
		b.wrote()
		require.NoError(t, deployWith(t.Context(), backend, "ops", "self", changed))
		assert.Equal(t, []string{"ServiceUpdate self_helper"}, b.wrote())
		assert.Equal(t, map[string]int{"helper:2": 1}, b.swarm.Running("self_helper"))
		require.Len(t, held, 1)
		require.NoError(t, held[0]())
		assert.Equal(t, []string{"ServiceUpdate self_ctl"}, b.wrote())
		assert.Equal(t, map[string]int{"ctl:2": 1}, b.swarm.Running("self_ctl"))
		held = nil
		require.NoError(t, deployWith(t.Context(), backend, "ops", "self", changed))
		assert.Empty(t, held)
		assert.Same(t, b.engine, b.engine.WithSelfRelease(nil))

		// Which service the program is nobody has said, and nothing tells: all of them are handed over.
		b.config.OwnService = ""
		b.restart()
		again := strings.ReplaceAll(changed, ":2", ":3")
		require.NoError(t, deployWith(t.Context(), b.own().WithSelfRelease(capabilityHold(t, &held)), "ops", "self", again))
		assert.Empty(t, b.wrote())
		require.Len(t, held, 1)
		require.NoError(t, held[0]())
		assert.Empty(t, b.differences("self", again))
	})
}

// What the own stack uses is not removed; what it has left behind is.
func TestSweepingTheOwnStack(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		const settings = "services:\n  ctl: {image: a, configs: [c]}\nconfigs:\n  c: {content: v1}\n"
		b.mustDeploy("ops", "self", settings)
		b.mustDeploy("ops", "self", strings.Replace(settings, "v1", "v2", 1))
		b.config.Own = "self"
		b.restart()
		configs, err := b.engine.LiveConfigs(t.Context(), "self")
		require.NoError(t, err)
		require.Len(t, configs, 2)
		declared, err := b.engine.DeclaredResources(t.Context(), settings, "self")
		require.NoError(t, err)
		for name, id := range configs {
			err := b.engine.RemoveConfig(t.Context(), id)
			if _, old := declared.Configs[name]; old {
				require.NoError(t, err)
				require.NoError(t, b.engine.RemoveConfig(t.Context(), id), "what is not there any more is no error")
			} else {
				require.ErrorIs(t, err, capability.ErrOwnStack)
			}
		}
		networks, err := b.engine.LiveNetworks(t.Context(), "self")
		require.NoError(t, err)
		require.ErrorIs(t, b.engine.RemoveNetwork(t.Context(), networks["self_default"]), capability.ErrOwnStack)
	})
}

// A sweep's removals: what is in use is left, and what is of no stack is nobody's to remove.
func TestRemovingSingleThings(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		ctx := t.Context()
		b.files["./settings.conf"] = "a = 1\n"
		b.mustDeploy("ops", "shop", whole)
		networks, err := b.engine.LiveNetworks(ctx, "shop")
		require.NoError(t, err)
		configs, err := b.engine.LiveConfigs(ctx, "shop")
		require.NoError(t, err)
		secrets, err := b.engine.LiveSecrets(ctx, "shop")
		require.NoError(t, err)
		live, err := b.engine.LiveServices(ctx, "shop")
		require.NoError(t, err)
		remove := func(with func(network, config, secret error)) {
			for _, config := range configs {
				for _, secret := range secrets {
					with(b.engine.RemoveNetwork(ctx, networks["shop_front"]), b.engine.RemoveConfig(ctx, config), b.engine.RemoveSecret(ctx, secret))
				}
			}
		}
		remove(func(network, config, secret error) {
			require.Error(t, network)
			require.Error(t, config)
			require.Error(t, secret)
		})
		require.NoError(t, b.engine.RemoveService(ctx, live["shop_app"].ID))
		require.NoError(t, b.engine.RemoveService(ctx, live["shop_app"].ID))
		for range 2 {
			remove(func(network, config, secret error) {
				require.NoError(t, network)
				require.NoError(t, config)
				require.NoError(t, secret)
			})
		}
		assert.Equal(t, []string{"ops network shop shop_back", "ops service shop shop_db"}, b.contents())

		service, err := b.swarm.CreateService(foreign("", "alone"))
		require.NoError(t, err)
		network, err := b.swarm.CreateNetwork("alone", nil)
		require.NoError(t, err)
		secret, err := b.swarm.CreateSecret("alone", []byte("x"), nil)
		require.NoError(t, err)
		assert.True(t, stack.IsForeignStack(b.unwritten(func() error { return b.engine.RemoveService(ctx, service) })))
		assert.True(t, stack.IsForeignStack(b.unwritten(func() error { return b.engine.RemoveNetwork(ctx, network) })))
		assert.True(t, stack.IsForeignStack(b.unwritten(func() error { return b.engine.RemoveSecret(ctx, secret) })))
	})
}
