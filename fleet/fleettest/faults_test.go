package fleettest_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// faulty is a cluster with one unit behind a layer of faults, and a client of it without a network.
func faulty(t *testing.T, faults ...fleettest.Fault) (*fleettest.Cluster, *http.Client) {
	t.Helper()
	c := fleettest.NewCluster(fleettest.Config{})
	require.NoError(t, c.Put("web.service", service, "loaded"))
	f := fleettest.NewFaults(c)
	f.Set(faults...)
	client := &http.Client{Transport: fleettest.Transport(f), CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) > 3 {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return c, client
}

func request(ctx context.Context, t *testing.T, client *http.Client, method, path string) (int, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://fleet/fleet/v1"+path, nil)
	require.NoError(t, err)
	resp, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { assert.NoError(t, resp.Body.Close()) }()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

// R38, C9: which requests a fault is about.
func TestFaultSelection(t *testing.T) {
	fail := fleettest.Fail(500, "")
	for name, row := range map[string]struct {
		fault fleettest.Fault
		want  []int
	}{
		"always":             {fleettest.Always(fail), []int{500, 500, 500, 500, 500, 500}},
		"every third":        {fleettest.Every(3, fail), []int{200, 200, 500, 200, 200, 500}},
		"every zeroth":       {fleettest.Every(0, fail), []int{500, 500, 500, 500, 500, 500}},
		"first two":          {fleettest.First(2, fail), []int{500, 500, 200, 200, 200, 200}},
		"another method":     {fleettest.On("PUT", "", fleettest.Always(fail)), []int{200, 200, 200, 200, 200, 200}},
		"another path":       {fleettest.On("GET", "/machines", fleettest.Always(fail)), []int{200, 200, 200, 200, 200, 200}},
		"method, path, some": {fleettest.On("GET", "/units", fleettest.Every(2, fail)), []int{200, 500, 200, 500, 200, 500}},
	} {
		_, client := faulty(t, row.fault)
		var codes []int
		for range row.want {
			code, body, err := request(t.Context(), t, client, "GET", "/units")
			require.NoError(t, err)
			codes = append(codes, code)
			if code == 500 {
				assert.Equal(t, failure(500, ""), body)
			}
		}
		assert.Equal(t, row.want, codes, name)
	}
}

// R38: answers that are none.
func TestFaultActions(t *testing.T) {
	_, client := faulty(t, fleettest.Always(fleettest.Truncate()))
	code, body, err := request(t.Context(), t, client, "GET", "/units")
	assert.Equal(t, 200, code)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.True(t, strings.HasPrefix(body, `{"units":[`), body)

	_, client = faulty(t, fleettest.Always(fleettest.HTML()))
	_, body, err = request(t.Context(), t, client, "GET", "/units")
	require.NoError(t, err)
	assert.Contains(t, body, "<html>")

	_, client = faulty(t, fleettest.Always(fleettest.RedirectLoop()))
	code, _, err = request(t.Context(), t, client, "GET", "/units")
	require.NoError(t, err)
	assert.Equal(t, http.StatusFound, code)

	_, client = faulty(t, fleettest.Always(fleettest.EndlessBody()))
	resp, err := client.Get("http://fleet/fleet/v1/units")
	require.NoError(t, err)
	n, err := io.CopyN(io.Discard, resp.Body, 10<<20)
	require.NoError(t, err)
	assert.EqualValues(t, 10<<20, n)
	require.NoError(t, resp.Body.Close())
}

// R38: a listing read while units come and go lacks a state of theirs, and is one for the client nevertheless.
func TestFaultTorn(t *testing.T) {
	for field, want := range map[string][2]string{"desiredState": {"loaded", "inactive"}, "currentState": {"inactive", "loaded"}} {
		_, client := faulty(t, fleettest.Always(fleettest.Torn(field)))
		_, body, err := request(t.Context(), t, client, "GET", "/units")
		require.NoError(t, err)
		assert.NotContains(t, body, field)
		assert.Contains(t, body, "web.service")
		code, body, err := request(t.Context(), t, client, "GET", "/units/none.service")
		require.NoError(t, err)
		assert.Equal(t, http.StatusNotFound, code)
		assert.Equal(t, failure(404, "unit does not exist"), body)

		c := fleettest.NewCluster(fleettest.Config{})
		require.NoError(t, c.Put("web.service", service, "loaded"))
		faults := fleettest.NewFaults(c)
		faults.Set(fleettest.Always(fleettest.Torn(field)))
		backend, err := fleet.NewFleet(fleettest.ClientConfig(faults))
		require.NoError(t, err)
		statuses, err := backend.GetStatusWithMatcher(func(string) bool { return true })
		require.NoError(t, err)
		assert.Equal(t, want, [2]string{statuses[0].Current, statuses[0].Desired})
	}
}

// R38, R10: a lost answer is a request that was carried out; a dropped one was not.
func TestFaultLostAnswers(t *testing.T) {
	c, client := faulty(t, fleettest.On("DELETE", "", fleettest.First(1, fleettest.Drop())))
	_, _, err := request(t.Context(), t, client, "DELETE", "/units/web.service")
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Len(t, c.Units(), 1)

	c, client = faulty(t, fleettest.Always(fleettest.LoseAnswer()))
	_, _, err = request(t.Context(), t, client, "DELETE", "/units/web.service")
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Empty(t, c.Units())

	c, client = faulty(t, fleettest.Always(fleettest.Truncate()))
	_, _, err = request(t.Context(), t, client, "DELETE", "/units/web.service")
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF, "an answer without body is lost whole")
	assert.Empty(t, c.Units())
}

// R38: latency and hangs take time, end with the request, and add up with other faults.
func TestFaultLatencyAndHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := faulty(t, fleettest.Always(fleettest.Latency(time.Minute)), fleettest.Every(2, fleettest.Fail(500, "")))
		for _, want := range []int{200, 500} {
			start := time.Now()
			code, _, err := request(t.Context(), t, client, "GET", "/units")
			require.NoError(t, err)
			assert.Equal(t, want, code)
			assert.Equal(t, time.Minute, time.Since(start))
		}
		for _, action := range []fleettest.Action{fleettest.Latency(time.Hour), fleettest.Hang()} {
			c, client := faulty(t, fleettest.Always(action))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			_, _, err := request(ctx, t, client, "DELETE", "/units/web.service")
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, time.Second, time.Since(start))
			assert.Len(t, c.Units(), 1)
		}
	})
}

// R38: released, what hangs is dropped, and nothing hangs any more.
func TestFaultRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleettest.NewFaults(fleettest.NewCluster(fleettest.Config{}))
		f.Set(fleettest.Always(fleettest.Hang()))
		client := &http.Client{Transport: fleettest.Transport(f)}
		time.AfterFunc(time.Hour, f.Release)
		start := time.Now()
		for range 2 {
			_, _, err := request(t.Context(), t, client, "GET", "/units")
			assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}
		assert.Equal(t, time.Hour, time.Since(start))
		f.Set()
		code, _, err := request(t.Context(), t, client, "GET", "/units")
		require.NoError(t, err)
		assert.Equal(t, 200, code)
	})
}

// C8: on one listing in n the second page is cut from a shifted list.
func TestFaultShiftPages(t *testing.T) {
	for _, resource := range []string{"units", "state"} {
		b := newBench(t, fleettest.Config{PageLimit: 2})
		for _, name := range []string{"a.service", "b.service", "c.service"} {
			require.NoError(t, b.Put(name, service, "loaded"))
		}
		faults := fleettest.NewFaults(b)
		faults.Set(fleettest.ShiftPages(b.Cluster, 3))
		shifted := &pageReader{t: t, client: &http.Client{Transport: fleettest.Transport(faults)}}
		var lists []string
		for range 6 {
			lists = append(lists, strings.Join(shifted.names(resource), " "))
		}
		assert.Equal(t, []string{
			"a b c", "a b c", "a b b c",
			"0-nobody a b c", "0-nobody a b c", "0-nobody a c",
		}, lists, resource)
	}
}
