package fleet

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R30.
func TestEndpointForms(t *testing.T) {
	for text, want := range map[string]string{
		"unix:///run/fleet.sock":       "http://domain-sock/fleet/v1/units",
		"file:///var/run/fleet.sock":   "http://domain-sock/fleet/v1/units",
		"http://10.0.0.1:49153":        "http://10.0.0.1:49153/fleet/v1/units",
		"http://10.0.0.1:49153/":       "http://10.0.0.1:49153/fleet/v1/units",
		"https://fleet.example":        "https://fleet.example/fleet/v1/units",
		"https://u:p@fleet.example/x/": "https://u:p@fleet.example/x/fleet/v1/units",
		"http://h/a%2Fb/c":             "http://h/a%2Fb/c/fleet/v1/units",
		"http://[::1]:80":              "http://[::1]:80/fleet/v1/units",
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		where, err := parseEndpoint(*u)
		require.NoError(t, err, text)
		assert.Equal(t, want, where.target("units", "", nil).String(), text)
	}
}

func TestEndpointsRefused(t *testing.T) {
	for text, says := range map[string]string{
		"unix://x/y":            "unix:///path",
		"file://host/path":      "file:///path",
		"unix:":                 "no absolute path",
		"unix:rel/path":         "no absolute path",
		"unix:///":              "no absolute path",
		"unix:///a%00b":         "NUL",
		"http://":               "no host",
		"http:///path":          "no host",
		"http://:80":            "no host",
		"https://h?x=y":         "query",
		"http://h#f":            "fragment",
		"/var/run/fleet.sock":   "no scheme",
		"ftp://host":            "unknown scheme",
		"http://u:secret@?pw=1": "no host",
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		_, err = NewFleet(Config{Endpoint: *u})
		require.Error(t, err, text)
		assert.True(t, IsInvalidEndpoint(err), text)
		assert.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "secret")
	}
}

// R28: whatever a name is, it is one segment of the path, and comes out as it was.
func TestTargetEscapesNames(t *testing.T) {
	where, err := parseEndpoint(url.URL{Scheme: "http", Host: "h", Path: "/base"})
	require.NoError(t, err)
	for _, name := range []string{"web@1.service", `srv-a\x2db@1.service`, "a:b.service", "50%.service", "%2e%2e", "a?b#c", "a b", "ä.timer", "\xff"} {
		text := where.target("units", name, nil).String()
		back, err := url.Parse(text)
		require.NoError(t, err, text)
		assert.Equal(t, "/base/fleet/v1/units/"+name, back.Path)
		assert.Equal(t, 5, strings.Count(back.EscapedPath(), "/"), text)
		assert.Empty(t, back.RawQuery)
	}
}

func FuzzTarget(f *testing.F) {
	f.Add("web@1.service")
	f.Add("..%2f\\")
	f.Fuzz(func(t *testing.T, name string) {
		if checkName(name) != nil {
			return
		}
		where, err := parseEndpoint(url.URL{Scheme: "unix", Path: "/x"})
		require.NoError(t, err)
		back, err := url.Parse(where.target("units", name, nil).String())
		require.NoError(t, err)
		assert.Equal(t, "/fleet/v1/units/"+name, back.Path)
	})
}

func FuzzEndpoint(f *testing.F) {
	f.Add("unix://x/y")
	f.Add("https://h/p")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.Parse(text)
		if err != nil {
			return
		}
		if where, err := parseEndpoint(*u); err == nil {
			assert.Equal(t, where.socket == "", where.base.Host != socketHost || u.Host == socketHost)
		} else {
			assert.True(t, IsInvalidEndpoint(err))
		}
	})
}
