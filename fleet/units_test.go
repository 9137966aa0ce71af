package fleet

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWritesChangeTheCluster(t *testing.T) {
	fleetd := &cluster{}
	client := clientOn(t, inProcess(fleetd), Config{})
	ctx := t.Context()

	require.NoError(t, client.Submit(ctx, "web@1.service", webContent))
	assert.Equal(t, []wireUnit{unitOf(t, "web@1.service", webContent, "inactive", "loaded", "")}, fleetd.units)
	require.NoError(t, client.Start(ctx, "web@1.service"))
	assert.Equal(t, "launched", fleetd.units[0].DesiredState)
	require.NoError(t, client.Stop(ctx, "web@1.service"))
	assert.Equal(t, "loaded", fleetd.units[0].DesiredState)
	require.NoError(t, client.Submit(ctx, "web@1.service", "[Unit]\nA=b\n"))
	content, err := client.ReadContent(ctx, "web@1.service")
	require.NoError(t, err)
	assert.Equal(t, "[Unit]\nA=b\n", content, "replaced")
	require.NoError(t, client.SubmitLaunched(ctx, "web@2.service", webContent))
	assert.Equal(t, unitOf(t, "web@2.service", webContent, "inactive", "launched", ""), fleetd.units[1])
	require.NoError(t, client.Destroy(ctx, "web@1.service"))
	require.NoError(t, client.Destroy(ctx, "web@2.service"))
	assert.Empty(t, fleetd.units)
}

func TestReadContentKeepsOptions(t *testing.T) {
	client := clientOn(t, inProcess(&cluster{}), Config{})
	submitted := "# comment\n[Service]\nExecStart=/bin/a \\\n  b\nExecStart= c\n\n\n[Unit]\nA=\n"
	require.NoError(t, client.Submit(t.Context(), "a.service", submitted))
	got, err := client.ReadContent(t.Context(), "a.service")
	require.NoError(t, err)
	assert.Equal(t, "[Service]\nExecStart=/bin/a \\\n  b\nExecStart=c\n\n[Unit]\nA=\n", got)
}

func TestUnknownUnits(t *testing.T) {
	client := clientOn(t, inProcess(&cluster{}), Config{})
	ctx := t.Context()
	_, statusErr := client.GetStatus(ctx, "gone.service")
	_, contentErr := client.ReadContent(ctx, "gone.service")
	_, matcherErr := client.GetStatusWithMatcher(func(string) bool { return true })
	for call, err := range map[string]error{
		"start gone.service":            client.Start(ctx, "gone.service"),
		"stop gone.service":             client.Stop(ctx, "gone.service"),
		"destroy gone.service":          client.Destroy(ctx, "gone.service"),
		"get status of gone.service":    statusErr,
		"read content of gone.service":  contentErr,
		"get status of matching units:": matcherErr,
	} {
		require.Error(t, err, call)
		assert.True(t, IsUnitNotFound(err), "%v", err)
		assert.False(t, IsTemporary(err), "%v", err)
		assert.True(t, strings.HasPrefix(err.Error(), call), "%v", err)
	}
}

// R29, R34: the server's message is kept, the error is typed and reads from the outside in.
func TestRefusalsKeepTheServersMessage(t *testing.T) {
	client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusBadRequest, `unit name must contain "."`)
	})), Config{})
	err := client.Submit(t.Context(), "web", webContent)
	assert.EqualError(t, err, `submit web: PUT /fleet/v1/units/web: 400 Bad Request: unit name must contain "."`)
	assert.True(t, IsInvalidRequest(err))
	var answer *APIError
	require.True(t, errors.As(err, &answer))
	assert.Equal(t, &APIError{Method: "PUT", Path: "/fleet/v1/units/web", Unit: "web", StatusCode: 400, Message: `unit name must contain "."`}, answer)
}

func TestConflictOfSubmitIsNoMissingUnit(t *testing.T) {
	client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusConflict, "")
	})), Config{})
	err := client.Submit(t.Context(), "a.service", webContent)
	assert.True(t, IsConflict(err))
	assert.False(t, IsUnitNotFound(err))
}

// Nothing is sent of what can't be right.
func TestImpossibleInputIsNotSent(t *testing.T) {
	client := clientOn(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		t.Errorf("sent %s %s", r.Method, r.URL)
		return nil, errors.New("sent")
	}), Config{})
	ctx := context.Background()
	for _, name := range []string{"", ".", "..", "a/b.service", "/", "../machines", "a\x00.service", "a\n.service", strings.Repeat("x", 10<<20)} {
		_, statusErr := client.GetStatus(ctx, name)
		_, contentErr := client.ReadContent(ctx, name)
		_, readErr := client.ReadUnits(ctx, Selector{Names: []string{name}})
		for _, err := range []error{client.Submit(ctx, name, webContent), client.SubmitLaunched(ctx, name, webContent),
			client.Start(ctx, name), client.Stop(ctx, name), client.Destroy(ctx, name), statusErr, contentErr, readErr} {
			require.True(t, IsInvalidRequest(err), "%v", err)
			assert.Less(t, len(err.Error()), 200)
			assert.NotContains(t, err.Error(), "\x00")
			assert.NotContains(t, err.Error(), "\n")
		}
	}
	for _, content := range []string{"", "no unit file", "# only this\n", "[S\n", "[Unit]\nno value\n", strings.Repeat("x", 10<<20)} {
		assert.True(t, IsInvalidRequest(client.Submit(ctx, "a.service", content)), "%.20q", content)
	}
	_, err := client.GetStatusWithMatcher(nil)
	assert.True(t, IsInvalidRequest(err))
}

func TestLargeContent(t *testing.T) {
	fleetd := &cluster{}
	client := clientOn(t, inProcess(fleetd), Config{})
	line := "A=" + strings.Repeat("x", 1000) + "\n"
	content := "[Unit]\n" + strings.Repeat(line, 2<<20/len(line))
	require.NoError(t, client.Submit(t.Context(), "big.service", content))
	got, err := client.ReadContent(t.Context(), "big.service")
	require.NoError(t, err)
	assert.True(t, content == got)
}

// A 404 or 409 without a word is one about the unit; other servers say something of their own.
func TestFailuresWithoutBody(t *testing.T) {
	for code, want := range map[int]func(error) bool{404: IsUnitNotFound, 409: IsUnitNotFound, 401: IsInvalidEndpoint} {
		client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) })), Config{})
		assert.True(t, want(client.Start(t.Context(), "a.service")), code)
	}
}

// What fleet takes and then chokes on is not sent.
func TestUnwritableUnits(t *testing.T) {
	client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Error("sent", r.URL) })), Config{})
	for name, content := range map[string]string{"web@.service": webContent, "a.service": "[Unit]\nDescription=\xff\n"} {
		assert.True(t, IsInvalidRequest(client.Submit(t.Context(), name, content)), name)
		assert.True(t, IsInvalidRequest(client.SubmitLaunched(t.Context(), name, content)), name)
	}
}
