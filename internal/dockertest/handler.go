package dockertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// route is one call of the API.
type route struct {
	pattern string // of a http.ServeMux; its path has no version
	op      string // the client's method
	kind    string // of the thing named in the path
	do      func(c call) (int, any, error)
}

// call is a request, while the Swarm is locked.
type call struct {
	*http.Request
	body []byte
}

func (c call) decode(into any) error {
	if err := json.Unmarshal(c.body, into); err != nil {
		return statusf(http.StatusBadRequest, "%v", err)
	}
	return nil
}

// version is the version of what a write goes out from.
func (c call) version(kind string) (uint64, error) {
	text := c.URL.Query().Get("version")
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, statusf(http.StatusBadRequest, "invalid %s version '%s': %v", kind, text, err)
	}
	return version, nil
}

func (s *Swarm) routes() http.Handler {
	mux := http.NewServeMux()
	for _, routes := range [][]route{
		s.systemRoutes(), s.serviceRoutes(), s.taskRoutes(), s.networkRoutes(),
		s.objectRoutes("config", "Config", s.configs), s.objectRoutes("secret", "Secret", s.secrets),
	} {
		for _, r := range routes {
			mux.HandleFunc(r.pattern, func(w http.ResponseWriter, req *http.Request) { s.serve(w, req, r) })
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 0, nil, statusf(http.StatusNotFound, "page not found"))
	})
	return versioned(mux)
}

var versionedPath = regexp.MustCompile(`^/v(\d+)\.(\d+)(/.*)$`)

// versioned takes the API's version off the path.
func versioned(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := versionedPath.FindStringSubmatch(r.URL.Path)
		if parts == nil {
			next.ServeHTTP(w, r)
			return
		}
		major, _ := strconv.Atoi(parts[1])
		minor, _ := strconv.Atoi(parts[2])
		if major != 1 || minor > 41 {
			answer(w, 0, nil, statusf(http.StatusBadRequest,
				"client version %s.%s is too new. Maximum supported API version is %s", parts[1], parts[2], APIVersion))
			return
		}
		plain := r.Clone(r.Context())
		plain.URL.Path, plain.URL.RawPath = parts[3], ""
		next.ServeHTTP(w, plain)
	})
}

// serve answers one request.
func (s *Swarm) serve(w http.ResponseWriter, r *http.Request, to route) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	isWrite := r.Method == http.MethodPost || r.Method == http.MethodDelete
	op := s.opOf(to, r, body)
	err = s.faults.meet(op, to.pattern, isWrite)
	var status *StatusError
	switch {
	case errors.As(err, &status):
		answer(w, 0, nil, err)
		return
	case errors.Is(err, ErrHang):
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case err != nil && !errors.Is(err, ErrLost):
		panic(http.ErrAbortHandler)
	}
	lost := err != nil
	code, reply, err := s.do(call{r, body}, to)
	if lost {
		panic(http.ErrAbortHandler)
	}
	if err == nil && isWrite {
		s.faults.wrote(op)
	}
	answer(w, code, reply, err)
}

// do calls the route with the Swarm locked, and has its answer encoded before that ends.
func (s *Swarm) do(c call, to route) (int, []byte, error) {
	defer s.lock()()
	status, value, err := to.do(c)
	if err != nil || value == nil {
		return status, nil, err
	}
	if text, ok := value.(string); ok {
		return status, []byte(text), nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return 0, nil, fmt.Errorf("encode: %w", err)
	}
	return status, append(data, '\n'), nil
}

// opOf names a call and what it is about: "ServiceUpdate shop_web".
func (s *Swarm) opOf(to route, r *http.Request, body []byte) string {
	key := r.PathValue("id")
	switch {
	case key != "":
		key = s.nameOf(to.kind, key)
	case strings.HasSuffix(to.op, "Create"):
		var named struct{ Name string }
		_ = json.Unmarshal(body, &named) // what does not decode has no name
		key = named.Name
	}
	return strings.TrimSpace(to.op + " " + key)
}

func answer(w http.ResponseWriter, code int, body []byte, err error) {
	w.Header().Set("Api-Version", APIVersion)
	w.Header().Set("Ostype", "linux")
	w.Header().Set("Server", "Docker/"+engineVersion+" (linux)")
	if err != nil {
		code = http.StatusInternalServerError
		var status *StatusError
		if errors.As(err, &status) {
			code = status.Status
		}
		body, _ = json.Marshal(map[string]string{"message": err.Error()}) // strings always encode
	}
	if len(body) > 0 {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(code)
	_, _ = w.Write(body) // a client that is gone does not need it
}
