package swarm

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/stack"
)

// explanations are the differences between what "docker stack deploy" makes of a compose file and what this engine makes of
// it. Each of them has to be met in a file.
var explanations = []explanation{
	{`(services|networks|configs|secrets)\..*Labels\.squadron\.(owner|revision)`,
		"whose it is, and which revision of it: what is deployed carries both"},
	{`(configs|secrets)\.[\w-]+\.Name|services\..*\.(Configs|Secrets)\[\d+\]\.(Config|Secret)Name`,
		"a config or secret is named by its content, since Swarm changes none: STACK_KEY_ and 12 digits of its hash"},
	{`(configs|secrets)\.STACK_unused\..*`, "a config or secret that no service uses is not made"},
}

// The same compose file, deployed by Docker's command and by the engine, makes the same services, networks, configs and
// secrets, but for the explanations. What the engine has deployed has not drifted, and deploying it again writes nothing.
func TestParity(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/parity/*.yml")
	require.NoError(t, err)
	require.Len(t, files, 10)
	outside(t)
	met := make([][]bool, len(files))
	t.Run("files", func(t *testing.T) {
		for i, file := range files {
			met[i] = make([]bool, len(explanations))
			t.Run(strings.TrimSuffix(filepath.Base(file), ".yml"), func(t *testing.T) {
				t.Parallel()
				compareFile(t, file, met[i])
			})
		}
	})
	for i, explanation := range explanations {
		used := false
		for _, of := range met {
			used = used || of[i]
		}
		assert.True(t, used, "no file meets what is explained by %q", explanation.path)
	}
}

// outside makes what the files call external.
func outside(t *testing.T) {
	t.Helper()
	api := real.Manager().Client()
	const name = "parity-outside"
	made, err := api.NetworkCreate(t.Context(), name, client.NetworkCreateOptions{Driver: "overlay"})
	require.NoError(t, err)
	config, err := api.ConfigCreate(t.Context(), client.ConfigCreateOptions{
		Spec: swarm.ConfigSpec{Annotations: swarm.Annotations{Name: name}, Data: []byte("outside\n")}})
	require.NoError(t, err)
	secret, err := api.SecretCreate(t.Context(), client.SecretCreateOptions{
		Spec: swarm.SecretSpec{Annotations: swarm.Annotations{Name: name}, Data: []byte("outside\n")}})
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := api.NetworkRemove(context.Background(), made.ID, client.NetworkRemoveOptions{})
		assert.NoError(t, err)
		_, err = api.ConfigRemove(context.Background(), config.ID, client.ConfigRemoveOptions{})
		assert.NoError(t, err)
		_, err = api.SecretRemove(context.Background(), secret.ID, client.SecretRemoveOptions{})
		assert.NoError(t, err)
	})
}

// parityVariables are those that the files' interpolation finds.
var parityVariables = map[string]string{"LEVEL": "quiet", "LOG_SIZE": "3m"}

var parityAllow = stack.Allow{
	HostPaths: []string{"/srv/squadron-parity"}, Networks: []string{"parity-outside"}, Configs: []string{"parity-outside"},
	Secrets: []string{"parity-outside"}, Volumes: []string{"parity-named", "parity-kept"},
}

func compareFile(t *testing.T, file string, met []bool) {
	number, _, _ := strings.Cut(filepath.Base(file), "-")
	docker := deployByDocker(t, file, "docker"+number)
	ours := deployByEngine(t, file, "ours"+number)
	require.NotEmpty(t, docker)
	found := differences(docker, ours)
	t.Logf("%d values by docker, %d by the engine, %d differences", len(docker), len(ours), len(found))
	for _, difference := range found {
		explained := false
		for i, explanation := range explanations {
			if explanation.explains(difference) {
				met[i], explained = true, true
			}
		}
		assert.True(t, explained, "%s", difference)
	}
}

// deployByDocker gives what Docker's command makes of a file, and removes it.
func deployByDocker(t *testing.T, file, name string) map[string]string {
	t.Helper()
	deploy := real.Manager().Docker(t.Context(), "stack", "deploy", "--resolve-image", "never", "--compose-file", file, name)
	for key, value := range parityVariables {
		deploy.Env = append(deploy.Env, key+"="+value)
	}
	text, err := deploy.CombinedOutput()
	require.NoError(t, err, "%s", text)
	contents := flat(t, contentsOf(t, name))
	text, err = real.Manager().Docker(t.Context(), "stack", "rm", name).CombinedOutput()
	require.NoError(t, err, "%s", text)
	return contents
}

// deployByEngine gives what the engine makes of a file, and removes it.
func deployByEngine(t *testing.T, file, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	h := newHand(t, "parity", name)
	h.config.ReadFile = func(_, path string) ([]byte, error) { return os.ReadFile(filepath.Join(filepath.Dir(file), path)) }
	h.config.Lookup = func(name string) (string, bool) { value, there := parityVariables[name]; return value, there }
	h.allow = parityAllow
	h.declare(name, string(text))
	h.pass()
	contents := flat(t, contentsOf(t, name))

	versions := versionsOf(t, name)
	h.holdsStill()
	h.deploy(name, string(text))
	assert.Equal(t, versions, versionsOf(t, name), "a repeat has written something")
	return contents
}
