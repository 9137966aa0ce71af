package fleet

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// failing answers every nth call of a method with an empty 500 before the cluster sees it.
func failing(next http.Handler, nth int64) http.Handler {
	var calls atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1)%nth == 0 {
			fail(w, http.StatusInternalServerError, "")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// C9, first half; R29.
func TestEveryThirdCallFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleetd := &cluster{}
		client := clientOn(t, inProcess(failing(fleetd, 3)), Config{})
		ctx := t.Context()
		for _, name := range []string{"a.service", "b.service", "c.service", "d.service"} {
			require.NoError(t, client.Submit(ctx, name, webContent))
			require.NoError(t, client.Start(ctx, name))
			_, err := client.GetStatus(ctx, name)
			require.NoError(t, err)
			_, err = client.ReadUnits(ctx, Selector{})
			require.NoError(t, err)
			require.NoError(t, client.Stop(ctx, name))
			require.NoError(t, client.Destroy(ctx, name))
		}
		assert.Empty(t, fleetd.units)
	})
}

// C9, second half.
func TestEveryCallFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientOn(t, inProcess(failing(&cluster{}, 1)), Config{})
		for text, err := range map[string]error{
			"submit web@1.service: PUT /fleet/v1/units/web@1.service: 500 Internal Server Error":     client.Submit(t.Context(), "web@1.service", webContent),
			"start web@1.service: PUT /fleet/v1/units/web@1.service: 500 Internal Server Error":      client.Start(t.Context(), "web@1.service"),
			"destroy web@1.service: DELETE /fleet/v1/units/web@1.service: 500 Internal Server Error": client.Destroy(t.Context(), "web@1.service"),
		} {
			assert.EqualError(t, err, text)
			assert.True(t, IsTemporary(err))
			var answer *APIError
			require.True(t, errors.As(err, &answer))
			assert.Equal(t, 500, answer.StatusCode)
			assert.Equal(t, "web@1.service", answer.Unit)
		}
		_, err := client.ReadUnits(t.Context(), Selector{})
		assert.ErrorContains(t, err, "500 Internal Server Error")
	})
}

// R29: pauses double up to a bound, and at most half of one is left out.
func TestPausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			at = append(at, time.Now())
			fail(w, http.StatusServiceUnavailable, "")
		})), Config{Retries: 8, RetryWait: 100 * time.Millisecond})
		require.Error(t, client.Start(t.Context(), "a.service"))
		require.Len(t, at, 9)
		longest := 100 * time.Millisecond
		for i := 1; i < len(at); i++ {
			pause := at[i].Sub(at[i-1])
			assert.LessOrEqual(t, pause, longest)
			assert.GreaterOrEqual(t, pause, longest/2)
			longest = min(2*longest, 5*time.Second)
		}
	})
}

func TestPausesVary(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		seen[retryPause(time.Second, 2)] = true
	}
	assert.Greater(t, len(seen), 10)
	assert.LessOrEqual(t, retryPause(time.Hour, 0), time.Hour)
}

func TestRetriesBelowZeroMeanNone(t *testing.T) {
	calls := 0
	client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		fail(w, http.StatusServiceUnavailable, "")
	})), Config{Retries: -1})
	require.Error(t, client.Start(t.Context(), "a.service"))
	assert.Equal(t, 1, calls)
}

// R29: what a repeat can't cure is not repeated.
func TestLastingErrorsAreNotRepeated(t *testing.T) {
	for _, status := range []int{400, 404, 409, 415} {
		calls := 0
		client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls++
			fail(w, status, "")
		})), Config{})
		require.Error(t, client.Start(t.Context(), "a.service"))
		assert.Equal(t, 1, calls, status)
	}
}

// R29.
func TestDeleteWhoseAnswerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleetd := &cluster{units: []wireUnit{{Name: "a.service"}}}
		lost := false
		client := clientOn(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			response, err := inProcess(fleetd)(r)
			if !lost {
				lost = true
				return nil, errors.Join(errors.New("read"), context.DeadlineExceeded)
			}
			return response, err
		}), Config{})
		require.NoError(t, client.Destroy(t.Context(), "a.service"))
		assert.Empty(t, fleetd.units)
		assert.True(t, IsUnitNotFound(client.Destroy(t.Context(), "a.service")), "no attempt lost")
	})
}

// Of a read, a 404 on a repeat is what it says.
func TestReadThatFindsNothingOnARepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			calls++
			fail(w, map[bool]int{true: 500, false: 404}[calls == 1], "")
		})), Config{})
		_, err := client.ReadContent(t.Context(), "a.service")
		assert.True(t, IsUnitNotFound(err), "%v", err)
	})
}

// hangs answers the first n requests never.
func hangs(n int64, next http.Handler) roundTrip {
	var calls atomic.Int64
	return func(r *http.Request) (*http.Response, error) {
		if calls.Add(1) <= n {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		return inProcess(next)(r)
	}
}

// R28: a server that hangs is cut off and asked again.
func TestHangingServerIsCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		client := clientOn(t, hangs(1, &cluster{}), Config{RequestTimeout: 3 * time.Second})
		require.NoError(t, client.Submit(t.Context(), "a.service", webContent))
		assert.GreaterOrEqual(t, time.Since(begin), 3*time.Second)
		assert.Less(t, time.Since(begin), 4*time.Second)
	})
}

func TestServerThatHangsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientOn(t, hangs(1000, nil), Config{Retries: 2})
		begin := time.Now()
		err := client.Start(t.Context(), "a.service")
		assert.True(t, IsTemporary(err))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "start a.service: PUT /fleet/v1/units/a.service: no answer in time")
		assert.GreaterOrEqual(t, time.Since(begin), 90*time.Second, "three times the default of 30 s")
	})
}

// R29: within the context, whether it ends in a request or in a pause.
func TestRepeatsEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
		defer cancel()
		client := clientOn(t, hangs(1000, nil), Config{})
		begin := time.Now()
		err := client.Start(ctx, "a.service")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.False(t, IsTemporary(err), "the caller's own deadline")
		assert.Equal(t, 45*time.Second, time.Since(begin))
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		client := clientOn(t, inProcess(failing(nil, 1)), Config{RetryWait: time.Hour})
		begin := time.Now()
		err := client.Start(ctx, "a.service")
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, "500 Internal Server Error", "why it had to wait")
		assert.Equal(t, time.Second, time.Since(begin))
	})
}

// R44: Close ends a pause, too.
func TestCloseEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientOn(t, inProcess(failing(nil, 1)), Config{RetryWait: time.Hour})
		time.AfterFunc(time.Second, func() { client.Close() })
		begin := time.Now()
		require.Error(t, client.Start(t.Context(), "a.service"))
		assert.Equal(t, time.Second, time.Since(begin))
	})
}

// GetStatusWithMatcher has no context, and yet an end; running into it is temporary.
func TestMatcherHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := clientOn(t, hangs(1000, nil), Config{RequestTimeout: time.Hour})
		begin := time.Now()
		_, err := client.GetStatusWithMatcher(func(string) bool { return true })
		assert.True(t, IsTemporary(err), "%v", err)
		assert.Equal(t, 2*time.Minute, time.Since(begin))
	})
}
