package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/juju/errgo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/internal/errmask"
)

// R35.
func TestPredicatesSeeThroughEveryWrapping(t *testing.T) {
	predicates := map[string]struct {
		is     func(error) bool
		target error
	}{
		"IsUnitNotFound":      {IsUnitNotFound, errUnitNotFound},
		"IsInvalidUnitStatus": {IsInvalidUnitStatus, errInvalidUnitStatus},
		"IsInvalidEndpoint":   {IsInvalidEndpoint, errInvalidEndpoint},
		"IsIPNotFound":        {IsIPNotFound, errIPNotFound},
		"IsConflict":          {IsConflict, errConflict},
		"IsInvalidRequest":    {IsInvalidRequest, errInvalidRequest},
		"IsTemporary":         {IsTemporary, errTemporary},
	}
	for name, p := range predicates {
		t.Run(name, func(t *testing.T) {
			assert.True(t, p.is(p.target), "bare")
			assert.True(t, p.is(errgo.Mask(errgo.Mask(p.target))), "masked by errgo")
			assert.True(t, p.is(errmask.Maskf(p.target, "text")), "masked")
			assert.True(t, p.is(fmt.Errorf("text: %w", p.target)), "wrapped")
			assert.True(t, p.is(errors.Join(io.EOF, p.target)), "joined")
			assert.True(t, p.is(withClass(p.target, io.EOF)), "classed")
			assert.False(t, p.is(nil), "nil")
			for other, q := range predicates {
				assert.Equal(t, name == other, q.is(p.target), other)
			}
		})
	}
}

// R18, R29.
func TestAPIErrorClasses(t *testing.T) {
	classes := map[string]func(error) bool{"not found": IsUnitNotFound, "conflict": IsConflict, "invalid": IsInvalidRequest,
		"temporary": IsTemporary}
	for code, want := range map[int]string{400: "invalid", 401: "", 404: "not found", 408: "temporary", 409: "conflict",
		413: "invalid", 415: "invalid", 429: "temporary", 500: "temporary", 502: "temporary", 503: "temporary", 599: "temporary",
		600: ""} {
		err := errmask.Mask(&APIError{Method: "GET", Path: "/x", Unit: "a.service", StatusCode: code})
		for class, is := range classes {
			assert.Equal(t, class == want, is(err), "%d %s", code, class)
		}
	}
	assert.False(t, IsUnitNotFound(&APIError{StatusCode: 404}), "a list that is not there is no unit")
}

func TestAPIErrorText(t *testing.T) {
	assert.Equal(t, "PUT /fleet/v1/units/a@1.service: 500 Internal Server Error",
		(&APIError{Method: "PUT", Path: "/fleet/v1/units/a@1.service", StatusCode: 500}).Error())
	assert.Equal(t, "GET /x: 400 Bad Request: no dot", (&APIError{Method: "GET", Path: "/x", StatusCode: 400, Message: "no dot"}).Error())
	assert.Equal(t, "GET /x: 599", (&APIError{Method: "GET", Path: "/x", StatusCode: 599}).Error())
}

// R18.
func TestIsTemporaryOfOtherErrors(t *testing.T) {
	refused := &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}
	for _, err := range []error{refused, syscall.ECONNRESET, syscall.EPIPE, io.ErrUnexpectedEOF, os.ErrDeadlineExceeded,
		&net.DNSError{IsTimeout: true}} {
		assert.True(t, IsTemporary(errgo.Mask(err)), "%v", err)
	}
	for _, err := range []error{context.Canceled, context.DeadlineExceeded, &url.Error{Err: context.DeadlineExceeded}, io.EOF,
		errors.New("boom"), syscall.ENOENT} {
		assert.False(t, IsTemporary(errgo.Mask(err)), "%v", err)
	}
}

func TestAsTemporary(t *testing.T) {
	cause := errors.New("boom")
	err := AsTemporary(cause)
	assert.True(t, IsTemporary(err))
	assert.ErrorIs(t, err, cause)
	assert.EqualError(t, err, "boom")
	require.NoError(t, AsTemporary(nil))
}
