package swarm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/dockertest"
	"github.com/squadronctl/squadron/stack"
)

// A reference outside of the stack is refused with its line, unless it is allowed.
func TestReferencesOutsideOfTheStack(t *testing.T) {
	const app = "services:\n  app:\n    image: a\n"
	for name, c := range map[string]struct {
		manifest string
		line     int
		allow    stack.Allow
	}{
		"bind":         {app + "    volumes: [/srv/data:/data]\n", 4, stack.Allow{HostPaths: []string{"/srv"}}},
		"socket":       {app + "    volumes:\n      - /var/run/docker.sock:/s\n", 5, stack.Allow{HostPaths: []string{"/run/docker.sock"}}},
		"above socket": {app + "    volumes: [/run:/r]\n", 4, stack.Allow{HostPaths: []string{"/run"}}},
		"network": {app + "    networks: [n]\nnetworks:\n  n: {external: true, name: theirs}\n", 4,
			stack.Allow{Networks: []string{"theirs"}}},
		"host": {app + "    networks: [n]\nnetworks:\n  n: {external: true, name: host}\n", 4, stack.Allow{Networks: []string{"host"}}},
		"config": {app + "    configs: [c]\nconfigs:\n  c: {external: true, name: theirs}\n", 4,
			stack.Allow{Configs: []string{"theirs"}}},
		"secret": {app + "    secrets: [s]\nsecrets:\n  s: {external: true, name: theirs}\n", 4,
			stack.Allow{Secrets: []string{"theirs"}}},
		"volume": {app + "    volumes: [vol:/v]\nvolumes:\n  vol: {external: true, name: theirs}\n", 4,
			stack.Allow{Volumes: []string{"theirs"}}},
		"volume of a name": {app + "    volumes: [vol:/v]\nvolumes:\n  vol: {name: theirs}\n", 4, stack.Allow{Volumes: []string{"theirs"}}},
		"device": {app + "    volumes: [vol:/v]\nvolumes:\n  vol: {driver_opts: {type: none, o: bind, device: /srv/x}}\n", 0,
			stack.Allow{HostPaths: []string{"/srv"}}},
	} {
		t.Run(name, func(t *testing.T) {
			onBench(t, dockertest.Config{}, func(t *testing.T, b *bench) {
				_, err := b.swarm.CreateNetwork("theirs", nil)
				require.NoError(t, err)
				_, err = b.swarm.CreateConfig("theirs", []byte("x"), nil)
				require.NoError(t, err)
				_, err = b.swarm.CreateSecret("theirs", []byte("x"), nil)
				require.NoError(t, err)
				err = b.unwritten(func() error { return b.deploy("ops", "shop", c.manifest) })
				require.True(t, stack.IsForbiddenReference(err), "%v", err)
				var fault *stack.ManifestError
				require.ErrorAs(t, err, &fault)
				if c.line > 0 {
					assert.Equal(t, c.line, fault.Line, "%v", err)
				}
				wide := stack.Allow{HostPaths: []string{"/"}, Networks: []string{"other"}, Units: []string{"theirs"}}
				if name != "bind" && name != "device" {
					err = b.unwritten(func() error {
						return deployWith(t.Context(), b.engine.WithAllowedReferences(wide), "ops", "shop", c.manifest)
					})
					require.True(t, stack.IsForbiddenReference(err), "%v", err)
				}
				require.NoError(t, deployWith(t.Context(), b.engine.WithAllowedReferences(c.allow), "ops", "shop", c.manifest))
				assert.Empty(t, b.differences("shop", c.manifest))
				allowed := b.engine.WithAllowedReferences(c.allow)
				b.wrote()
				require.NoError(t, deployWith(t.Context(), allowed, "ops", "shop", c.manifest))
				assert.Empty(t, b.wrote())
			})
		})
	}
}
