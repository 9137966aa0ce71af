package fleet

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/squadronctl/squadron/internal/errmask"
)

// maxRetryWait is where the pause between repeats stops growing.
const maxRetryWait = 5 * time.Second

// do sends a request and repeats it while its errors are temporary.
func (c *Client) do(ctx context.Context, r request) error {
	for repeats := 0; ; repeats++ {
		err := c.attempt(ctx, r)
		if repeats > 0 && r.method == http.MethodDelete && IsUnitNotFound(err) {
			// An attempt whose answer was lost, or came out as a 500, has removed it.
			return nil
		}
		if err == nil || repeats >= c.retries || !IsTemporary(err) || ctx.Err() != nil {
			return err
		}
		wait := retryPause(c.retryWait, repeats)
		c.debug(ctx, "fleet: %v; repeat %d of %d in %s", err, repeats+1, c.retries, wait)
		if ended := c.sleep(ctx, wait); ended != nil {
			return errmask.Maskf(ended, "gave up after: %v", err)
		}
	}
}

// retryPause gives the pause before the repeat that follows the given number of them.
func retryPause(first time.Duration, repeats int) time.Duration {
	wait := first
	for range repeats {
		wait = min(2*wait, maxRetryWait)
	}
	return wait/2 + rand.N(wait/2+1)
}

// sleep waits, and returns early with an error when the context or the client ends.
func (c *Client) sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
	case <-c.closing.Done():
	}
	return c.connectionError(ctx, nil)
}
