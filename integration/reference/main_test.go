// Package reference_test holds the project against coreos/fleet's own code: its client drives real fleetd and fleettest,
// which must look the same to it, and its API server is driven by the project's client.
package reference_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/squadronctl/squadron/integration/cluster"
)

// patience is how long the cluster may take for one change of state; it is no measure of anything.
const patience = 5 * time.Minute

// real is the cluster that the tests share, each with unit names of its own.
var real *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if real, err = cluster.Start(context.Background(), cluster.Config{Machines: 3}); err != nil {
		fmt.Println(err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		fmt.Println(real.Logs(40))
	}
	if err := real.Stop(); err != nil {
		fmt.Println(err)
		code = 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println(err)
		code = 1
	}
	return code
}

func limited(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// referenceClient is coreos/fleet's client package in a process of its own.
type referenceClient struct {
	t        *testing.T
	endpoint url.URL
	in       io.Writer
	out      *bufio.Reader
}

// answer is one line that it prints.
type answer struct {
	Result   json.RawMessage
	Error    string
	Code     int
	NotFound bool
}

func startReferenceClient(t *testing.T, endpoint url.URL) *referenceClient {
	t.Helper()
	program, err := cluster.Build(limited(t), "client")
	require.NoError(t, err)
	cmd := exec.Command(program, "-endpoint", endpoint.String())
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		assert.NoError(t, cmd.Wait())
	})
	return &referenceClient{t: t, endpoint: endpoint, in: in, out: bufio.NewReader(out)}
}

// call calls one method and gives its line, with the endpoint's address taken out, which some errors name.
func (r *referenceClient) call(method string, arguments ...string) string {
	r.t.Helper()
	text, err := json.Marshal(append([]string{method}, arguments...))
	require.NoError(r.t, err)
	_, err = r.in.Write(append(text, '\n'))
	require.NoError(r.t, err)
	line, err := r.out.ReadString('\n')
	require.NoError(r.t, err)
	host := r.endpoint.Host
	if host == "" {
		host = "domain-sock"
	}
	return strings.ReplaceAll(strings.TrimSpace(line), host, "ENDPOINT")
}

// until calls until the line contains a text.
func (r *referenceClient) until(text, method string, arguments ...string) string {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		line := r.call(method, arguments...)
		if strings.Contains(line, text) {
			return line
		}
		require.True(r.t, time.Now().Before(deadline), "waiting for %s from %s%q, it was %s", text, method, arguments, line)
		time.Sleep(100 * time.Millisecond)
	}
}
