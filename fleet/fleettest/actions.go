package fleettest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// Latency waits before the request is passed on; a request whose context ends by then isn't, and its connection is
// closed.
func Latency(d time.Duration) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			next.ServeHTTP(w, r)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// Fail answers with an error of fleet's form, without carrying the request out. A 500 of a fleetd has an empty message.
func Fail(code int, message string) Action {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		sendError(w, &apiError{code: code, message: message})
	}
}

// Hang answers nothing until the request's context ends.
func Hang() Action {
	return func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	}
}

// Drop closes the connection without carrying the request out.
func Drop() Action {
	return func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }
}

// LoseAnswer carries the request out, and closes the connection in place of an answer.
func LoseAnswer() Action {
	return func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(newBuffer(), r)
		panic(http.ErrAbortHandler)
	}
}

// Reset resets the connection without carrying the request out; the other end sees ECONNRESET.
func Reset() Action {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if piped, ok := w.(interface{ resetConnection() }); ok {
			piped.resetConnection()
			panic(http.ErrAbortHandler)
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			// Without lingering, a close is a reset.
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
}

// Truncate carries the request out, announces the whole answer, and closes the connection after half of its body.
func Truncate() Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := newBuffer()
		next.ServeHTTP(answer, r)
		for key, values := range answer.header {
			w.Header()[key] = values
		}
		body := answer.body.Bytes()
		if len(body) > 0 {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			w.WriteHeader(answer.code)
			_, _ = w.Write(body[:len(body)/2])
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// Torn carries the request out, and leaves out of the units that the answer lists the given field, as a fleetd does that
// reads units and their states one after the other: of a unit that is being created at that moment there is no
// "desiredState" yet, of one that is being destroyed no "currentState" any more. Answers without units stay as they are.
func Torn(field string) Action {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := newBuffer()
		next.ServeHTTP(answer, r)
		text := answer.body.Bytes()
		var body map[string]any
		if json.Unmarshal(text, &body) == nil {
			units, _ := body["units"].([]any)
			for _, unit := range units {
				if unit, ok := unit.(map[string]any); ok {
					delete(unit, field)
				}
			}
			// What was just read can be written again.
			if torn, err := json.Marshal(body); err == nil {
				text = torn
			}
		}
		for key, values := range answer.header {
			w.Header()[key] = values
		}
		w.WriteHeader(answer.code)
		_, _ = w.Write(text)
	}
}

// HTML answers 200 with a page of HTML, as something that isn't fleet does.
func HTML() Action {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!DOCTYPE html>\n<html><body><h1>It works!</h1></body></html>\n")
	}
}

// RedirectLoop redirects every request to itself.
func RedirectLoop() Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Location", r.URL.RequestURI())
		w.WriteHeader(http.StatusFound)
	}
}

// EndlessBody answers 200 with a JSON document that goes on until the other end has had enough.
func EndlessBody() Action {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		_, err := io.WriteString(w, `{"units":[`)
		entry := bytes.Repeat([]byte(fmt.Sprintf(`{"name":%q},`, Nobody)), 1000)
		for err == nil && r.Context().Err() == nil {
			_, err = w.Write(entry)
		}
		panic(http.ErrAbortHandler)
	}
}

// buffer is an answer kept in memory.
type buffer struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func newBuffer() *buffer { return &buffer{header: http.Header{}, code: http.StatusOK} }

func (b *buffer) Header() http.Header         { return b.header }
func (b *buffer) WriteHeader(code int)        { b.code = code }
func (b *buffer) Write(p []byte) (int, error) { return b.body.Write(p) }
