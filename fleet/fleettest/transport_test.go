package fleettest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

func get(ctx context.Context, t *testing.T, rt http.RoundTripper, method string, body io.Reader) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://fleet/a%40b?c=d", body)
	require.NoError(t, err)
	return rt.RoundTrip(r)
}

// R37: what the handler sees is a server's request, and what it answers comes out whole.
func TestTransport(t *testing.T) {
	rt := fleettest.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		w.Header().Set("X-Seen", strings.Join([]string{r.Method, r.RequestURI, r.URL.Path, r.URL.Host, r.Host}, " "))
		w.WriteHeader(http.StatusTeapot)
		w.WriteHeader(http.StatusOK)
		w.Header().Set("X-Late", "yes")
		_, err = w.Write(append([]byte("got "), body...))
		assert.NoError(t, err)
	}))
	resp, err := get(t.Context(), t, rt, http.MethodPut, strings.NewReader("this"))
	require.NoError(t, err)
	assert.Equal(t, "418 I'm a teapot", resp.Status)
	assert.Equal(t, "PUT /a%40b?c=d /a@b  fleet", resp.Header.Get("X-Seen"))
	assert.Empty(t, resp.Header.Get("X-Late"))
	assert.Equal(t, "got this", readAll(t, resp.Body))
}

func TestTransportWithoutBody(t *testing.T) {
	rt := fleettest.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		_, err := w.Write([]byte("x"))
		assert.ErrorIs(t, err, http.ErrBodyNotAllowed)
	}))
	resp, err := get(t.Context(), t, rt, http.MethodGet, nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusNoContent, resp.StatusCode)
	assert.Empty(t, readAll(t, resp.Body))

	rt = fleettest.Transport(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	resp, err = get(t.Context(), t, rt, http.MethodHead, nil)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Empty(t, readAll(t, resp.Body))
}

// R38: broken connections look like broken connections.
func TestTransportAborts(t *testing.T) {
	abort := fleettest.Transport(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	_, err := get(t.Context(), t, abort, http.MethodGet, nil)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)

	bug := fleettest.Transport(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a bug") }))
	_, err = get(t.Context(), t, bug, http.MethodGet, nil)
	assert.EqualError(t, err, "handler panicked: a bug")

	for name, handler := range map[string]http.HandlerFunc{
		"aborted": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			panic(http.ErrAbortHandler)
		},
		"too short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "8")
			_, _ = io.WriteString(w, "half")
		},
	} {
		resp, err := get(t.Context(), t, fleettest.Transport(handler), http.MethodGet, nil)
		require.NoError(t, err, name)
		body, err := io.ReadAll(resp.Body)
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF, name)
		assert.Equal(t, "half", string(body))
		assert.NoError(t, resp.Body.Close())
	}

	long := fleettest.Transport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		_, err := io.WriteString(w, "long")
		assert.ErrorIs(t, err, http.ErrContentLength)
		_, _ = io.WriteString(w, "ok")
	}))
	resp, err := get(t.Context(), t, long, http.MethodGet, nil)
	require.NoError(t, err)
	assert.Equal(t, "ok", readAll(t, resp.Body))
}

// R37: a round trip and its body end with the request's context, and the handler's context with them.
func TestTransportHonoursContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int32
		hang := fleettest.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer ended.Add(1)
			if r.Method == http.MethodPut {
				_, _ = io.WriteString(w, "x")
			}
			<-r.Context().Done()
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		_, err := get(ctx, t, hang, http.MethodGet, nil)
		assert.ErrorIs(t, err, context.DeadlineExceeded)

		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		resp, err := get(ctx, t, hang, http.MethodPut, nil)
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, resp.Body.Close())

		deaf := fleettest.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, err := io.WriteString(w, "x")
			assert.NoError(t, err)
			time.Sleep(10 * time.Hour)
			_, err = io.WriteString(w, "x")
			assert.Error(t, err, "nobody is there any more")
		}))
		ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		resp, err = get(ctx, t, deaf, http.MethodGet, nil)
		require.NoError(t, err)
		_, err = io.ReadAll(resp.Body)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Hour, time.Since(start))
		require.NoError(t, resp.Body.Close())
		time.Sleep(10 * time.Hour)

		resp, err = get(t.Context(), t, hang, http.MethodPut, nil)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		synctest.Wait()
		assert.EqualValues(t, 3, ended.Load(), "every handler has ended")

		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		_, err = get(ctx, t, hang, http.MethodGet, nil)
		assert.ErrorIs(t, err, context.Canceled)
		assert.EqualValues(t, 3, ended.Load(), "a request that ended before it began is not made")
	})
}

// A handler that answers in the moment in which the request ends is not left with a body that nobody reads: a bubble
// ends only with all its goroutines.
func TestTransportAnswersAtTheEnd(t *testing.T) {
	for range 3000 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			rt := fleettest.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				_, _ = w.Write([]byte("late"))
			}))
			go func() {
				synctest.Wait()
				cancel()
			}()
			if resp, err := get(ctx, t, rt, http.MethodGet, nil); err == nil {
				assert.NoError(t, resp.Body.Close())
			}
		})
	}
}

// R37: the real client and the whole cluster work in a bubble, on the bubble's clock.
func TestClusterInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fleettest.NewCluster(fleettest.Config{Timing: fleettest.Measured()})
		client, err := fleet.NewFleet(fleettest.ClientConfig(c))
		require.NoError(t, err)
		require.NoError(t, client.Submit(t.Context(), "web.service", service))
		require.NoError(t, client.Start(t.Context(), "web.service"))
		for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			status, err := client.GetStatus(t.Context(), "web.service")
			require.NoError(t, err)
			if len(status.Machine) > 0 && status.Machine[0].SystemdActive == "active" {
				assert.Equal(t, 3*time.Second, time.Since(start), "at the first tick after 2.1 s")
				return
			}
		}
	})
}

// R38: a reset is told as one in-process too.
func TestTransportReset(t *testing.T) {
	faults := fleettest.NewFaults(fleettest.NewCluster(fleettest.Config{}))
	faults.Set(fleettest.Always(fleettest.Reset()))
	_, err := get(t.Context(), t, fleettest.Transport(faults), http.MethodGet, nil)
	assert.ErrorIs(t, err, syscall.ECONNRESET)
}
