package speed_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/squadronctl/squadron/integration/groups/bench"
)

const (
	pollPause  = 50 * time.Millisecond
	atOnce     = 8 // writes side by side, as the library has them
	barePrefix = "bare"
)

// bareLoop does to a cluster what the library does, with plain requests and nothing around them: it writes, and polls /state
// until that shows what was asked for.
type bareLoop struct {
	client *http.Client
	count  int // slices made so far
}

// unitsOf are the units of slices.
func unitsOf(group string, slices ...int) []string {
	var names []string
	for _, n := range slices {
		names = append(names, fmt.Sprintf("%s-main@%d.service", group, n), fmt.Sprintf("%s-side@%d.service", group, n))
	}
	return names
}

// newSlices gives the numbers of n slices that have not been.
func (b *bareLoop) newSlices(n int) []int {
	var numbers []int
	for range n {
		b.count++
		numbers = append(numbers, b.count)
	}
	return numbers
}

// put writes units with a desired state, and waits until they are as is says.
func (b *bareLoop) put(names []string, desired, exec string, is func(active string) bool) error {
	err := each(names, func(name string) error { return site.Observer.Put(context.Background(), name, desired, exec) })
	if err != nil {
		return err
	}
	return b.until(func(states map[string]string) bool {
		for _, name := range names {
			if active, known := states[name]; !known || !is(active) {
				return false
			}
		}
		return true
	})
}

// remove removes units, and waits until /state lacks them.
func (b *bareLoop) remove(names []string) error {
	err := each(names, func(name string) error { return site.Observer.Delete(context.Background(), name) })
	if err != nil {
		return err
	}
	return b.until(func(states map[string]string) bool {
		for _, name := range names {
			if _, known := states[name]; known {
				return false
			}
		}
		return true
	})
}

// update replaces slices by as many of another content, some at a time, new ones first.
func (b *bareLoop) update(old []int, growth int, exec string) ([]int, error) {
	var made []int
	for len(old) > 0 {
		n := min(growth, len(old))
		added := b.newSlices(n)
		if err := b.put(unitsOf(barePrefix, added...), "launched", exec, isActive); err != nil {
			return nil, err
		}
		leaving := unitsOf(barePrefix, old[:n]...)
		if err := b.put(leaving, "loaded", oldExec, isInactive); err != nil {
			return nil, err
		}
		if err := b.remove(leaving); err != nil {
			return nil, err
		}
		made, old = append(made, added...), old[n:]
	}
	return made, nil
}

func isActive(active string) bool   { return active == "active" }
func isInactive(active string) bool { return active == "inactive" || active == "failed" }

func each(names []string, do func(name string) error) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, name := range names {
		group.Go(func() error { return do(name) })
	}
	return group.Wait()
}

// until polls /state until its active states, by name, are as wanted.
func (b *bareLoop) until(wanted func(states map[string]string) bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	endpoint := site.Cluster.Endpoint()
	for {
		states, err := b.states(ctx, endpoint)
		if err != nil || wanted(states) {
			return err
		}
		time.Sleep(pollPause)
	}
}

func (b *bareLoop) states(ctx context.Context, endpoint url.URL) (map[string]string, error) {
	var page struct {
		States []struct{ Name, SystemdActiveState string }
	}
	err := bench.Call(ctx, b.client, http.MethodGet, endpoint.String()+"/fleet/v1/state", nil, &page)
	states := make(map[string]string, len(page.States))
	for _, state := range page.States {
		states[state.Name] = state.SystemdActiveState
	}
	return states, err
}

// untilClear waits until nothing of the group is left, not even a state: an agent that is still unloading does nothing else.
func untilClear(t *testing.T, group string) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		left, err := site.Observer.StatesLeft(context.Background(), group+"-")
		require.NoError(t, err)
		if len(left) == 0 {
			return
		}
		require.True(t, time.Now().Before(deadline), "states left: %v", left)
		time.Sleep(pollPause)
	}
}
