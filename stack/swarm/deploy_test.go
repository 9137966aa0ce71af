package swarm_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	api "github.com/moby/moby/api/types/swarm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/dockertest"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/swarm"
)

var errNoFile = errors.New("no such file")

const whole = `
services:
  app:
    image: shop/web:1
    command: [serve, --port, "80"]
    environment: {PORT: "80", MODE: "${MODE}"}
    networks: {front: {aliases: [www]}, back: {}}
    configs: [settings]
    secrets: [{source: key, target: /run/key, mode: 0400}]
    deploy: {replicas: 2, update_config: {parallelism: 2, order: start-first, failure_action: rollback}}
  db:
    image: shop/db:1
    networks: [back]
networks:
  front: {}
  back: {internal: true}
configs:
  settings: {file: ./settings.conf}
secrets:
  key: {content: hush}
`

func TestDeployMakesWhatIsDeclaredAndRepeatsWriteNothing(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.files["./settings.conf"], b.vars["MODE"] = "a = 1\n", "live"
		packed, err := swarm.Pack(whole, func(path string) ([]byte, error) { return b.readFile("", path) }, b.lookup)
		require.NoError(t, err)
		b.mustDeploy("ops", "shop", packed)
		writes := b.wrote()
		require.Len(t, writes, 6)
		for i, kind := range []string{"Network", "Network", "Config", "Secret", "Service", "Service"} {
			assert.True(t, strings.HasPrefix(writes[i], kind+"Create shop_"), "%s", writes[i])
		}
		for _, thing := range b.swarm.Snapshot() {
			assert.Equal(t, "ops", thing.Owner, thing.Name)
			assert.Equal(t, "shop", thing.Stack, thing.Name)
			assert.NotEmpty(t, thing.Revision, thing.Name)
		}
		assert.Equal(t, map[string]int{"shop/web:1": 2}, b.swarm.Running("shop_app"))
		assert.Equal(t, []string{packed}, b.manifests("ops", "shop"))
		assert.Empty(t, b.differences("shop", packed), "what was just deployed has no drift")
		b.quiet("ops", "shop", packed)
		b.restart()
		b.quiet("ops", "shop", packed)

		changed := strings.Replace(packed, "shop/db:1", "shop/db:2", 1)
		b.mustDeploy("ops", "shop", changed)
		assert.Equal(t, []string{"ServiceUpdate shop_db"}, b.wrote())
		assert.Equal(t, map[string]int{"shop/db:2": 1}, b.swarm.Running("shop_db"))
	})
}

// A changed config has another name, and the one of old is left for the sweep. What was packed and has changed since is refused.
func TestAChangedFileIsAnotherConfig(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		pack := func() string {
			packed, err := swarm.Pack(whole, func(path string) ([]byte, error) { return b.readFile("", path) }, b.lookup)
			require.NoError(t, err)
			return packed
		}
		b.files["./settings.conf"], b.vars["MODE"] = "a = 1\n", "live"
		first := pack()
		b.mustDeploy("ops", "shop", first)
		b.files["./settings.conf"] = "a = 2\n"
		var fault *stack.ManifestError
		require.ErrorAs(t, b.unwritten(func() error { return b.deploy("ops", "shop", first) }), &fault)
		b.mustDeploy("ops", "shop", pack())
		assert.Len(t, b.swarm.Names(dockertest.KindConfig, "shop"), 2)
		delete(b.files, "./settings.conf")
		declared, err := b.engine.DeclaredResources(t.Context(), first, "shop")
		require.NoError(t, err, "what it was can be told without the file")
		assert.Len(t, declared.Configs, 1)
		for name := range declared.Configs {
			assert.Contains(t, b.swarm.Names(dockertest.KindConfig, "shop"), name)
		}
	})
}

func TestScalingWritesOneServiceAndReplacesNoTask(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		before := b.swarm.Tasks("shop_app")
		b.wrote()
		b.mustDeploy("ops", "shop", webOf("shop/web:1", "3"))
		assert.Equal(t, []string{"ServiceUpdate shop_app"}, b.wrote())
		after := b.swarm.Tasks("shop_app")
		require.Len(t, after, 3)
		assert.Equal(t, before[0].ID, after[0].ID)
		assert.Equal(t, before[1].ID, after[1].ID)
	})
}

// What somebody changed by hand is seen field by field, and put right by a deployment; what no manifest says is kept.
func TestDriftIsSeenAndCorrected(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		require.NoError(t, b.swarm.EditService("shop_app", func(spec *api.ServiceSpec) {
			spec.TaskTemplate.ContainerSpec.Env = append(spec.TaskTemplate.ContainerSpec.Env, "DEBUG=1")
			spec.TaskTemplate.ForceUpdate = 7
			spec.TaskTemplate.Placement = &api.Placement{Platforms: []api.Platform{{OS: "linux"}}}
			spec.Labels["note"] = "mine"
		}))
		require.NoError(t, b.swarm.Scale("shop_app", 5))
		assert.Equal(t, []string{"shop_app env.DEBUG:  -> 1", "shop_app label.note:  -> mine", "shop_app replicas: 2 -> 5"}, b.differences("shop", web))
		b.mustDeploy("ops", "shop", web)
		assert.Empty(t, b.differences("shop", web))
		service, _ := b.swarm.Service("shop_app")
		assert.EqualValues(t, 7, service.Spec.TaskTemplate.ForceUpdate)
		assert.Equal(t, []api.Platform{{OS: "linux"}}, service.Spec.TaskTemplate.Placement.Platforms)
		b.quiet("ops", "shop", web)
	})
}

func TestABadManifestWritesNothing(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		for name, text := range map[string]string{
			"no image":         "services:\n  app:\n    command: x\n",
			"unknown key":      "services:\n  app:\n    image: a\n    nonsense: 1\n",
			"missing file":     "services:\n  app:\n    image: a\n    configs: [c]\nconfigs:\n  c: {file: gone}\n",
			"no compose file":  "[]",
			"missing external": "services:\n  app:\n    image: a\n    networks: [n]\nnetworks:\n  n: {external: true, name: theirs}\n",
		} {
			backend := b.engine.WithAllowedReferences(stack.Allow{Networks: []string{"theirs"}})
			err := b.unwritten(func() error { return deployWith(t.Context(), backend, "ops", "shop", text) })
			var fault *stack.ManifestError
			require.ErrorAs(t, err, &fault, name)
			assert.Empty(t, b.manifests("ops", "shop"))
		}
		for _, owner := range []string{"", "a\nb", strings.Repeat("x", 2000)} {
			require.Error(t, b.unwritten(func() error { return b.deploy(owner, "shop", web) }))
		}
		for _, name := range []string{"", "-x", "a b", strings.Repeat("x", 64)} {
			require.Error(t, b.unwritten(func() error { return b.deploy("ops", name, web) }))
		}
	})
}

// Some things of a Swarm can't be changed: the error says so, before any write.
func TestWhatSwarmCannotChange(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		const network = "\nnetworks:\n  default: {internal: true}\n"
		b.mustDeploy("ops", "shop", web)
		err := b.unwritten(func() error { return b.deploy("ops", "shop", web+network) })
		assert.ErrorContains(t, err, "network shop_default")
		assert.ErrorContains(t, err, "can't be changed")
		err = b.unwritten(func() error { return b.deploy("ops", "shop", strings.Replace(web, "replicas: 2", "mode: global", 1)) })
		assert.ErrorContains(t, err, "remove the service first")
	})
}

// What is there under the name of a content has to have that content.
func TestAnotherContentUnderTheName(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		const text = "services:\n  app: {image: a, configs: [c], secrets: [s]}\nconfigs:\n  c: {content: x}\nsecrets:\n  s: {content: y}\n"
		declared, err := b.engine.DeclaredResources(t.Context(), text, "shop")
		require.NoError(t, err)
		labels := map[string]string{namespace: "shop", "squadron.owner": "ops", "squadron.revision": "other"}
		for name := range declared.Configs {
			_, err := b.swarm.CreateConfig(name, []byte("other"), labels)
			require.NoError(t, err)
		}
		for name := range declared.Secrets {
			_, err := b.swarm.CreateSecret(name, []byte("other"), labels)
			require.NoError(t, err)
		}
		err = b.unwritten(func() error { return b.deploy("ops", "shop", text) })
		assert.ErrorContains(t, err, "manifest:4: config shop_c_")
		assert.ErrorContains(t, err, "manifest:6: secret shop_s_")
	})
}

// A service that becomes another's between the look and the write is left alone.
func TestAServiceThatBecomesAnothers(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		b.swarm.FailReads(func(op string) error {
			if strings.HasPrefix(op, "ServiceInspect") {
				require.NoError(t, b.swarm.Label("shop_app", "squadron.owner", "dev"))
			}
			return nil
		})
		b.wrote()
		require.True(t, stack.IsForeignStack(b.deploy("ops", "shop", webOf("shop/web:2", "1"))))
		assert.Empty(t, b.wrote())
	})
}

// A network that was just removed is listed until its last container has ended, and made again once it is gone.
func TestDeployRightAfterRemoval(t *testing.T) {
	onBench(t, dockertest.Config{Timing: dockertest.Timing{Stop: 4 * time.Second}}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		require.NoError(t, b.swarm.Remove(dockertest.KindService, "shop_app"))
		require.NoError(t, b.swarm.Remove(dockertest.KindNetwork, "shop_default"))
		b.mustDeploy("ops", "shop", web)
		b.quiet("ops", "shop", web)
	})
}

// A write that loses is told of, and repeated once over what there is then.
func TestALostRaceIsRepeatedOnce(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.mustDeploy("ops", "shop", web)
		var told []string
		backend := b.engine.WithOutOfBandNotifier(func(service string) { told = append(told, service) })
		left := 1
		b.swarm.OnWrite(func(op string) {
			if left > 0 && op == "ServiceUpdate shop_app" {
				left--
				require.NoError(t, b.swarm.Label("shop_app", "note", strings.Repeat("x", 1+left)))
			}
		})
		require.NoError(t, deployWith(t.Context(), backend, "ops", "shop", webOf("shop/web:2", "2")))
		assert.Equal(t, []string{"shop_app"}, told)
		assert.Empty(t, b.differences("shop", webOf("shop/web:2", "2")))

		left = 2
		err := deployWith(t.Context(), backend, "ops", "shop", webOf("shop/web:3", "2"))
		require.Error(t, err)
		assert.True(t, swarm.IsTemporary(err), "%v", err)
		assert.Equal(t, []string{"shop_app", "shop_app", "shop_app"}, told)
	})
}

// A write whose answer is lost was done: a repeat finds that.
func TestALostAnswer(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.swarm.FailWrites(func(op string) error {
			if op == "ServiceCreate shop_app" {
				return dockertest.ErrLost
			}
			return nil
		})
		err := b.deploy("ops", "shop", web)
		require.Error(t, err)
		assert.True(t, swarm.IsTemporary(err), "%v", err)
		b.swarm.FailWrites(nil)
		b.quiet("ops", "shop", web)
	})
}

func TestErrorsAreToldApart(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.swarm.FailReads(func(string) error {
			return &dockertest.StatusError{Status: http.StatusServiceUnavailable, Message: "This node is not a swarm manager. Worker nodes can't be used"}
		})
		_, err := b.engine.ReadStackServices(t.Context(), "shop")
		assert.True(t, swarm.IsNotManager(err), "%v", err)
		assert.False(t, swarm.IsTemporary(err))
		assert.ErrorContains(t, err, "swarm init")
		assert.Nil(t, b.engine.StackServices(t.Context(), "shop"))

		for _, fault := range []error{
			errors.New("reset"), &dockertest.StatusError{Status: http.StatusServiceUnavailable, Message: "shutting down"},
			&dockertest.StatusError{Status: http.StatusInternalServerError, Message: "rpc error: code = DeadlineExceeded desc = context deadline exceeded"},
		} {
			b.swarm.FailReads(func(string) error { return fault })
			_, err := b.engine.LiveServices(t.Context(), "shop")
			assert.True(t, swarm.IsTemporary(err), "%v", err)
			assert.False(t, swarm.IsNotManager(err))
		}
		b.swarm.FailReads(func(string) error { return dockertest.ErrHang })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = deployWith(ctx, b.engine, "ops", "shop", web)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.False(t, swarm.IsTemporary(err), "the caller's own context has ended")
		_, err = b.engine.ReadStacks(t.Context(), []string{"shop"})
		assert.True(t, swarm.IsTemporary(err), "an engine that does not answer is not waited for for ever: %v", err)
		b.swarm.FailReads(func(string) error {
			return &dockertest.StatusError{Status: http.StatusInternalServerError, Message: "out of order"}
		})
		_, err = b.engine.SwarmNodes(t.Context())
		require.ErrorContains(t, err, "out of order")
		assert.False(t, swarm.IsTemporary(err) || swarm.IsNotManager(err) || swarm.IsRolledBack(err) || swarm.IsUnconverged(err))
	})
}

type credentials map[string]stack.Credential

func (c credentials) Credential(_ context.Context, registry string) (stack.Credential, error) {
	credential, known := c[registry]
	if !known {
		return credential, errors.New("the vault is shut")
	}
	return credential, nil
}

func TestEachServiceIsPulledWithItsRegistrysCredential(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		const private = "services:\n  app: {image: registry.example:5000/a/app}\n  hub: {image: redis}\n"
		backend := b.engine.WithRegistryAuth(credentials{
			"registry.example:5000": {Username: "alice", Password: "hunter2"}, "docker.io": {},
		})
		require.NoError(t, deployWith(t.Context(), backend, "ops", "shop", private))
		assert.Equal(t, encoded(`{"username":"alice","password":"hunter2","serveraddress":"registry.example:5000"}`), b.swarm.RegistryAuth("shop_app"))
		assert.Equal(t, encoded(`{}`), b.swarm.RegistryAuth("shop_hub"))

		err := b.unwritten(func() error {
			return deployWith(t.Context(), b.engine.WithRegistryAuth(credentials{}), "ops", "shop", strings.Replace(private, "redis", "redis:2", 1))
		})
		require.ErrorContains(t, err, "the vault is shut")
		assert.NotContains(t, err.Error(), "hunter2")
	})
}

// Deployments of one stack are done one after the other.
func TestOneDeploymentAtATime(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		done := make(chan error)
		for _, replicas := range []string{"1", "2", "3", "4"} {
			go func() { done <- b.deploy("ops", "shop", webOf("shop/web:1", replicas)) }()
		}
		for range 4 {
			require.NoError(t, <-done)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, deployWith(ctx, b.engine, "ops", "shop", web), context.Canceled)
	})
}
