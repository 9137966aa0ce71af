package stackmark_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/stackmark"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/revision"
)

func TestMarks(t *testing.T) {
	directory, err := revision.NewDirectory(t.TempDir())
	require.NoError(t, err)
	for _, store := range []stack.RevisionStore{directory, &revision.Memory{}} {
		ctx := t.Context()
		get := func() string {
			mark, err := stackmark.Get(ctx, store, "ops", "web")
			require.NoError(t, err)
			return mark
		}
		assert.Empty(t, get())
		require.NoError(t, stackmark.Clear(ctx, store, "ops", "web"))
		for _, manifest := range []string{"a", "b", "a"} {
			require.NoError(t, stackmark.Set(ctx, store, "ops", "web", manifest))
			assert.Equal(t, manifest, get())
			require.NoError(t, stackmark.Clear(ctx, store, "ops", "web"))
			assert.Empty(t, get())
		}
		ended, end := context.WithCancel(ctx)
		end()
		require.NoError(t, stackmark.Set(ended, store, "ops", "web", "a"), "it was deployed all the same")
		assert.Equal(t, "a", get())
		require.NoError(t, stackmark.Set(ctx, store, "ops", "web", "b"))
		assert.Empty(t, get(), "two marks are none")
		stacks, err := store.Stacks(ctx, "ops")
		require.NoError(t, err)
		assert.Empty(t, stacks, "marks are no revisions of the owner's")
	}
}
