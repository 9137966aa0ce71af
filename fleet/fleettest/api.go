package fleettest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxBody bounds the bodies of requests; a fleetd itself has no bound.
const maxBody = 64 << 20

// apiError is a refusal with its status code. A message is empty where fleetd tells none.
type apiError struct {
	code    int
	message string
}

func (e *apiError) Error() string {
	if e.message == "" {
		return http.StatusText(e.code)
	}
	return e.message
}

func refuse(code int, err error) *apiError {
	return &apiError{code: code, message: err.Error()}
}

// errInternal is every 500 of a fleetd: the message is logged there and not sent.
var errInternal = &apiError{code: http.StatusInternalServerError}

// answer is what a call comes to: a status and, where not nil, a body. The zero answer is none at all: the connection is
// closed.
type answer struct {
	code int
	body any
	// typed says that an answer without a body has a content type nevertheless.
	typed bool
}

// call answers one kind of request; item is the name behind the resource, empty for the resource itself.
type call func(r *http.Request, item string) (answer, *apiError)

// ServeHTTP answers fleet's API under /fleet/v1, and under /v1-alpha as a fleetd does. A GET of the state of a unit that
// has none panics with http.ErrAbortHandler, which closes the connection without an answer, as a fleetd does.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.count(r)
	w.Header().Set("Server", "fleetd/1.0.0")
	c.mux.ServeHTTP(w, r)
}

func newMux(c *Cluster) *http.ServeMux {
	mux := http.NewServeMux()
	for _, prefix := range []string{"/fleet/v1", "/v1-alpha"} {
		handleResource(mux, prefix+"/units", c.serveUnits, c.serveUnit)
		handleResource(mux, prefix+"/state", c.serveStates, c.serveState)
		handleResource(mux, prefix+"/machines", c.serveMachines, nil)
		handleResource(mux, prefix+"/discovery", serveDiscovery, nil)
		mux.HandleFunc(prefix, func(w http.ResponseWriter, _ *http.Request) {
			sendError(w, &apiError{code: http.StatusMethodNotAllowed})
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			sendError(w, &apiError{code: http.StatusMethodNotAllowed})
			return
		}
		sendError(w, &apiError{code: http.StatusNotFound})
	})
	return mux
}

func handleResource(mux *http.ServeMux, base string, collection, item call) {
	mux.HandleFunc(base, func(w http.ResponseWriter, r *http.Request) { serve(w, r, collection, "") })
	if item == nil {
		return
	}
	mux.HandleFunc(base+"/", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, base+"/")
		if name == "" || strings.Contains(name, "/") {
			sendError(w, &apiError{code: http.StatusNotFound})
			return
		}
		serve(w, r, item, name)
	})
}

func serve(w http.ResponseWriter, r *http.Request, c call, item string) {
	a, problem := c(r, item)
	switch {
	case problem != nil:
		sendError(w, problem)
	case a.code == 0:
		panic(http.ErrAbortHandler)
	case a.body == nil:
		if a.typed {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(a.code)
	default:
		sendJSON(w, a.code, a.body)
	}
}

func sendError(w http.ResponseWriter, problem *apiError) {
	var body struct {
		Error struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	body.Error.Code, body.Error.Message = problem.code, problem.message
	sendJSON(w, problem.code, body)
}

// sendJSON writes what always can be marshalled. That the other end has gone is no news to tell anybody.
func sendJSON(w http.ResponseWriter, code int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

func onlySupported(methods string) *apiError {
	return &apiError{code: http.StatusMethodNotAllowed, message: "only " + methods + " supported against this resource"}
}

// decode reads the first JSON value of a request's body.
func decode(r *http.Request, into any) error {
	return json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(into)
}

// checkContentType wants exactly one content type, JSON.
func checkContentType(r *http.Request) error {
	values := r.Header["Content-Type"]
	if len(values) != 1 {
		return fmt.Errorf("expected 1 Content-Type, got %d", len(values))
	}
	value, _, _ := strings.Cut(values[0], ";")
	if strings.TrimSpace(value) != "application/json" {
		return errors.New("only acceptable Content-Type is application/json")
	}
	return nil
}

func serveDiscovery(r *http.Request, _ string) (answer, *apiError) {
	if r.Method != http.MethodGet {
		return answer{}, refuse(http.StatusBadRequest, errors.New("only HTTP GET supported against this resource"))
	}
	return answer{code: http.StatusOK, body: map[string]string{
		"kind":             "discovery#restDescription",
		"discoveryVersion": "v1",
		"id":               "fleet:v1",
		"name":             "schema",
		"version":          "v1",
		"title":            "fleet API",
		"protocol":         "rest",
		"basePath":         "/fleet/v1/",
	}}, nil
}
