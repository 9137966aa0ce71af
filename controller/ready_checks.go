package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/squadronctl/squadron/internal/errmask"
)

// errNoAddress is why a check can't reach a slice.
var errNoAddress = errors.New("none of the slice's machines publishes an address")

// ReadyTCP makes a check that connects to the port on every machine of the slice, and closes the connections again.
func ReadyTCP(port int) ReadyCheck {
	return func(ctx context.Context, slice SliceStatus) error {
		return onEachIP(slice, func(ip net.IP) error {
			var dialer net.Dialer
			connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(ip.String(), strconv.Itoa(port)))
			if err != nil {
				return errmask.Mask(err)
			}
			return errmask.Mask(connection.Close())
		})
	}
}

// ReadyHTTP makes a check that sends a GET over http for the path (with a query, where it has one) to the port on every
// machine of the slice. Answers from 200 to 399 pass; redirects are not followed.
func ReadyHTTP(port int, path string) ReadyCheck {
	return func(ctx context.Context, slice SliceStatus) error {
		reference, err := url.Parse("/" + strings.TrimLeft(path, "/"))
		if err != nil {
			return errmask.Maskf(err, "path of the ready check")
		}
		return onEachIP(slice, func(ip net.IP) error {
			base := url.URL{Scheme: "http", Host: net.JoinHostPort(ip.String(), strconv.Itoa(port))}
			return get(ctx, base.ResolveReference(reference).String())
		})
	}
}

func onEachIP(slice SliceStatus, check func(net.IP) error) error {
	ips := slice.IPs()
	if len(ips) == 0 {
		return errmask.Mask(errNoAddress)
	}
	for _, ip := range ips {
		if err := check(ip); err != nil {
			return err
		}
	}
	return nil
}

// maxReadyAnswer is how much of an answer's body is read.
const maxReadyAnswer = 64 << 10

func get(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return errmask.Mask(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return errmask.Maskf(err, "GET %s", address)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, maxReadyAnswer)
	if response.StatusCode < 200 || response.StatusCode > 399 {
		return fmt.Errorf("GET %s: %s", address, response.Status)
	}
	return nil
}
