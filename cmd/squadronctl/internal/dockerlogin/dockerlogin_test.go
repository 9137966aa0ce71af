package dockerlogin

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/stack"
)

func auth(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// of gives the credentials of a configuration with this text.
func of(t testing.TB, text string, log *bytes.Buffer) stack.Credentials {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600))
	config := Config{Path: Path(map[string]string{"DOCKER_CONFIG": dir}), ReadFile: os.ReadFile}
	if log != nil {
		config.Logger = logging.FromSlog(slog.New(slog.NewTextHandler(log, nil)))
	}
	return New(config)
}

func TestCredential(t *testing.T) {
	text := `{"auths": {
		"registry.example.com:5000": {"auth": "` + auth("me:pass:word") + `"},
		"https://index.docker.io/v1/": {"auth": "` + auth("hub:secret") + `"},
		"https://old.example.com/v1/": {"auth": "` + auth("old:secret") + `", "email": "me@example.com"},
		"token.example.com": {"auth": "` + auth("<token>:") + `", "identitytoken": "abc"},
		"plain.example.com": {"username": "me", "password": "secret"},
		"kept.example.com": {},
		"odd.example.com": {"auth": "` + auth("nobody") + `"}
	}, "credHelpers": {"other.example.com": "vault"}, "credsStore": "pass", "HttpHeaders": {"X": "y"}}`
	for registry, want := range map[string]stack.Credential{
		"registry.example.com:5000": {Username: "me", Password: "pass:word"},
		"docker.io":                 {Username: "hub", Password: "secret"},
		"old.example.com":           {Username: "old", Password: "secret"},
		"token.example.com":         {Username: "<token>", IdentityToken: "abc"},
		"plain.example.com":         {Username: "me", Password: "secret"},
		"registry.example.com":      {},
	} {
		got, err := of(t, text, nil).Credential(t.Context(), registry)
		require.NoError(t, err, registry)
		assert.True(t, want == got, registry) // which prints nothing of them
	}
	_, err := of(t, text, nil).Credential(t.Context(), "odd.example.com")
	assert.ErrorContains(t, err, `config.json: the credential for odd.example.com: it is not the base64 of user:password`)

	for registry, program := range map[string]string{"kept.example.com": "pass", "other.example.com": "vault", "unknown.example.com": "pass"} {
		var log bytes.Buffer
		got, err := of(t, text, &log).Credential(t.Context(), registry)
		require.NoError(t, err)
		assert.True(t, got == stack.Credential{})
		assert.Contains(t, log.String(), registry+" is asked without a credential: docker-credential-"+program)
	}
}

func TestNoFile(t *testing.T) {
	for _, env := range []map[string]string{nil, {"HOME": t.TempDir()}, {"DOCKER_CONFIG": t.TempDir()}} {
		got, err := New(Config{Path: Path(env), ReadFile: os.ReadFile}).Credential(t.Context(), "registry.example.com")
		require.NoError(t, err)
		assert.True(t, got == stack.Credential{})
	}
	assert.Equal(t, "/home/me/.docker/config.json", Path(map[string]string{"HOME": "/home/me"}))
	denied := New(Config{Path: "/c", ReadFile: func(string) ([]byte, error) { return nil, syscall.EACCES }})
	_, err := denied.Credential(t.Context(), "registry.example.com")
	assert.ErrorIs(t, err, syscall.EACCES)
}

// TestMalformed tells where a file is wrong, and nothing of what is in it.
func TestMalformed(t *testing.T) {
	for text, want := range map[string]string{
		`{"auths": secret`:                                    "it is no JSON, from byte 11 on",
		`{"auths": {"a": {"auth": ["secret"]}}}`:              `what stands at "Auths.Auth" is of another kind`,
		`{"auths": {"a": {"auth": "secret"}}}`:                "it is not the base64",
		`{"auths": {"a": {"auth": "` + auth(":pw") + `"}}}`:   "it is not the base64",
		`{"auths": {"a": {"auth": "` + auth("\xff:") + `"}}}`: "it is not the base64",
	} {
		_, err := of(t, text, nil).Credential(t.Context(), "a")
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "secret")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"auths": {"a": {"auth": "bWU6cHc="}}}`, `{"auths": {"https://a/v1/": {}}, "credsStore": "x"}`, `null`, `[`} {
		f.Add([]byte(seed), "a")
	}
	f.Fuzz(func(t *testing.T, text []byte, registry string) {
		file, err := parse(text)
		if err != nil {
			return
		}
		found, there, err := file.find(registry)
		if err == nil {
			assert.Equal(t, there, found != stack.Credential{})
		}
		again, _, _ := file.find(registry) // whatever the map's order
		assert.True(t, found == again)
	})
}

func ExampleNew() {
	config := `{"auths": {"registry.example.com": {"auth": "bWU6c2VjcmV0"}}}`
	credentials := New(Config{Path: "config.json", ReadFile: func(string) ([]byte, error) { return []byte(config), nil }})
	found, err := credentials.Credential(context.Background(), "registry.example.com")
	fmt.Println(found.Username, found, err)
	// Output: me a credential <nil>
}
