package client_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
)

// C15, R28: names whose characters mean something in a URL or to fleet; the whole life of each.
func TestNames(t *testing.T) {
	t.Parallel()
	timer := "[Timer]\nOnActiveSec=1h\nUnit=systemd-tmpfiles-clean.service\n"
	for name, want := range map[string]struct{ slice, content, states string }{
		"names@1.service":            {"1", sleeper(), running},
		"names:colon@a:b.service":    {"a:b", sleeper(), running},
		`names-a\x2db@1.service`:     {"1", sleeper(), running},
		"names@10.0.0.7.service":     {"10.0.0.7", sleeper(), running},
		"names.with.dots.service":    {"", sleeper(), running},
		"names_-x@-y_.service":       {"-y_", sleeper(), running},
		"names@a-b.timer":            {"a-b", timer, "launched/launched active/waiting"},
		`names\x2d.timer`:            {"", timer, "launched/launched active/waiting"},
		`names@\xe4\xb8\xad.service`: {`\xe4\xb8\xad`, sleeper(), running},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, real.Endpoint())
			ctx := limited(t)
			require.NoError(t, c.Submit(ctx, name, want.content))
			require.NoError(t, c.Start(ctx, name))
			settle(t, c, name, want.states)
			status, err := c.GetStatus(ctx, name)
			require.NoError(t, err)
			assert.Equal(t, name, status.Name)
			assert.Equal(t, want.slice, status.SliceID)
			content, err := c.ReadContent(ctx, name)
			require.NoError(t, err)
			assert.Equal(t, hash(t, want.content), hash(t, content))
			all, err := c.GetStatusWithMatcher(func(other string) bool { return other == name })
			require.NoError(t, err)
			assert.Len(t, all, 1)
			require.NoError(t, c.Stop(ctx, name))
			require.NoError(t, c.Destroy(ctx, name))
			_, err = c.GetStatus(ctx, name)
			assert.True(t, fleet.IsUnitNotFound(err), "%v", err)
		})
	}
}
