package fleet

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"net/http"
	"net/url"
)

const (
	// maxPages is where a listing without end is given up. fleet's pages have 100 entries.
	maxPages = 10000
	// maxAhead is the last entry up to which pages are asked for before the one in front of them has come: fleetd counts
	// entries in 16 bits, and begins again at the first one behind that.
	maxAhead = 1<<16 - 1
)

// pageList is a list that fleet gives in pages.
type pageList struct {
	resource string
	query    url.Values
	// expected is how many pages it had when it was read last, 0 where that is not known.
	expected int
	// take reads a page's body and gives the token of the next page. It is called for several pages at once, and in no order;
	// for each page once with success.
	take func(page int, body []byte) (token string, err error)
}

// readPages reads a list, each page with its own repeats, and gives the number of its pages. Where a page's token is the
// number of the next, as fleet's are, pages are read side by side (see pageWindow), else one by one.
func (c *Client) readPages(ctx context.Context, list pageList) (int, error) {
	token, err := c.readPage(ctx, list, 1, "")
	if err != nil || token == "" {
		return 1, err
	}
	if limit, next, ok := parseToken(token); ok && next == 2 {
		return c.readAhead(ctx, list, limit)
	}
	return c.readOneByOne(ctx, list, 1, token)
}

// readOneByOne reads on behind the given page, whose token is given.
func (c *Client) readOneByOne(ctx context.Context, list pageList, page int, token string) (int, error) {
	seen := map[string]bool{}
	for token != "" {
		if seen[token] || page >= maxPages {
			return page, c.endless(list, page)
		}
		seen[token] = true
		page++
		var err error
		if token, err = c.readPage(ctx, list, page, token); err != nil {
			return page, err
		}
	}
	return page, nil
}

func (c *Client) endless(list pageList, page int) error {
	return c.noFleet(fmt.Errorf("GET %s: the list has no end: page %d names one read before, or is one of too many",
		apiPath+list.resource, page))
}

// readPage reads one page and gives the next one's token.
func (c *Client) readPage(ctx context.Context, list pageList, page int, token string) (next string, err error) {
	query := list.query
	if token != "" {
		query = url.Values{"nextPageToken": {token}}
		maps.Copy(query, list.query)
	}
	err = c.do(ctx, request{
		method:   http.MethodGet,
		resource: list.resource,
		query:    query,
		success:  []int{http.StatusOK},
		take: func(body []byte) (err error) {
			next, err = list.take(page, body)
			return err
		},
	})
	return next, err
}

// pageRead is what came of asking for a page.
type pageRead struct {
	page  int
	token string
	err   error
}

// readAhead reads on behind the first page, several pages side by side.
func (c *Client) readAhead(ctx context.Context, list pageList, limit int) (int, error) {
	waves, cancel := context.WithCancel(ctx)
	defer cancel()
	window := newPageWindow(limit, list.expected)
	reads := make(chan pageRead, readsAtOnce)
	for running := 0; ; running-- {
		for ; running < readsAtOnce && window.mayAsk(); running++ {
			page := window.ask()
			go func() {
				token, err := c.readPage(waves, list, page, makeToken(limit, page))
				reads <- pageRead{page, token, err}
			}()
		}
		if running == 0 {
			break
		}
		window.answered(<-reads)
		if window.failure != nil {
			cancel()
		}
	}
	switch {
	case window.failure != nil:
		return 0, window.failure
	case window.last == 0:
		return 0, c.endless(list, window.confirmed)
	case window.rest != "":
		return c.readOneByOne(ctx, list, window.last, window.rest)
	}
	return window.last, nil
}

// pageWindow says which page to ask for next. Nobody knows how many there are, so pages are asked for up to as many as
// the list had when it was read last, and behind those, or where that isn't known, twice as far with each page that is
// there. So a list of n pages costs n requests where it has as many as before, and at most readsAtOnce-1 more
// where it has not: those find an empty page.
type pageWindow struct {
	limit     int
	expected  int
	next      int              // the page to be asked for next
	early     map[int]pageRead // what came of pages before the one in front of them was answered
	confirmed int              // all pages up to this one were answered and have another behind them

	ended   bool   // there is no other page to ask for
	last    int    // the last page, 0 until all up to it were answered
	rest    string // the last page's token where it has one, which is no number then
	failure error  // of a page that is there
}

func newPageWindow(limit, expected int) *pageWindow {
	return &pageWindow{limit: limit, expected: expected, next: 2, early: map[int]pageRead{}, confirmed: 1}
}

func (w *pageWindow) mayAsk() bool {
	switch {
	case w.ended || w.next > maxPages:
		return false
	case w.next <= w.confirmed+1:
		return true
	case w.next*w.limit > maxAhead:
		return false
	case w.next <= w.expected:
		return true
	}
	// So many pages are there beyond what was known, so many may be behind them.
	return w.next-w.confirmed <= w.confirmed-max(1, min(w.expected, w.confirmed))
}

func (w *pageWindow) ask() int {
	w.next++
	return w.next - 1
}

// answered notes what came of a page. An error counts where the page is known to be there: one before it says so, or it was
// there the last time. Behind the end of the list nothing counts.
func (w *pageWindow) answered(read pageRead) {
	if w.last != 0 || w.failure != nil {
		return
	}
	w.early[read.page] = read
	if read.err != nil || read.token == "" {
		w.ended = true // those in front of it are under way, or were answered
	}
	if read.err != nil && read.page <= w.expected {
		w.failure = read.err
	}
	for w.last == 0 && w.failure == nil {
		page := w.confirmed + 1
		front, known := w.early[page]
		if !known {
			return
		}
		delete(w.early, page)
		w.pass(front)
	}
}

// pass takes the page behind those that are confirmed.
func (w *pageWindow) pass(front pageRead) {
	limit, next, ok := parseToken(front.token)
	switch {
	case front.err != nil:
		w.failure = front.err
	case ok && limit == w.limit && next == front.page+1:
		w.confirmed = front.page
	default:
		w.ended, w.last, w.rest = true, front.page, front.token
	}
}

// parseToken reads a token of fleet's: how many entries a page has, and the number of a page.
func parseToken(token string) (limit, page int, ok bool) {
	raw, err := base64.URLEncoding.DecodeString(token)
	if err != nil || len(raw) != 4 {
		return 0, 0, false
	}
	limit, page = int(binary.LittleEndian.Uint16(raw)), int(binary.LittleEndian.Uint16(raw[2:]))
	return limit, page, limit > 0 && token == makeToken(limit, page)
}

func makeToken(limit, page int) string {
	raw := binary.LittleEndian.AppendUint16(nil, uint16(limit))
	raw = binary.LittleEndian.AppendUint16(raw, uint16(page))
	return base64.URLEncoding.EncodeToString(raw)
}
