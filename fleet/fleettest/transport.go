package fleettest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"syscall"

	"github.com/squadronctl/squadron/fleet"
)

// Transport reaches a handler without any network: requests are answered by calls of the handler, each in a goroutine of
// its own. It keeps no connections and needs no Close, and it works in testing/synctest bubbles.
//
// A round trip ends with the request's context, whatever the handler does; the handler's own context ends then too, and
// when the response's body is closed. A handler that panics with http.ErrAbortHandler gives io.ErrUnexpectedEOF, from the
// round trip where nothing was answered yet and from the body otherwise, and any other panic an error with its text.
func Transport(h http.Handler) http.RoundTripper {
	return &transport{handler: h}
}

// ClientConfig gives the fleet.Config of a client that reaches a handler, such as a Cluster or Faults over one, by
// Transport.
func ClientConfig(h http.Handler) fleet.Config {
	return fleet.Config{
		Client:   &http.Client{Transport: Transport(h)},
		Endpoint: url.URL{Scheme: "http", Host: "fleettest"},
	}
}

type transport struct {
	handler http.Handler
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	incoming, err := incomingRequest(ctx, r)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		closeBody(r)
		return nil, err
	}
	reader, writer := io.Pipe()
	// Neither a reader of the body nor a handler whose response nobody reads may outwait the context.
	stop := context.AfterFunc(ctx, func() { writer.CloseWithError(ctx.Err()) })
	w := &pipedWriter{
		method: r.Method, header: http.Header{}, pipe: writer, began: make(chan struct{}), failed: make(chan struct{}),
	}
	body := &pipedBody{PipeReader: reader, finish: func() { stop(); cancel() }}
	go t.run(w, incoming, cancel)
	select {
	case <-w.began:
		return w.response(r, body), nil
	case <-w.failed:
		err = w.failure
	case <-ctx.Done():
		// The handler's return ends the context too, so an answer may stand beside the end.
		select {
		case <-w.began:
			return w.response(r, body), nil
		case <-w.failed:
			err = w.failure
		default:
		}
	}
	// Nobody reads what the handler may write yet. That alone ends its writes: finish may come before what ctx sets off.
	_ = body.Close() // always nil
	if r.Context().Err() != nil {
		err = r.Context().Err()
	}
	return nil, err
}

// run is the handler's goroutine. It ends with the handler.
func (t *transport) run(w *pipedWriter, r *http.Request, cancel func()) {
	defer cancel()
	defer closeBody(r)
	defer func() {
		if p := recover(); p != nil {
			w.fail(r.Context(), p)
			return
		}
		w.end(r.Context())
	}()
	t.handler.ServeHTTP(w, r)
}

// incomingRequest is the request as a server would see it.
func incomingRequest(ctx context.Context, r *http.Request) (*http.Request, error) {
	uri := r.URL.RequestURI()
	target, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil, fmt.Errorf("request %q: %w", uri, err)
	}
	incoming := r.Clone(ctx)
	incoming.URL, incoming.RequestURI = target, uri
	incoming.Proto, incoming.ProtoMajor, incoming.ProtoMinor = "HTTP/1.1", 1, 1
	incoming.RemoteAddr = "192.0.2.254:1"
	if incoming.Host == "" {
		incoming.Host = r.URL.Host
	}
	if incoming.Body == nil {
		incoming.Body = http.NoBody
	}
	return incoming, nil
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		// A request's body is only read; what closing it says is of no use to anybody.
		_ = r.Body.Close()
	}
}

// pipedBody is a response's body that ends the handler's context when it is closed.
type pipedBody struct {
	*io.PipeReader
	finish func()
}

func (b *pipedBody) Close() error {
	defer b.finish()
	return b.PipeReader.Close()
}

// pipedWriter is the http.ResponseWriter of one request. It belongs to the handler's goroutine; the round trip reads
// status and sent once began is closed, and failure once failed is.
type pipedWriter struct {
	method string
	header http.Header
	pipe   *io.PipeWriter

	status  int
	sent    http.Header // the header as it was when the response began
	length  int64       // the declared length of the body; -1 for none
	written int64
	began   chan struct{}

	wasReset bool
	failure  error
	failed   chan struct{}
}

// Header implements http.ResponseWriter.
func (w *pipedWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *pipedWriter) WriteHeader(status int) {
	if w.status != 0 || status < 200 {
		return
	}
	w.status = status
	w.sent = w.header.Clone()
	w.length = -1
	if n, err := strconv.ParseInt(w.sent.Get("Content-Length"), 10, 64); err == nil && n >= 0 {
		w.length = n
	}
	close(w.began)
}

// Write implements http.ResponseWriter.
func (w *pipedWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.method == http.MethodHead {
		return len(p), nil
	}
	if w.status == http.StatusNoContent || w.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	if w.length >= 0 && w.written+int64(len(p)) > w.length {
		return 0, http.ErrContentLength
	}
	n, err := w.pipe.Write(p)
	w.written += int64(n)
	return n, err
}

// Flush implements http.Flusher: a response begins with its first write or here.
func (w *pipedWriter) Flush() { w.WriteHeader(http.StatusOK) }

// resetConnection makes the end of the handler look like a reset by the peer.
func (w *pipedWriter) resetConnection() { w.wasReset = true }

// end is a handler that returned. A body shorter than declared ends like a broken connection; what was still open when
// the context ended, ends like that.
func (w *pipedWriter) end(ctx context.Context) {
	err := ctx.Err()
	if err != nil && w.status == 0 {
		w.refuse(err)
		return
	}
	w.WriteHeader(http.StatusOK)
	if err == nil && w.length > w.written && w.method != http.MethodHead {
		err = io.ErrUnexpectedEOF
	}
	_ = w.pipe.CloseWithError(err) // always nil
}

// fail is a handler that panicked.
func (w *pipedWriter) fail(ctx context.Context, p any) {
	switch {
	case ctx.Err() != nil:
		w.refuse(ctx.Err())
	case w.wasReset:
		w.refuse(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})
	case p == http.ErrAbortHandler:
		w.refuse(io.ErrUnexpectedEOF)
	default:
		w.refuse(fmt.Errorf("handler panicked: %v", p))
	}
}

// refuse ends the round trip with an error, or the body where the response has begun.
func (w *pipedWriter) refuse(err error) {
	_ = w.pipe.CloseWithError(err) // always nil
	if w.status == 0 {
		w.failure = err
		close(w.failed)
	}
}

// response is what the round trip returns.
func (w *pipedWriter) response(r *http.Request, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status:     fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode: w.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        w.sent,
		Body:          body,
		ContentLength: w.length,
		Request:       r,
	}
}
