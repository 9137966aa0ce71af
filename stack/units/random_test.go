package units_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// TestWhateverHappensNothingUnownedIsTouched has two owners, somebody with neither's stamp, and a cluster that fails now and
// then do what they do in any order. Whatever is not an owner's stays as it was put, and when all is well again what is
// declared comes about, and a repeat writes nothing.
func TestWhateverHappensNothingUnownedIsTouched(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			onBench(t, fleettest.Config{Timing: fleettest.Fast()}, func(t *testing.T, b *bench) {
				w := &world{bench: b, random: rand.New(rand.NewPCG(seed, 8)), declared: map[string]string{}, theirs: map[string]string{}}
				for range 25 {
					w.step()
					w.checkTheirs()
				}
				w.settle()
			})
		})
	}
}

// world is what the test knows of who has what.
type world struct {
	*bench
	random   *rand.Rand
	declared map[string]string // manifests by owner and stack
	theirs   map[string]string // contents by name, of units that no stack owns
}

var ownersOf = map[string]string{"web": "alice", "web-2": "bob", "api": "alice", "db": "bob"}

func (w *world) pick(n int) int { return w.random.IntN(n) }

func (w *world) step() {
	name := []string{"web", "web-2", "api", "db"}[w.pick(4)]
	owner := ownersOf[name]
	other := map[string]string{"alice": "bob", "bob": "alice"}[owner]
	manifest := fmt.Sprintf("slices: %d\n", 1+w.pick(3)) + file(name+"-app@.service", service(fmt.Sprint("v", w.pick(3))))
	if w.pick(2) == 0 {
		manifest += file(name+"-log@.service", service("log"))
	}
	if w.pick(4) == 0 {
		w.faults.Set(fleettest.Every(2+w.pick(4), fleettest.Fail(http.StatusInternalServerError, "")))
		defer w.faults.Set()
	}
	ctx := w.t.Context()
	if w.pick(4) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(w.pick(3000))*time.Millisecond)
		defer cancel()
	}
	switch w.pick(6) {
	case 0, 1:
		w.declared[name] = manifest
		_ = deployWith(ctx, w.engine, owner, name, manifest)
	case 2:
		if len(w.names(name+"-app@")) > 0 {
			before := w.snapshot()
			require.Error(w.t, deployWith(ctx, w.engine, other, name, manifest))
			require.Equal(w.t, before, w.snapshot())
		}
	case 3:
		if w.engine.RemoveStack(ctx, name) == nil {
			delete(w.declared, name)
		}
	case 4:
		w.put(fmt.Sprintf("%s-other@%d.service", name, w.pick(3)), service("theirs"))
		w.note()
	case 5:
		w.meddle(name)
	}
}

// note finds the units that carry no stamp.
func (w *world) note() {
	clear(w.theirs)
	for _, unit := range w.cluster.Units() {
		if !strings.Contains(unit.Content, "Owner=") {
			w.theirs[unit.Name] = unit.Desired + unit.Content
		}
	}
}

// meddle changes something of a stack by hand that still carries its stamp.
func (w *world) meddle(name string) {
	for _, unit := range w.cluster.Units() {
		if !strings.HasPrefix(unit.Name, name+"-app@") || w.pick(2) == 0 {
			continue
		}
		switch w.pick(3) {
		case 0:
			w.cluster.Remove(unit.Name)
		case 1:
			require.NoError(w.t, w.cluster.Put(unit.Name, unit.Content, "loaded"))
		case 2:
			w.put(unit.Name, strings.Replace(unit.Content, "/bin/serve", "/bin/other", 1))
		}
		return
	}
}

func (w *world) checkTheirs() {
	w.t.Helper()
	before := maps.Clone(w.theirs)
	w.note()
	require.Equal(w.t, before, w.theirs)
}

// settle deploys all that is declared, with a cluster that is well.
func (w *world) settle() {
	for name := range w.theirs { // where nothing of a stack is there they are in its way
		w.cluster.Remove(name)
	}
	for name, manifest := range w.declared {
		w.mustDeploy(ownersOf[name], name, manifest)
	}
	w.wrote()
	for name, manifest := range w.declared {
		w.mustDeploy(ownersOf[name], name, manifest)
	}
	assert.Zero(w.t, w.wrote(), "a repeat")
	for name, manifest := range w.declared {
		services, err := w.engine.ReadStackServices(w.t.Context(), name)
		require.NoError(w.t, err)
		for _, service := range services {
			if strings.HasPrefix(service.Name, name+"-app") {
				assert.Equal(w.t, int(manifest[8]-'0'), service.Running, service.Name)
			}
		}
		for _, line := range w.differences(name, manifest) { // a service that is no longer declared is the sweep's
			assert.Contains(w.t, line, name+"-log@.service")
		}
	}
}
