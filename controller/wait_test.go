package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/internal/errmask"
)

// manyErrors is an error that can't be compared.
type manyErrors []error

func (m manyErrors) Error() string { return fmt.Sprint([]error(m)) }

// R15: how a wait's end comes out, by what ended it and by what the wait itself says.
func TestBoundedR15(t *testing.T) {
	other := errors.New("disk on fire")
	closed := make(chan struct{})
	close(closed)
	untilEnd := func(ctx context.Context) error {
		<-ctx.Done()
		return errmask.Maskf(endOf(ctx), "look")
	}
	for name, c := range map[string]struct {
		cause  error // the caller's context ends with it, after a second
		closer <-chan struct{}
		f      func(context.Context) error
		is     []error
		isNot  []error
	}{
		"well":              {f: func(context.Context) error { return nil }},
		"its own error":     {f: func(context.Context) error { return other }, is: []error{other}},
		"closed":            {closer: closed, f: untilEnd},
		"timeout":           {f: untilEnd, is: []error{errWaitTimeoutReached}, isNot: []error{context.DeadlineExceeded}},
		"context":           {cause: other, f: untilEnd, is: []error{other, context.Canceled}, isNot: []error{errWaitTimeoutReached}},
		"an odd cause":      {cause: manyErrors{other}, f: untilEnd, is: []error{context.Canceled}},
		"too late to close": {closer: closed, f: func(ctx context.Context) error { <-ctx.Done(); return other }, is: []error{other}},
		"done all the same": {cause: other, f: func(ctx context.Context) error { <-ctx.Done(); return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				controller := &controller{config: Config{WaitTimeout: 10 * time.Second}.withDefaults()}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if c.cause != nil {
					time.AfterFunc(time.Second, func() { cancel(c.cause) })
				}
				err := controller.bounded(ctx, c.closer, controller.newWait(controller.newJudge(StatusRunning)), c.f)
				assert.Equal(t, len(c.is) == 0, err == nil, "%v", err)
				for _, target := range c.is {
					assert.ErrorIs(t, err, target)
				}
				for _, target := range c.isNot {
					assert.NotErrorIs(t, err, target)
				}
			})
		})
	}
}

// R16: what a timeout says, by what the looks have shown.
func TestTimeoutTextR16(t *testing.T) {
	w := (&controller{config: Config{}.withDefaults()}).newWait(judgeOf(StatusRunning))
	w.names = []string{"web@1.service", "web@2.service"}
	assert.EqualError(t, w.timeout(time.Minute), "after 1m0s, in which no look at the cluster was answered: wait timeout reached")
	w.looked = true
	_, err := w.take(map[string]*fleet.UnitDetail{"web@1.service": unitIn("active/running")})
	require.NoError(t, err)
	assert.EqualError(t, w.timeout(time.Minute), "after 1m0s, web@2.service is not there: wait timeout reached")
	_, err = w.take(map[string]*fleet.UnitDetail{"web@1.service": unitIn("active/running"), "web@2.service": unitIn("active/running")})
	require.NoError(t, err)
	assert.EqualError(t, w.timeout(time.Minute), "after 1m0s, all had it, but not often enough in a row: wait timeout reached")
	w.lookErr = errors.New("elections")
	err = w.timeout(time.Minute)
	assert.ErrorContains(t, err, "the last look having failed (elections)")
	assert.ErrorIs(t, err, w.lookErr)
	assert.True(t, IsWaitTimeoutReached(err))
}

// R7: long lists of names are cut in messages.
func TestListNamesR7(t *testing.T) {
	assert.Equal(t, "none", listNames(nil))
	assert.Equal(t, "a, b", listNames([]string{"a", "b"}))
	assert.Equal(t, strings.Repeat("a, ", 19)+"a and 5 more", listNames(strings.Split(strings.Repeat("a", 25), "")))
}
