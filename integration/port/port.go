// Package port gives ports to servers of tests that can't pick one by themselves.
package port

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// They lie below the ports that the kernel gives out, so that no listener and no connection of another test gets one before
// it is used.
const (
	first = 30000
	end   = 32768
)

// Free gives a port of the loopback address that nobody listens on. As long as this program lives, no other call gives the
// same, here or in another program.
func Free() (string, error) {
	for range 100 {
		port := strconv.Itoa(first + rand.IntN(end-first))
		if reserve(port) != nil {
			continue
		}
		if listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			return port, listener.Close()
		}
	}
	return "", errors.New("no port is free")
}

// reserve fails for a port that has been reserved by a program that still lives. What reserves it is a name among the
// abstract unix sockets, which is gone with the program.
func reserve(port string) error {
	socket, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.Bind(socket, &unix.SockaddrUnix{Name: "@squadron-test-port-" + port}); err != nil {
		return errors.Join(err, unix.Close(socket))
	}
	return nil
}
