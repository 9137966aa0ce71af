package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Servers that share a socket come and go, and no request fails: what one has accepted it answers before it ends.
func TestNoRequestFailsWhenAServerEnds(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	socket, err := listener.(*net.TCPListener).File()
	require.NoError(t, err)
	defer socket.Close()
	start := func() (stop func()) {
		shared, err := net.FileListener(socket)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- serve(ctx, shared, func() error { return nil }) }()
		return func() {
			cancel()
			assert.NoError(t, <-ended)
		}
	}
	stop := start()
	require.NoError(t, listener.Close())

	ctx, end := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for _, keep := range []bool{true, false, false, false} {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: !keep}}
		load.Go(func() {
			defer client.CloseIdleConnections()
			for ctx.Err() == nil {
				ask(t, client, "http://"+listener.Addr().String())
			}
		})
	}
	for range 50 {
		next := start()
		ask(t, http.DefaultClient, "http://"+listener.Addr().String())
		stop()
		stop = next
	}
	end()
	load.Wait()
	http.DefaultClient.CloseIdleConnections()
	stop()
}

func ask(t *testing.T, client *http.Client, url string) {
	response, err := client.Get(url)
	if assert.NoError(t, err) {
		_, err = io.Copy(io.Discard, response.Body)
		assert.NoError(t, err)
		assert.NoError(t, response.Body.Close())
	}
}
