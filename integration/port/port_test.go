package port_test

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/integration/port"
)

// Each port can be listened on, and is given once: among so many at random there would be equal ones.
func TestFree(t *testing.T) {
	given := map[string]bool{}
	for range 300 {
		free, err := port.Free()
		require.NoError(t, err)
		assert.False(t, given[free], free)
		given[free] = true
		listener, err := net.Listen("tcp", "127.0.0.1:"+free)
		require.NoError(t, err)
		require.NoError(t, listener.Close())
	}
}
