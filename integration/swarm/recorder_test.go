package swarm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/require"
)

// recorder keeps what an API answers, as far as it is told to.
type recorder struct {
	next http.RoundTripper

	mutex   sync.Mutex
	title   string // of the call; empty: not kept
	answers []recorded
}

// recorded is an answer to a call of a script.
type recorded struct {
	title, request string
	values         map[string]string // status, and of the body each value by its path
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err != nil || r.title == "" {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	_, path, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/") // without the version
	r.answers = append(r.answers, recorded{
		title: r.title, request: request.Method + " /" + anonymous(path), values: values(response.StatusCode, body),
	})
	return response, err
}

// values gives an answer without what is by chance: IDs, times, versions and addresses.
func values(status int, body []byte) map[string]string {
	values := map[string]string{"status": fmt.Sprint(status)}
	var tree any
	if json.Unmarshal(body, &tree) != nil {
		values["body"] = anonymous(string(body))
		return values
	}
	flatten(values, "", sorted(tree))
	for path, value := range values {
		if strings.HasSuffix(path, "Version.Index") {
			value = "VERSION"
		}
		values[path] = anonymous(value)
	}
	return values
}

// sorted puts lists in an order that is no chance: what there is by its name, tasks by their age.
func sorted(tree any) any {
	list, ok := tree.([]any)
	if !ok {
		return tree
	}
	key := func(item any) string {
		fields, _ := item.(map[string]any)
		spec, _ := fields["Spec"].(map[string]any)
		if name, ok := spec["Name"].(string); ok {
			return name
		}
		if name, ok := fields["Name"].(string); ok {
			return name
		}
		created, _ := fields["CreatedAt"].(string)
		return created
	}
	slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(key(a), key(b)) })
	return list
}

var byChance = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "ID"},
	{regexp.MustCompile(`\b[0-9a-z]{25}\b`), "ID"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+\b`), "ADDRESS"},
	{regexp.MustCompile(`no suitable node \([^)]*\)`), "no suitable node (WHY)"}, // another test ends a node
}

func anonymous(text string) string {
	for _, by := range byChance {
		text = by.pattern.ReplaceAllString(text, by.instead)
	}
	return text
}

// player plays a script of calls on an API.
type player struct {
	*client.Client
	t        *testing.T
	recorder *recorder
}

// newPlayer makes one on whatever answers there. scheme and host of the requests are of no matter.
func newPlayer(t *testing.T, answers http.RoundTripper) *player {
	t.Helper()
	recorder := &recorder{next: answers}
	api, err := client.New(client.WithHTTPClient(&http.Client{Transport: recorder}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, api.Close()) })
	_, err = api.Ping(t.Context(), client.PingOptions{NegotiateAPIVersion: true})
	require.NoError(t, err)
	return &player{Client: api, t: t, recorder: recorder}
}

// overSocket answers by what listens on a socket.
func overSocket(t *testing.T, path string) http.RoundTripper {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// keep makes calls whose answers are kept.
func (p *player) keep(title string, calls func()) {
	p.recorder.mutex.Lock()
	p.recorder.title = title
	p.recorder.mutex.Unlock()
	calls()
	p.recorder.mutex.Lock()
	p.recorder.title = ""
	p.recorder.mutex.Unlock()
}
