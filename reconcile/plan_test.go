package reconcile_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
)

func TestPlanChangesNothing(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.declare("web", "service app image=1")
		b.pass()
		written, recorded := len(b.cluster.Writes()), len(b.recorded)
		b.declare("web", "service app image=2 replicas=3", "new", "service app", "bad", "nonsense x")
		plan, err := b.Plan(t.Context())
		require.NoError(t, err)
		web := b.of(plan, "web")
		assert.Equal(t, reconcile.ActionDeploy, web.Action)
		assert.Equal(t, []reconcile.Change{
			{Service: "web_app", Field: "image", Old: "2", New: "1"}, {Service: "web_app", Field: "replicas", Old: "3"},
		}, web.Changes)
		assert.Equal(t, "web_app image: 2 -> 1", web.Changes[0].String())
		assert.Equal(t, reconcile.ReasonMissing, b.of(plan, "new").Reason)
		assert.ErrorContains(t, b.of(plan, "bad").Err, "nonsense")
		assert.Len(t, b.cluster.Writes(), written)
		assert.Len(t, b.recorded, recorded)
	})
}

// What a pass would be refused a plan says, as far as the backend can be asked, by what this stack may refer to.
func TestPlanSaysWhatWouldBeRefused(t *testing.T) {
	onBench(t, func(t *testing.T, b *bench) {
		b.cluster.Put("others", "taken", "taken_app", nil)
		b.own = "own"
		b.declare("taken", "service app", "bad", "nonsense x", "mounts", "service app\nmount /srv/data/app",
			"allowed", "service app\nmount /srv/data/app", "own", "service app", "unasked", "service app")
		b.declared[3].Allow.HostPaths = []string{"/srv/data"}
		b.cluster.FailReads(func(op string) error {
			if op == "DeployStack unasked" {
				return errTest
			}
			return nil
		})
		b.restart("")
		plan, err := b.Plan(t.Context())
		require.NoError(t, err)
		for name, is := range map[string]func(error) bool{
			"taken": stack.IsForeignStack, "mounts": stack.IsForbiddenReference,
			"bad": func(err error) bool { return err != nil },
		} {
			s := b.of(plan, name)
			assert.Equal(t, reconcile.ActionRefuse, s.Action, name)
			assert.True(t, is(s.Err), "%s: %v", name, s.Err)
			assert.NotEmpty(t, s.Error)
		}
		assert.Equal(t, reconcile.ReasonForeign, b.of(plan, "taken").Reason)
		for _, name := range []string{"allowed", "own"} {
			assert.Equal(t, reconcile.ActionDeploy, b.of(plan, name).Action, name)
			assert.NoError(t, b.of(plan, name).Err, name)
		}
		unasked := b.of(plan, "unasked")
		assert.Equal(t, reconcile.ActionDeploy, unasked.Action, "a question that failed is no refusal")
		assert.ErrorIs(t, unasked.Err, errTest)
		assert.Empty(t, b.cluster.Writes())

		b.restart("SelfRelease")
		plan, err = b.Plan(t.Context())
		require.NoError(t, err)
		assert.Equal(t, reconcile.ActionOwn, b.of(plan, "own").Action)
	})
}
