package monitor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	headerTime = 10 * time.Second // how long a client may take for a request
	answerTime = 30 * time.Second // and for reading the answer
	closeTime  = time.Second      // how long Close waits for answers that are under way
)

var errNotLoopback = errors.New("it is not an address of this host alone")

// IsNotLoopback is true for the refusal to listen where other hosts could connect: there is neither encryption nor a login.
func IsNotLoopback(err error) bool { return errors.Is(err, errNotLoopback) }

// Server answers for a Monitor.
type Server struct {
	// Addr is the host and port that it listens on.
	Addr   string
	server *http.Server
	ended  chan struct{}
}

// Listen serves on an address, host and port, until Close. The host has to be localhost or a loopback address; port 0 stands
// for one that is free.
func (m *Monitor) Listen(address string) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %.256q: %w", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && !ip.IsLoopback() {
		return nil, fmt.Errorf("listen on %.256q: %w", address, errNotLoopback)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{
		Addr:   listener.Addr().String(),
		server: &http.Server{Handler: m.Handler(), ReadTimeout: headerTime, WriteTimeout: answerTime},
		ended:  make(chan struct{}),
	}
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(listener) // it ends with Close, and with nothing else that a listener on loopback knows
	}()
	return s, nil
}

// Close ends the server. Answers that are under way have a second to be written.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close() // what is left is cut off
	}
	<-s.ended
}
