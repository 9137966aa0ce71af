package controller_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/fleet/fleettest"
)

// everyRefusal makes each call with this request, and expects a ValidationError whose text has the words.
func everyRefusal(t *testing.T, b *bench, req controller.Request, words string) {
	t.Helper()
	c := b.controller
	errs := map[string]error{}
	if len(req.SliceIDs) == 0 {
		_, errs["Extend"] = c.ExtendWithExistingSliceIDs(req)
	}
	_, _, errs["GroupNeedsUpdate"] = c.GroupNeedsUpdate(t.Context(), req)
	_, errs["Start"] = c.Start(t.Context(), req)
	_, errs["Stop"] = c.Stop(t.Context(), req)
	_, errs["Destroy"] = c.Destroy(t.Context(), req)
	_, errs["GetStatus"] = c.GetStatus(t.Context(), req)
	errs["WaitForStatus"] = c.WaitForStatus(t.Context(), req, nil, controller.StatusRunning)
	_, errs["Update"] = c.Update(t.Context(), req, controller.UpdateOptions{})
	if len(req.SliceIDs) == 0 {
		req.DesiredSlices = 1
	}
	_, errs["Submit"] = c.Submit(t.Context(), req)
	for method, err := range errs {
		_, ok := err.(controller.ValidationError)
		assert.True(t, ok, "%s: %T %v", method, err, err)
		if err != nil {
			assert.Contains(t, err.Error(), words, method)
			assert.Less(t, len(err.Error()), 4000, method)
			assert.NotContains(t, err.Error(), "\n", method)
			assert.NotContains(t, err.Error(), "\x00", method)
		}
	}
}

func TestBadNames(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		for bad, words := range map[string]string{
			"": "empty", strings.Repeat("x", 10000): "10000 bytes", "we/b": "'/'", "../web": "'/'", "we%b": "'%'", "we\x00b": `we\x00b`,
			"we\nb": `we\nb`, "we b": `"we b"`, "wéb": "wéb",
		} {
			req := request(bad, 0)
			everyRefusal(t, b, req, words)
			if bad != "" {
				req = request("web", 0)
				req.Units[0].Name = "web-" + bad + "@.service"
				_, err := b.controller.Submit(t.Context(), withSlices(req, "1"))
				_, ok := err.(controller.ValidationError)
				assert.True(t, ok, "%q: %T %v", bad, err, err)
			}
			everyRefusal(t, b, withSlices(request("web", 0), "1", bad), "slice ID")
		}
		everyRefusal(t, b, request("we@b", 0), "we@b")
		assert.Zero(t, b.cluster.Counts())
	})
}

func TestBadContents(t *testing.T) {
	onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
		for content, words := range map[string]string{
			"": "empty", "hello\nworld\n": "line 1", "\x00": "web-app@.service", strings.Repeat("[Service]\nx=y\n#", 10<<20/15) + "x": "10485751 bytes",
			"[Service\nExecStart=/bin/true\n": "line 1", "[Service]\n": "web-app@.service",
		} {
			req := request("web", 0)
			req.Units[0].Content = content
			req.DesiredSlices = 1
			_, submitted := b.controller.Submit(t.Context(), req)
			_, updated := b.controller.Update(t.Context(), req, controller.UpdateOptions{})
			for _, err := range []error{submitted, updated} {
				_, ok := err.(controller.ValidationError)
				require.True(t, ok, "%.20q: %T %v", content, err, err)
				assert.True(t, controller.IsInvalidArgument(err))
				assert.ErrorContains(t, err, words)
				assert.ErrorContains(t, err, "web-app@.service")
				assert.NotContains(t, err.Error(), "web-log")
			}
		}
		assert.Zero(t, b.cluster.Counts())
	})
}

// What answers is no fleet, or none in its right mind: the error says so, soon, and nothing is changed.
func TestBadAnswers(t *testing.T) {
	half := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		_, _ = io.WriteString(w, `{"units":[{"name":"web@1.serv`)
	}
	notFound := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		http.Error(w, "no such page", http.StatusNotFound)
	}
	for name, c := range map[string]struct {
		action fleettest.Action
		words  string
		is     func(error) bool
	}{
		"HTML":          {fleettest.HTML(), "no fleet API", fleet.IsInvalidEndpoint},
		"404 page":      {notFound, "no fleet API", fleet.IsInvalidEndpoint},
		"redirect loop": {fleettest.RedirectLoop(), "redirected to", fleet.IsInvalidEndpoint},
		"half JSON":     {half, "truncated answer", fleet.IsTemporary},
		"broken off":    {fleettest.Truncate(), "unexpected EOF", fleet.IsTemporary},
		"reset":         {fleettest.Reset(), "connection reset", fleet.IsTemporary},
		"endless":       {fleettest.EndlessBody(), "more than 1048576 bytes", func(err error) bool { return !fleet.IsTemporary(err) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := fleettest.NewCluster(fleettest.Config{})
				faults := fleettest.NewFaults(cluster)
				client, err := fleet.NewFleet(fleet.Config{
					Client: &http.Client{Transport: fleettest.Transport(faults)}, Endpoint: url.URL{Scheme: "http", Host: "fleet.test"},
					MaxBodySize: 1 << 20,
				})
				require.NoError(t, err)
				b := onBackend(t, client)
				b.cluster = cluster
				defer b.close()
				b.put("loaded", "web@1.service")

				faults.Set(fleettest.On(http.MethodGet, "", fleettest.Always(c.action)))
				for _, err := range []error{
					b.try(b.controller.Start, of("web")), b.try(b.controller.Destroy, of("web")), b.try(b.controller.Submit, request("db", 1)),
					b.update(request("web", 1), controller.UpdateOptions{}),
				} {
					require.Error(t, err)
					assert.True(t, c.is(err), "%v", err)
					assert.ErrorContains(t, err, c.words)
					assert.ErrorContains(t, err, "/fleet/v1/")
					assert.ErrorContains(t, err, " group ")
				}
				assert.Equal(t, "web@1.service=loaded", b.desired())
				assert.Zero(t, b.wrote())
			})
		})
	}
}

// Writes that something else than a fleet answers have not succeeded.
func TestBadAnswersToWrites(t *testing.T) {
	for name, action := range map[string]fleettest.Action{"HTML": fleettest.HTML(), "redirect loop": fleettest.RedirectLoop()} {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{}, nil, func(t *testing.T, b *bench) {
				b.put("loaded", "web@1.service")
				b.faults.Set(fleettest.On(http.MethodPut, "", fleettest.Always(action)), fleettest.On(http.MethodDelete, "", fleettest.Always(action)))
				for verb, op := range changers(b.controller) {
					err := b.try(op, of("web"))
					require.True(t, fleet.IsInvalidEndpoint(err), "%s: %v", verb, err)
					assert.ErrorContains(t, err, verb+" web@1.service")
				}
				require.Error(t, b.try(b.controller.Submit, request("db", 1)))
				assert.Equal(t, "web@1.service=loaded", b.desired())
			})
		})
	}
}
