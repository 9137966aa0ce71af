package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/squadronctl/squadron/internal/errmask"
)

// maxErrorSize is how much of a failure's answer is read: fleet's own are one line.
const maxErrorSize = 64 << 10

// maxNameSize is how long a unit's name may be for fleet.
const maxNameSize = 256

// request is one call of fleet's API.
type request struct {
	method   string
	resource string // units, state, machines
	unit     string // the unit in the path, if any
	query    url.Values
	body     any
	// success are the statuses that fleet answers when the call was carried out.
	success []int
	// take reads a success's body; nil where there is none to read.
	take func(body []byte) error
}

// checkName refuses names that can't be a unit's or would lead out of the path of units.
func checkName(name string) error {
	problem := ""
	switch {
	case name == "":
		problem = "is empty"
	case len(name) > maxNameSize:
		name = name[:32] + "…"
		problem = fmt.Sprintf("has more than %d characters", maxNameSize)
	case name == "." || name == ".." || strings.ContainsRune(name, '/'):
		problem = "is a path"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		problem = "has a control character"
	default:
		return nil
	}
	return withClass(errInvalidRequest, fmt.Errorf("unit name %q %s", name, problem))
}

// attempt sends a request once. Its error names the call.
func (c *Client) attempt(ctx context.Context, r request) error {
	c.running.RLock()
	defer c.running.RUnlock()
	target := c.endpoint.target(r.resource, r.unit, r.query)
	err := c.send(ctx, r, target)
	var answer *APIError
	if errors.As(err, &answer) {
		return err
	}
	return errmask.Maskf(err, "%s %s", r.method, target.Path)
}

func (c *Client) send(ctx context.Context, r request, target *url.URL) error {
	limited, cancel := context.WithTimeout(ctx, c.requestTimeout)
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()

	httpRequest, err := newHTTPRequest(limited, r, target)
	if err != nil {
		return err
	}
	if c.closing.Err() != nil {
		return c.connectionError(ctx, c.closing.Err())
	}
	response, err := c.http.Do(httpRequest)
	if err != nil {
		return c.connectionError(ctx, err)
	}
	defer response.Body.Close()
	if !slices.Contains(r.success, response.StatusCode) {
		return c.failure(ctx, r, target, response)
	}
	body, err := c.readBody(response.Body)
	if err != nil {
		return c.connectionError(ctx, err)
	}
	if r.take == nil {
		return nil
	}
	return c.answerError(r.take(body), response)
}

func newHTTPRequest(ctx context.Context, r request, target *url.URL) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		text, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	httpRequest, err := http.NewRequestWithContext(ctx, r.method, "", body)
	if err != nil {
		return nil, err
	}
	httpRequest.URL = target
	httpRequest.Host = target.Host
	httpRequest.Header.Set("Accept", "application/json")
	httpRequest.Header.Set("User-Agent", "squadron")
	if r.body != nil {
		httpRequest.Header.Set("Content-Type", "application/json")
	}
	return httpRequest, nil
}

// readBody reads to the end, so that the connection can serve again, and gives up on a body that is too large.
func (c *Client) readBody(body io.Reader) ([]byte, error) {
	var text bytes.Buffer
	_, err := text.ReadFrom(io.LimitReader(body, c.maxBodySize+1))
	if err == nil && int64(text.Len()) > c.maxBodySize {
		err = fmt.Errorf("the answer has more than %d bytes", c.maxBodySize)
	}
	return text.Bytes(), err
}

// failure reads an answer that reports a failure. What has not the form of fleet's comes from something else, whose 404
// must not be taken for a unit that is not there.
func (c *Client) failure(ctx context.Context, r request, target *url.URL, response *http.Response) error {
	body, broken := io.ReadAll(io.LimitReader(response.Body, maxErrorSize))
	answer := &APIError{Method: r.method, Path: target.Path, Unit: r.unit, StatusCode: response.StatusCode}
	var wire wireError
	if decode(body, &wire) == nil && wire.Error != nil {
		answer.Message = strings.TrimSpace(wire.Error.Message)
		return answer
	}
	aboutUnit := response.StatusCode == http.StatusNotFound || response.StatusCode == http.StatusConflict
	if broken != nil && !IsTemporary(answer) {
		// What was on its way may be anybody's words, or that a unit is not there, with a meaning of its own.
		return c.connectionError(ctx, errmask.Maskf(broken, "truncated answer %d", response.StatusCode))
	}
	if r.unit != "" && aboutUnit && len(body) == 0 {
		return answer // a proxy may drop fleet's few words; other servers have some of their own
	}
	if location := response.Header.Get("Location"); location != "" {
		answer.Message = fmt.Sprintf("redirected to %q", location)
	} else if title := pageTitle(body); title != "" {
		answer.Message = fmt.Sprintf("a page of HTML, %q", title)
	}
	if IsTemporary(answer) {
		return answer
	}
	// Not answer itself: what something else means by its status is unknown.
	return c.noFleet(errors.New(answer.Error()))
}

var titleElement = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title`)

// maxTitle is how many characters of a page's title are passed on.
const maxTitle = 200

// pageTitle gives the title of a page of HTML, where proxies say what is wrong, such as a client certificate that is missing.
func pageTitle(body []byte) string {
	found := titleElement.FindSubmatch(body)
	if found == nil {
		return ""
	}
	title := []rune(strings.Join(strings.Fields(html.UnescapeString(string(found[1]))), " "))
	return string(title[:min(len(title), maxTitle)])
}

// answerError explains why a success's body could not be read.
func (c *Client) answerError(err error, response *http.Response) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errmask.Maskf(err, "truncated answer")
	case IsInvalidUnitStatus(err):
		return err
	}
	return c.noFleet(errmask.Maskf(err, "answer of type %q", response.Header.Get("Content-Type")))
}

// noFleet says that something at the endpoint speaks, but not fleet's API.
func (c *Client) noFleet(err error) error {
	return withClass(errInvalidEndpoint, errmask.Maskf(err, "what answers at %s is no fleet API", c.endpoint.text))
}

// endedUnused is what net/http says of a connection that the server ended before it took the request. It has no types for
// that, and sends only some requests again by itself.
var endedUnused = []string{"http: server closed idle connection", "http2: client conn could not be established"}

// connectionError classifies what net/http reports. ctx is the caller's, not the one of the request's own deadline.
func (c *Client) connectionError(ctx context.Context, err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	switch {
	case ctx.Err() != nil:
		return withClass(ctx.Err(), context.Cause(ctx))
	case c.closing.Err() != nil:
		return errmask.Maskf(net.ErrClosed, "fleet client is closed")
	case errors.Is(err, context.DeadlineExceeded):
		return withClass(errTemporary, errmask.Maskf(err, "no answer in time"))
	case errors.Is(err, io.EOF), errmask.Find(err, func(e error) bool { return slices.Contains(endedUnused, e.Error()) }):
		return withClass(errTemporary, err)
	default:
		return err
	}
}
