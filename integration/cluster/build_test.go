package cluster

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBuild(t *testing.T) {
	for _, program := range []string{"fleetd", "apiserver", "client", "fleetctl"} {
		path, err := Build(limited(t), program)
		require.NoError(t, err)
		_, err = exec.LookPath(path)
		assert.NoError(t, err)
		again, err := Build(limited(t), program)
		require.NoError(t, err)
		assert.Equal(t, path, again)
	}
	_, err := Build(limited(t), "nothing")
	assert.ErrorContains(t, err, "build nothing: ")
}
