package fleettest_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

func checkClient(t *testing.T, s *fleettest.Server) {
	t.Helper()
	client := s.Client()
	require.NoError(t, client.Submit(t.Context(), "web@1.service", service))
	require.NoError(t, client.Start(t.Context(), "web@1.service"))
	status, err := client.GetStatus(t.Context(), "web@1.service")
	require.NoError(t, err)
	assert.Equal(t, "running", status.Machine[0].SystemdSub)
	require.NoError(t, client.Destroy(t.Context(), "web@1.service"))
	_, err = client.GetStatus(t.Context(), "web@1.service")
	assert.True(t, fleet.IsUnitNotFound(err))
}

// R37: the real client over TCP.
func TestServerTCP(t *testing.T) {
	s := fleettest.NewServer(fleettest.Config{})
	defer s.Close()
	assert.True(t, strings.HasPrefix(s.URL, "http://127.0.0.1:"))
	checkClient(t, s)
	where := s.Endpoint()
	assert.Equal(t, s.URL, where.String())
	assert.Error(t, s.Start(), "started once")
	s.Close()
	s.Close()
	assert.ErrorIs(t, s.Client().Start(t.Context(), "web@1.service"), net.ErrClosed)
	_, err := net.Dial("tcp", where.Host)
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
}

// R37: the real client over a unix socket, which is gone after Close.
func TestServerUnix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fleet.sock")
	s := fleettest.NewUnstartedServer(fleettest.Config{})
	assert.Nil(t, s.Client())
	require.NoError(t, s.StartUnix(path))
	defer s.Close()
	assert.Equal(t, "unix://"+path, s.URL)
	assert.Equal(t, url.URL{Scheme: "unix", Path: path}, s.Endpoint())
	checkClient(t, s)
	s.Close()
	assert.NoFileExists(t, path)
}

func TestServerStartFails(t *testing.T) {
	s := fleettest.NewUnstartedServer(fleettest.Config{})
	assert.Error(t, s.StartUnix("/nowhere/at/all/fleet.sock"))
	assert.Error(t, s.StartUnix(""), "no name that anybody could dial")
	require.NoError(t, s.Start(), "failing to start leaves it unstarted")
	s.Close()
	s = fleettest.NewUnstartedServer(fleettest.Config{})
	s.Close()
	assert.Error(t, s.Start(), "closed before")
}

// R38: what hangs ends when the server is closed, and connections that nobody used don't hold it up.
func TestServerCloseEndsHangs(t *testing.T) {
	s := fleettest.NewServer(fleettest.Config{Log: func(line string) { assert.Fail(t, line) }})
	idle, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	defer func() { assert.NoError(t, idle.Close()) }()
	hanging := make(chan struct{})
	s.Faults.Set(func(*http.Request) fleettest.Action {
		close(hanging)
		return fleettest.Hang()
	})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _, err := request(t.Context(), t, &http.Client{Transport: rebase{s.Endpoint(), transport}}, "GET", "/units")
		assert.ErrorIs(t, err, io.EOF)
	})
	<-hanging
	s.Close()
	wg.Wait()
}

// R38: resets and broken answers over a real connection.
func TestServerBrokenConnections(t *testing.T) {
	s := fleettest.NewServer(fleettest.Config{})
	defer s.Close()
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{Transport: rebase{s.Endpoint(), transport}}
	require.NoError(t, s.Cluster.Put("web.service", service, "loaded"))
	for _, row := range []struct {
		action fleettest.Action
		want   error
	}{
		{fleettest.Reset(), syscall.ECONNRESET},
		{fleettest.Drop(), io.EOF},
		{fleettest.LoseAnswer(), io.EOF},
		{fleettest.Truncate(), io.ErrUnexpectedEOF},
	} {
		s.Faults.Set(fleettest.Always(row.action))
		_, _, err := request(t.Context(), t, client, "GET", "/units")
		assert.ErrorIs(t, err, row.want)
	}
}

// R37, practice 10: Close says what it is waiting for.
func TestServerCloseSaysWhatItWaitsFor(t *testing.T) {
	said := make(chan string, 1)
	s := fleettest.NewServer(fleettest.Config{Log: func(line string) {
		select {
		case said <- line:
		default:
		}
	}})
	s.ReportEvery(time.Millisecond)
	var wg sync.WaitGroup
	began, finish := make(chan struct{}), make(chan struct{})
	s.Faults.Set(fleettest.Always(func(_ http.ResponseWriter, _ *http.Request, _ http.Handler) {
		close(began)
		<-finish
		panic("a fault of the fault")
	}))
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	wg.Go(func() {
		_, _, err := request(context.Background(), t, &http.Client{Transport: rebase{s.Endpoint(), transport}}, "GET", "/units")
		assert.ErrorIs(t, err, io.EOF)
	})
	<-began
	wg.Go(s.Close)
	assert.Equal(t, "fleettest: Close is waiting for GET /fleet/v1/units", <-said)
	close(finish)
	wg.Wait()
}

// rebase sends requests to another host.
type rebase struct {
	to        url.URL
	transport http.RoundTripper
}

func (r rebase) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.URL.Host = r.to.Host
	return r.transport.RoundTrip(request)
}
