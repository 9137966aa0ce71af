package fleettest_test

import (
	"crypto/sha1"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// R37: whatever is asked, the answer is JSON in fleet's form, no body where there is none to be had, or a connection
// closed in the one case in which fleet does that; and the cluster goes on.
func FuzzHandler(f *testing.F) {
	f.Add("GET", "/fleet/v1/units?nextPageToken=ZAABAA==", "")
	f.Add("GET", "/fleet/v1/state/none.service", "")
	f.Add("PUT", "/fleet/v1/units/web@1.service", `{"desiredState":"launched"}`)
	f.Add("PUT", "/fleet/v1/units/x.service", `{"desiredState":"launched","options":[{"section":"X-Fleet","name":"MachineMetadata","value":"\"a=b\" \"c=d\""}]}`)
	f.Add("PUT", "/fleet/v1/units/x.service", `{"options":[null,{"section":"X-Fleet","name":"Conflicts","value":"[*"},{"section":"X-Fleet","name":"MachineOf","value":"%i"}]}`)
	f.Add("DELETE", "/fleet/v1/units/web%401.service", "")
	f.Add("PATCH", "/fleet/v1/machines", `[{"op":"add","path":"/a/metadata/b","value":{"value":"c"}}]`)
	f.Add("GET", "//fleet/../v1-alpha/discovery", "")
	f.Fuzz(func(t *testing.T, method, target, body string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		clock := newClock()
		c := fleettest.NewCluster(fleettest.Config{Now: clock.Now, Timing: seconds(), PageLimit: 2})
		require.NoError(t, c.Put("web@1.service", service, "launched"))
		r := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.URL = method, u
		r.Header.Set("Content-Type", "application/json")
		for range 2 {
			checkAnswer(t, c, r)
			clock.Advance(time.Minute)
			c.Units()
		}
	})
}

func checkAnswer(t *testing.T, c *fleettest.Cluster, r *http.Request) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			assert.Equal(t, http.ErrAbortHandler, p)
			assert.Contains(t, r.URL.Path, "/state/")
		}
	}()
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	switch {
	case w.Code == http.StatusCreated || w.Code == http.StatusNoContent:
		assert.Empty(t, w.Body.String())
	case w.Code >= 300 && w.Code < 400:
		assert.NotEmpty(t, w.Header().Get("Location"), "an unclean path is redirected")
	default:
		assert.True(t, json.Valid(w.Body.Bytes()), w.Body.String())
		assert.Equal(t, w.Code >= 400, strings.HasPrefix(w.Body.String(), `{"error":{"code":`), w.Body.String())
	}
}

// R37: any unit file that can be put has the hash that fleet gives it.
func FuzzUnitFile(f *testing.F) {
	f.Add(service)
	f.Add("[Service]\nExecStart=/bin/sh \\\n -c 'exit 1'\nRestart=always\nRestartSec=5min\n[X-Fleet]\nGlobal=yes\nConflicts=a* b*\n")
	f.Add("[X-Fleet]\nMachineMetadata=\"a=b\" \"c=d\"\nX-ConditionMachineID=%n\nReplaces=web.service\n")
	f.Add("# comment \\\n[Unit]\nDescription = x \n")
	f.Add("[Unit]\nDescription = x \\")
	f.Fuzz(func(t *testing.T, content string) {
		clock := newClock()
		c := fleettest.NewCluster(fleettest.Config{Now: clock.Now, Timing: seconds()})
		if c.Put("web.service", content, "launched") != nil {
			assert.Empty(t, c.Units())
			return
		}
		clock.Advance(20 * time.Second)
		unit, found := c.Unit("web.service")
		require.True(t, found)
		// What a fleetd keeps is the text that it writes of the options: a last line that ends in a backslash gets its end.
		kept := fleetHash(t, fleetText(t, content))
		assert.Equal(t, kept, unit.Hash)
		assert.Equal(t, kept, fmt.Sprintf("%x", sha1.Sum([]byte(unit.Content))))
	})
}
