// Command greet is an HTTP server that systemd hands its socket. It answers with $GREETING; with ?wait=1s it takes that
// long to.
//
// At SIGTERM it takes no further connection, answers the requests that it has, and ends.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// firstSocket is the file descriptor of the first socket that systemd hands over.
const firstSocket = 3

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	listener, err := socket()
	if err == nil {
		err = serve(ctx, listener, ready)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "greet:", err)
		os.Exit(1)
	}
}

// serve answers what comes to the listener until ctx ends, and then what has come by then. ready is told once it does.
func serve(ctx context.Context, listener net.Listener, ready func() error) error {
	var open sync.WaitGroup // connections
	server := &http.Server{
		Handler:           http.HandlerFunc(greet),
		ReadHeaderTimeout: 10 * time.Second,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				open.Add(1)
			case http.StateClosed, http.StateHijacked:
				open.Done()
			}
		},
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if err := ready(); err != nil {
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// Not Shutdown by itself, which drops a request that a connection brings after it was called. It is this process's
	// copy of the socket that is closed here, not the socket; once nothing is accepted any more, each connection is
	// answered and closed.
	err := listener.Close()
	<-ended
	server.SetKeepAlivesEnabled(false)
	open.Wait()
	return errors.Join(err, server.Shutdown(context.Background()))
}

// socket gives the socket that systemd has handed over.
func socket() (net.Listener, error) {
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) || os.Getenv("LISTEN_FDS") != "1" {
		return nil, errors.New("systemd has to hand over one socket: see web-app@.service")
	}
	file := os.NewFile(firstSocket, "socket")
	defer file.Close()
	return net.FileListener(file)
}

// ready tells systemd that requests are answered from now on.
func ready() error {
	address := os.Getenv("NOTIFY_SOCKET")
	if address == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", address)
	if err != nil {
		return err
	}
	_, err = conn.Write([]byte("READY=1"))
	return errors.Join(err, conn.Close())
}

func greet(w http.ResponseWriter, r *http.Request) {
	if wait, err := time.ParseDuration(r.FormValue("wait")); err == nil {
		time.Sleep(min(wait, 10*time.Second))
	}
	fmt.Fprintln(w, os.Getenv("GREETING"))
}
