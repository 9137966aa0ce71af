package stacktest_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReconcileAndPruneKnowNoEngine holds what the two import, down to the last, against the packages that they may
// know. So this double is not among it either.
func TestReconcileAndPruneKnowNoEngine(t *testing.T) {
	const module = "github.com/squadronctl/squadron/"
	listed, err := exec.Command("go", "list", "-deps", module+"reconcile", module+"prune").Output()
	require.NoError(t, err)
	var ours []string
	for _, dependency := range strings.Fields(string(listed)) {
		if name, ok := strings.CutPrefix(dependency, module); ok {
			ours = append(ours, name)
		}
	}
	assert.ElementsMatch(t, []string{
		"stack", "capability", "logging", "internal/errmask", "internal/stackmark", "reconcile", "prune",
	}, ours)
}
