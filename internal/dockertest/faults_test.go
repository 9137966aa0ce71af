package dockertest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/internal/dockertest"
)

func transport(s *dockertest.Swarm) http.RoundTripper { return fleettest.Transport(s.Handler()) }

func TestFaults(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		secret := func(name string) error {
			_, err := b.SecretCreate(t.Context(), client.SecretCreateOptions{
				Spec: swarm.SecretSpec{Annotations: swarm.Annotations{Name: name}, Data: []byte("x")},
			})
			return err
		}
		b.swarm.FailWrites(func(op string) error {
			switch op {
			case "SecretCreate lost":
				return dockertest.ErrLost
			case "SecretCreate reset":
				return errors.New("reset")
			case "SecretCreate refused":
				return statusOf(internal, "no quorum")
			}
			return nil
		})
		require.True(t, cerrdefs.IsInternal(secret("refused")))
		require.ErrorContains(t, secret("reset"), "error during connect")
		require.Error(t, secret("lost"))
		require.NoError(t, secret("well"))
		assert.Equal(t, []string{"lost", "well"}, b.swarm.Names(dockertest.KindSecret, ""))
		assert.Equal(t, []string{"SecretCreate well"}, b.swarm.Writes())
		assert.Equal(t, 4, b.swarm.Requests()["POST /secrets/create"])

		data, _ := b.swarm.Data(dockertest.KindSecret, "well")
		assert.Equal(t, "x", string(data))
		shown, err := b.SecretInspect(t.Context(), "well", client.SecretInspectOptions{})
		require.NoError(t, err)
		assert.Nil(t, shown.Secret.Spec.Data)

		b.swarm.FailReads(func(op string) error {
			if strings.HasPrefix(op, "SecretList") {
				return dockertest.ErrHang
			}
			return nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = b.SecretList(ctx, client.SecretListOptions{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestSomebodyElseWritesBetween(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		b.create(spec("web", "app:1", 1))
		b.swarm.OnWrite(func(op string) {
			if op == "ServiceUpdate web" {
				require.NoError(t, b.swarm.Scale("web", 5))
			}
		})
		require.ErrorContains(t, b.write("web", image("app:2")), "update out of sequence")
		b.swarm.OnWrite(nil)
		b.update("web", image("app:2"))
		now := b.inspect("web")
		assert.Equal(t, uint64(5), *now.Spec.Mode.Replicated.Replicas)
		assert.Equal(t, "app:2", now.Spec.TaskTemplate.ContainerSpec.Image)
	})
}

func TestRegistryCredentialsAreSeen(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		options := client.ServiceCreateOptions{Spec: spec("web", "app:1", 1), EncodedRegistryAuth: "e30="}
		_, err := b.ServiceCreate(t.Context(), options)
		require.NoError(t, err)
		assert.Equal(t, "e30=", b.swarm.RegistryAuth("web"))
	})
}

func TestSnapshotTellsOwners(t *testing.T) {
	onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
		labels := map[string]string{
			dockertest.NamespaceLabel: "shop", dockertest.OwnerLabel: "me", dockertest.RevisionLabel: "1",
		}
		net, err := b.swarm.CreateNetwork("shop_net", labels)
		require.NoError(t, err)
		_, err = b.swarm.CreateConfig("foreign", []byte("x"), nil)
		require.NoError(t, err)
		things := b.swarm.Snapshot()
		require.Len(t, things, 2)
		assert.Equal(t, "foreign", things[0].Name)
		assert.Equal(t, dockertest.Thing{
			Kind: dockertest.KindNetwork, Name: "shop_net", ID: net, Stack: "shop", Owner: "me", Revision: "1", Labels: labels,
		}, things[1])
		require.NoError(t, b.swarm.Remove(dockertest.KindConfig, "foreign"))
		assert.Equal(t, []string{"shop_net"}, b.swarm.Names(dockertest.KindNetwork, "shop"))
	})
}
