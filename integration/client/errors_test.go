package client_test

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
)

// class is a predicate of package fleet. An error is of the classes named, and of no other.
type class struct {
	name string
	is   func(error) bool
}

var classes = []class{
	{"UnitNotFound", fleet.IsUnitNotFound},
	{"InvalidRequest", fleet.IsInvalidRequest},
	{"Conflict", fleet.IsConflict},
	{"Temporary", fleet.IsTemporary},
	{"InvalidUnitStatus", fleet.IsInvalidUnitStatus},
	{"InvalidEndpoint", fleet.IsInvalidEndpoint},
	{"IPNotFound", fleet.IsIPNotFound},
}

func assertClass(t *testing.T, err error, want ...string) {
	t.Helper()
	var is []string
	for _, c := range classes {
		if c.is(err) {
			is = append(is, c.name)
		}
	}
	assert.Equal(t, want, is, "%v", err)
}

// R29, R35: what is asked of units that are not there.
func TestUnknownUnit(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	ctx := limited(t)
	_, statusErr := c.GetStatus(ctx, "unknown.service")
	_, contentErr := c.ReadContent(ctx, "unknown.service")
	_, matchErr := c.GetStatusWithMatcher(func(string) bool { return false })
	// fleetd answers 409 to a state for a unit that is not there.
	for _, failed := range []struct {
		operation string
		err       error
		classes   []string
	}{
		{"start", c.Start(ctx, "unknown.service"), []string{"UnitNotFound", "Conflict"}},
		{"stop", c.Stop(ctx, "unknown.service"), []string{"UnitNotFound", "Conflict"}},
		{"destroy", c.Destroy(ctx, "unknown.service"), []string{"UnitNotFound"}},
		{"get status", statusErr, []string{"UnitNotFound"}},
		{"read content", contentErr, []string{"UnitNotFound"}},
	} {
		assertClass(t, failed.err, failed.classes...)
		assert.Regexp(t, "^"+failed.operation+" (of )?unknown.service: ", failed.err, "R34")
		var answer *fleet.APIError
		assert.ErrorAs(t, failed.err, &answer)
	}
	assertClass(t, matchErr, "UnitNotFound")
}

// Names that can't be a unit's, refused by the client or with a 400 of fleetd's.
func TestImpossibleNames(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	for _, name := range []string{
		"", "web", "web.exe", "web@1.mount", "we b.service", "@1.service", "w%20b.service", "é.service", "a/b.service", "..",
		"a\x00b.service", "a?b.service", "a#b.service", "a+b.service", "template@.service",
		strings.Repeat("x", 249) + ".service",
	} {
		err := c.Submit(limited(t), name, sleeper())
		assertClass(t, err, "InvalidRequest")
	}
	longest := strings.Repeat("x", 248) + ".service"
	assert.NoError(t, c.Submit(limited(t), longest, placed("MachineMetadata=zone=nowhere")))
	status, err := c.GetStatus(limited(t), longest)
	require.NoError(t, err)
	assert.Equal(t, longest, status.Name)
}

// Contents that are no unit file, or whose options fleet refuses; C3's lines.
func TestImpossibleContents(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	for name, content := range map[string]string{
		"empty":               "",
		"no section":          "no section\n",
		"no option":           "[Service]\n",
		"section left open":   "[Service\nX=1\n",
		"no equals sign":      "[Unit]\nX\n",
		"not UTF-8":           "[Unit]\nX=\xff\n",
		"long line":           "[Unit]\nX=" + strings.Repeat("y", 2047) + "\n",
		"ID with Global":      placed("MachineID=x", "Global=true"),
		"ID with Of":          placed("MachineID=x", "MachineOf=y.service"),
		"ID with Conflicts":   placed("MachineID=x", "Conflicts=y.service"),
		"Global with Of":      placed("Global=true", "MachineOf=y.service"),
		"Global and Replaces": placed("Global=true", "Replaces=y.service"),
		"conflicting peer":    placed("MachineOf=y.service", "Conflicts=y.*"),
	} {
		assertClass(t, c.Submit(limited(t), "impossible.service", content), "InvalidRequest")
		_, err := c.GetStatus(limited(t), "impossible.service")
		assert.True(t, fleet.IsUnitNotFound(err), name)
	}
	continued := "[Service]\nExecStart=/bin/sleep 100000 \\\n" + strings.Repeat("0", 1500) + "\\\n" + strings.Repeat("0", 1500) + "\n"
	require.NoError(t, c.Submit(limited(t), "continued.service", continued))
	content, err := c.ReadContent(limited(t), "continued.service")
	require.NoError(t, err)
	assert.Equal(t, continued, content)
	create(t, c, "long.service", "[Service]\nExecStart=/bin/sh -c 'exec sleep 100000' \\\n"+strings.Repeat("x", 1500)+"\\\n"+strings.Repeat("y", 1500)+"\n")
	settle(t, c, "long.service", running)
}

// Endpoints at which there is nothing, or something else.
func TestWrongEndpoints(t *testing.T) {
	t.Parallel()
	etcd := real.Etcd()
	nobody := url.URL{Scheme: "unix", Path: filepath.Join(t.TempDir(), "nobody.sock")}
	c := connectWith(t, fleet.Config{Endpoint: etcd, Retries: -1})
	_, err := c.ReadMachines(limited(t))
	assertClass(t, err, "InvalidEndpoint")
	c = connectWith(t, fleet.Config{Endpoint: nobody, Retries: -1})
	_, err = c.ReadMachines(limited(t))
	assert.ErrorContains(t, err, nobody.Path)
	for _, wrong := range []string{"unix://x/y", "ftp://127.0.0.1", "127.0.0.1:4241", "http://"} {
		endpoint, err := url.Parse(wrong)
		if err != nil {
			endpoint = &url.URL{Path: wrong}
		}
		_, err = fleet.NewFleet(fleet.Config{Endpoint: *endpoint})
		assertClass(t, err, "InvalidEndpoint")
	}
}

// The caller's context ends a call, and its error is in the chain.
func TestContext(t *testing.T) {
	t.Parallel()
	c := connect(t, real.Endpoint())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range []error{c.Submit(ctx, "context.service", sleeper()), c.Start(ctx, "context.service"), c.Destroy(ctx, "context.service")} {
		assert.ErrorIs(t, err, context.Canceled)
		assert.False(t, fleet.IsTemporary(err))
	}
}

// Answers larger than allowed are refused, not read (R28).
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	c := connectWith(t, fleet.Config{Endpoint: real.Endpoint(), MaxBodySize: 100})
	_, err := c.ReadMachines(limited(t))
	assert.ErrorContains(t, err, "more than 100 bytes")
}
