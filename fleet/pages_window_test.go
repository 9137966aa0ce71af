package fleet

import (
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTokens(t *testing.T) {
	limit, page, ok := parseToken("ZAACAA==")
	assert.Equal(t, [3]any{100, 2, true}, [3]any{limit, page, ok}, "as a real fleetd writes it")
	assert.Equal(t, "ZAACAA==", makeToken(100, 2))
	for _, token := range []string{"", "1", "12345678", "ZAACAA", "ZAACAA==\n", "AAACAA==", "ZAACAAA=", "ZAACAB==", "????????"} {
		_, _, ok := parseToken(token)
		assert.False(t, ok, token)
	}
}

func FuzzToken(f *testing.F) {
	f.Add("ZAACAA==")
	f.Fuzz(func(t *testing.T, token string) {
		if limit, page, ok := parseToken(token); ok {
			assert.Equal(t, token, makeToken(limit, page))
		}
	})
}

// R20: whatever the order of the answers, each page is asked for once, none is left out, and few beyond the end.
func TestPageWindow(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		total, expected := 2+random.IntN(60), random.IntN(60)
		limit := []int{1, 100, 5000, 65535}[random.IntN(4)]
		window := newPageWindow(limit, expected)
		asked := map[int]bool{1: true}
		var running []int
		for {
			for len(running) < readsAtOnce && window.mayAsk() {
				page := window.ask()
				require.False(t, asked[page])
				if page*limit > maxAhead {
					require.Empty(t, running, "behind what fleetd can count, one by one")
				}
				asked[page] = true
				running = append(running, page)
			}
			if len(running) == 0 {
				break
			}
			at := random.IntN(len(running))
			page := running[at]
			running = slices.Delete(running, at, at+1)
			if page < total {
				window.answered(pageRead{page: page, token: makeToken(limit, page+1)})
			} else {
				window.answered(pageRead{page: page})
			}
		}
		require.True(t, window.ended)
		require.Equal(t, total, window.last)
		require.Empty(t, window.rest)
		for page := 1; page <= total; page++ {
			require.True(t, asked[page], "page %d of %d", page, total)
		}
		require.LessOrEqual(t, len(asked), total+readsAtOnce-1)
		if expected == total {
			require.Len(t, asked, total)
		}
	}
}

// R20: of an error it counts whether its page is one of the list, whatever the order of the answers.
func TestPageWindowWithErrors(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	failures := 0
	for range 3000 {
		total, expected, bad := 2+random.IntN(30), random.IntN(30), 2+random.IntN(40)
		window := newPageWindow(10, expected)
		var running []int
		for {
			for len(running) < readsAtOnce && window.mayAsk() {
				running = append(running, window.ask())
			}
			if len(running) == 0 {
				break
			}
			at := random.IntN(len(running))
			read := pageRead{page: running[at]}
			running = slices.Delete(running, at, at+1)
			switch {
			case read.page == bad:
				read.err = errTemporary
			case read.page < total:
				read.token = makeToken(10, read.page+1)
			}
			window.answered(read)
		}
		if bad <= total {
			require.ErrorIs(t, window.failure, errTemporary)
			failures++
		} else if bad > expected {
			require.NoError(t, window.failure)
		}
		if window.failure == nil {
			require.Equal(t, total, window.last)
		}
	}
	assert.Greater(t, failures, 300)
}

// tokens serves pages of one machine each, whose tokens a function makes up; it sees what is asked for.
type tokens struct {
	mutex sync.Mutex
	asked []string
	next  func(token string) string
}

func (s *tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	token := r.URL.Query().Get("nextPageToken")
	s.asked = append(s.asked, token)
	answer(w, http.StatusOK, machinePage{Machines: []wireMachine{{ID: "m" + token}}, NextPageToken: s.next(token)})
}

func TestTokensThatAreNoPageNumbers(t *testing.T) {
	for name, row := range map[string][]string{
		"words":              {"", "one", "two", "three"},
		"another limit":      {"", makeToken(1, 2), makeToken(2, 3), makeToken(2, 4)},
		"a page left out":    {"", makeToken(1, 2), makeToken(1, 4), makeToken(1, 5)},
		"begins at another":  {"", makeToken(1, 3), makeToken(1, 4)},
		"words from then on": {"", makeToken(1, 2), makeToken(1, 3), "three", "four", "five"},
	} {
		server := &tokens{next: func(token string) string {
			at := slices.Index(row, token)
			if at < 0 || at+1 == len(row) {
				return ""
			}
			return row[at+1]
		}}
		found, err := clientOn(t, inProcess(server), Config{}).ReadMachines(t.Context())
		require.NoError(t, err)
		var ids []string
		for _, machine := range found {
			ids = append(ids, machine.ID)
		}
		for _, token := range row {
			assert.Contains(t, ids, "m"+token, name)
		}
		assert.LessOrEqual(t, len(server.asked), len(row)+readsAtOnce-1, name)
	}
}

func TestNumberedPagesWithoutEnd(t *testing.T) {
	for _, next := range []func(int) int{
		func(page int) int { return page + 1 },
		func(page int) int { return page%7 + 1 },
		func(page int) int { return 2 },
	} {
		server := &tokens{next: func(token string) string {
			_, page, ok := parseToken(token)
			if !ok {
				page = 1
			}
			return makeToken(1, next(page))
		}}
		_, err := clientOn(t, inProcess(server), Config{}).ReadMachines(t.Context())
		assert.ErrorContains(t, err, "has no end")
		assert.True(t, IsInvalidEndpoint(err))
		assert.LessOrEqual(t, len(server.asked), maxPages+readsAtOnce)
	}
}

// R28: a page whose body breaks off is asked for again, and what it had is not taken twice.
func TestTruncatedPageIsReadAgain(t *testing.T) {
	var mutex sync.Mutex
	broken := map[string]bool{}
	fleetd := &tokens{next: func(token string) string {
		_, page, ok := parseToken(token)
		switch {
		case !ok:
			return makeToken(1, 2)
		case page < 20:
			return makeToken(1, page+1)
		}
		return ""
	}}
	client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.URL.Query().Get("nextPageToken")
		mutex.Lock()
		first := !broken[token]
		broken[token] = true
		mutex.Unlock()
		if first {
			_, _ = w.Write([]byte(`{"machines":[{"id":"x"},{"id":"y`))
			return
		}
		if _, page, _ := parseToken(token); page > 20 {
			answer(w, http.StatusOK, machinePage{})
			return
		}
		fleetd.ServeHTTP(w, r)
	})), Config{RetryWait: time.Microsecond})
	found, err := client.ReadMachines(t.Context())
	require.NoError(t, err)
	assert.Len(t, found, 20)
}

// R20: what is asked for beyond the end of a list, because nobody knows how long it is, does not fail the listing: no page
// is there that could be missing.
func TestErrorsBeyondTheEndDoNotCount(t *testing.T) {
	const last = 6
	synctest.Test(t, func(t *testing.T) {
		fleetd := &tokens{next: func(token string) string {
			_, page, _ := parseToken(token)
			if page = max(page, 1); page == last {
				return ""
			}
			return makeToken(1, page+1)
		}}
		var refused atomic.Int32
		client := clientOn(t, inProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, page, _ := parseToken(r.URL.Query().Get("nextPageToken")); page > last {
				refused.Add(1)
				fail(w, http.StatusBadRequest, "no such page")
				return
			}
			time.Sleep(time.Millisecond) // so that what is beyond is answered first
			fleetd.ServeHTTP(w, r)
		})), Config{})
		found, err := client.ReadMachines(t.Context())
		require.NoError(t, err)
		assert.Len(t, found, last)
		assert.Positive(t, refused.Load())
	})
}
