package swarm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	api "github.com/moby/moby/api/types/swarm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/dockertest"
	"github.com/squadronctl/squadron/stack"
)

// A name that two stacks can both make is of the one that has it, with one owner and with two.
func TestTwoStacksCanMakeTheSameName(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "a_b", strings.Replace(web, "app:", "x:", 1))
		for _, owner := range []string{"ops", "dev"} {
			err := b.unwritten(func() error { return b.deploy(owner, "a", strings.Replace(web, "app:", "b_x:", 1)) })
			require.True(t, stack.IsForeignStack(err), "%v", err)
		}
		b.mustDeploy("ops", "a", web)
		require.NoError(t, b.engine.RemoveStack(t.Context(), "a"))
		assert.Equal(t, []string{"ops network a_b a_b_default", "ops service a_b a_b_x"}, b.contents())
	})
}

// Whose a service is is looked at once more before it is removed: another owner may have taken it over since.
func TestAServiceThatChangesHandsIsNotRemoved(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		taken := false
		b.swarm.FailReads(func(op string) error {
			if op == "ServiceInspect shop_app" && !taken {
				taken = true
				return b.swarm.Label("shop_app", "squadron.owner", "dev")
			}
			return nil
		})
		require.True(t, stack.IsForeignStack(b.engine.RemoveStack(t.Context(), "shop")))
		assert.Contains(t, b.contents(), "dev service shop shop_app")
	})
}

// A removal of one service waits for a deployment of its stack, which may have given the service away or made another of it.
func TestARemovalLooksAgainOnceItsTurnComes(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(b *bench) error
		check     func(t *testing.T, err error)
	}{
		"of another stack": {
			func(b *bench) error {
				return b.swarm.EditService("shop_app", func(spec *api.ServiceSpec) { spec.Labels[namespace] = "other" })
			},
			func(t *testing.T, err error) { assert.True(t, stack.IsForeignStack(err), "%v", err) },
		},
		"gone": {
			func(b *bench) error { return b.swarm.Remove(dockertest.KindService, "shop_app") },
			func(t *testing.T, err error) { assert.NoError(t, err) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBench(t, dockertest.Config{Timing: dockertest.Timing{Start: time.Minute}}, func(t *testing.T, b *bench) {
				ctx, cancel := context.WithCancel(t.Context())
				deployed, removed := make(chan error, 1), make(chan error, 1)
				go func() { deployed <- deployWith(ctx, b.engine, "ops", "shop", web) }()
				time.Sleep(10 * time.Second)
				service, there := b.swarm.Service("shop_app")
				require.True(t, there)
				go func() { removed <- b.engine.RemoveService(t.Context(), service.ID) }()
				time.Sleep(10 * time.Second)
				require.NoError(t, c.meanwhile(b))
				b.wrote()
				cancel()
				<-deployed
				c.check(t, <-removed)
				assert.Empty(t, b.wrote())
			})
		})
	}
}

// A service that the Config names and the manifest has not tells nothing: whatever the program may be is handed over. Who is handed
// it may do it at once.
func TestAWrongOwnServiceWritesNothingTooEarly(t *testing.T) {
	onOwnBench(t, func(t *testing.T, b *bench, deployed string) {
		b.config.OwnService = "ctl" // without the stack's name
		b.restart()
		changed := strings.NewReplacer("ctl:1", "ctl:2", "helper:1", "helper:2").Replace(deployed)
		b.wrote()
		before := []string{"never handed over"}
		backend := b.own().WithSelfRelease(func(apply func(context.Context) error) {
			before = b.wrote()
			assert.NoError(t, apply(t.Context()))
		})
		require.NoError(t, deployWith(t.Context(), backend, "ops", "self", changed))
		assert.Empty(t, before)
		assert.ElementsMatch(t, []string{"ServiceUpdate self_ctl", "ServiceUpdate self_helper"}, b.wrote())
	})
}

// What else has to be written by then is written before the program's own service.
func TestTheOwnServiceIsWrittenLast(t *testing.T) {
	onOwnBench(t, func(t *testing.T, b *bench, deployed string) {
		var held []func() error
		changed := strings.Replace(deployed, "ctl:1", "ctl:2", 1)
		require.NoError(t, deployWith(t.Context(), b.own().WithSelfRelease(capabilityHold(t, &held)), "ops", "self", changed))
		require.NoError(t, b.swarm.Scale("self_helper", 2))
		b.wrote()
		require.NoError(t, held[0]())
		assert.Equal(t, []string{"ServiceUpdate self_helper", "ServiceUpdate self_ctl"}, b.wrote())
	})
}
