package fleettest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/squadronctl/squadron/fleet"
)

// closeReportEvery is how often Close says what it is waiting for.
const closeReportEvery = 5 * time.Second

// Server is a Cluster behind a listener, with a layer of Faults between. Close it when done.
type Server struct {
	// URL is where the API is: http://127.0.0.1:port, or unix:///path. It is empty until the server is started.
	URL string
	// Cluster is the cluster behind the listener.
	Cluster *Cluster
	// Faults is the layer over the cluster, without a fault at first.
	Faults *Faults

	config Config
	client fleet.Fleet
	http   *http.Server
	served chan struct{} // closed when the listener's goroutine has ended; nil until started
	report time.Duration // closeReportEvery

	mu      sync.Mutex
	closed  bool
	fresh   map[net.Conn]bool // connections that have not sent a request yet
	working map[*http.Request]bool
}

// NewServer starts a server on a free port of the loopback interface. Like httptest.NewServer it panics where there is
// none to be had; NewUnstartedServer and Start tell it by an error.
func NewServer(config Config) *Server {
	s := NewUnstartedServer(config)
	if err := s.Start(); err != nil {
		panic(fmt.Sprintf("fleettest: %v", err))
	}
	return s
}

// NewUnstartedServer makes a server that nobody can reach yet. Until it is started there is nothing to close.
func NewUnstartedServer(config Config) *Server {
	cluster := NewCluster(config)
	s := &Server{
		Cluster: cluster,
		Faults:  NewFaults(cluster),
		config:  config,
		report:  closeReportEvery,
		fresh:   map[net.Conn]bool{},
		working: map[*http.Request]bool{},
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ConnState:         s.connState,
		ErrorLog:          log.New(logWriter{config.Log}, "", 0),
		ReadHeaderTimeout: time.Minute,
	}
	return s
}

// Start begins to serve on a free port of the loopback interface. It returns when the server can be reached. A server can
// be started once.
func (s *Server) Start() error {
	return s.start("tcp", "127.0.0.1:0")
}

// StartUnix begins to serve on a unix socket, which it makes at the absolute path and removes on Close. It returns when
// the server can be reached. A server can be started once.
func (s *Server) StartUnix(path string) error {
	return s.start("unix", path)
}

func (s *Server) start(network, address string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.served != nil || s.closed {
		return errors.New("start server: it was started or closed before")
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	where := url.URL{Scheme: "http", Host: listener.Addr().String()}
	if network == "unix" {
		where = url.URL{Scheme: "unix", Path: address}
	}
	client, err := fleet.NewFleet(fleet.Config{Endpoint: where})
	if err != nil {
		_ = listener.Close()
		return fmt.Errorf("start server: %w", err)
	}
	s.URL, s.client, s.served = where.String(), client, make(chan struct{})
	go func() {
		defer close(s.served)
		// Serve returns when the listener is closed, which only Close does.
		_ = s.http.Serve(listener)
	}()
	return nil
}

// Endpoint is URL in the form that fleet.Config takes.
func (s *Server) Endpoint() url.URL {
	where, err := url.Parse(s.URL)
	if err != nil {
		return url.URL{}
	}
	return *where
}

// Client gives a client of the server that is ready for use, always the same one; Close closes it. It is nil until the
// server is started.
func (s *Server) Client() fleet.Fleet { return s.client }

// Close ends what hangs, waits for the requests under way, and leaves no connection and no goroutine. Every 5 s it tells
// Config.Log what it is still waiting for. Closing again, or a server that was never started, does nothing.
func (s *Server) Close() {
	s.mu.Lock()
	served := s.served
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	s.Faults.Release()
	if again || served == nil {
		return
	}
	if closer, ok := s.client.(io.Closer); ok {
		if err := closer.Close(); err != nil {
			s.log(fmt.Sprintf("fleettest: close the client: %v", err))
		}
	}
	s.closeFresh()
	for s.shutdown() != nil {
		s.log("fleettest: Close is waiting for " + s.underWay())
	}
	<-served
}

func (s *Server) shutdown() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.report)
	defer cancel()
	return s.http.Shutdown(ctx)
}

// closeFresh closes the connections on which no request was begun: http.Server would wait for one for a while.
func (s *Server) closeFresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.fresh {
		_ = conn.Close()
	}
}

func (s *Server) connState(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state != http.StateNew {
		delete(s.fresh, conn)
		return
	}
	s.fresh[conn] = true
	if s.closed {
		_ = conn.Close()
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.working[r] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.working, r)
	}()
	s.Faults.ServeHTTP(w, r)
}

func (s *Server) underWay() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var requests []string
	for r := range s.working {
		requests = append(requests, r.Method+" "+r.URL.RequestURI())
	}
	if len(requests) == 0 {
		return "connections to close"
	}
	slices.Sort(requests)
	return strings.Join(requests, ", ")
}

func (s *Server) log(line string) {
	if s.config.Log != nil {
		s.config.Log(line)
	}
}

// logWriter hands the lines of http.Server to a function.
type logWriter struct {
	log func(string)
}

func (w logWriter) Write(p []byte) (int, error) {
	if w.log != nil {
		w.log(strings.TrimSuffix(string(p), "\n"))
	}
	return len(p), nil
}
