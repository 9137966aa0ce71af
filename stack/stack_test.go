package stack_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/stack"
)

var errCause = errors.New("no such key")

func TestManifestErrorBeginsWithFileAndLine(t *testing.T) {
	for want, err := range map[string]*stack.ManifestError{
		"web.txtar:3: no such key": {File: "web.txtar", Line: 3, Err: errCause},
		"web.txtar: no such key":   {File: "web.txtar", Err: errCause},
		"manifest:3: no such key":  {Line: 3, Err: errCause},
		"manifest: no such key":    {Err: errCause},
	} {
		assert.Equal(t, want, err.Error())
		wrapped := fmt.Errorf("deploy stack web: %w", err)
		var found *stack.ManifestError
		require.ErrorAs(t, wrapped, &found)
		assert.Same(t, err, found)
		assert.ErrorIs(t, wrapped, errCause)
	}
}

func TestCredentialPrintsNothingThatTells(t *testing.T) {
	secret := stack.Credential{Username: "alice", Password: "hunter2", IdentityToken: "token"}
	for _, given := range []any{secret, &secret, struct{ Of stack.Credential }{secret}, map[string]stack.Credential{"registry": secret}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			text := fmt.Sprintf(verb, given)
			for _, part := range []string{"alice", "hunter2", "token", "68756e74657232"} {
				assert.NotContains(t, text, part, "%T by %s", given, verb)
			}
		}
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("login", "with", secret)
	slog.New(slog.NewTextHandler(&log, nil)).Info("login", "with", secret)
	assert.NotContains(t, log.String(), "hunter2")
	assert.Equal(t, "a credential", secret.String())
	assert.Equal(t, "no credential", stack.Credential{}.String())
}

func TestRefusalsAreToldApart(t *testing.T) {
	foreign := fmt.Errorf("deploy: %w", fmt.Errorf("%w: web", stack.ErrForeignStack))
	forbidden := errors.Join(errCause, &stack.ManifestError{Err: fmt.Errorf("%w: /etc", stack.ErrForbiddenReference)})
	assert.True(t, stack.IsForeignStack(foreign))
	assert.False(t, stack.IsForeignStack(forbidden))
	assert.True(t, stack.IsForbiddenReference(forbidden))
	assert.False(t, stack.IsForbiddenReference(foreign))
	assert.False(t, stack.IsForeignStack(nil))
	assert.False(t, stack.IsForbiddenReference(nil))
}

// TestImportsTheStandardLibraryOnly keeps an engine in another module from needing more.
func TestImportsTheStandardLibraryOnly(t *testing.T) {
	assert.Equal(t, []string{"github.com/squadronctl/squadron/stack"}, imports(t, "."))
}

// imports gives what a package is made of beyond the standard library.
func imports(t *testing.T, dir string) []string {
	t.Helper()
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", dir).Output()
	require.NoError(t, err)
	return strings.Fields(string(list))
}

func ExampleManifestError() {
	err := &stack.ManifestError{File: "web-app@.service", Line: 7, Err: errors.New("the line is no option")}
	fmt.Println(err)
	// Output: web-app@.service:7: the line is no option
}
