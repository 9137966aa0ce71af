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
	"syscall"
	"time"
)

// firstSocket is the file descriptor of the first socket that systemd hands over.
const firstSocket = 3

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "greet:", err)
		os.Exit(1)
	}
}

func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	listener, err := socket()
	if err != nil {
		return err
	}
	server := &http.Server{Handler: http.HandlerFunc(greet), ReadHeaderTimeout: 10 * time.Second}
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
	// It is this process's copy of the socket that is closed by this, not the socket. Once nothing is accepted any more, a
	// second Shutdown waits for what was accepted during the first.
	err = server.Shutdown(context.Background())
	<-ended
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
