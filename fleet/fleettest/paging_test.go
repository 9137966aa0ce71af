package fleettest_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
)

// pages lists names page by page; between runs before each page but the first.
func (b *bench) pages(resource string, between func()) (sizes []int, names []string) {
	b.Helper()
	token := ""
	for {
		target := "/fleet/v1/" + resource
		if token != "" {
			target += "?nextPageToken=" + url.QueryEscape(token)
			between()
		}
		code, body := b.ask(http.MethodGet, target, "")
		require.Equal(b, http.StatusOK, code)
		var page struct {
			NextPageToken string
			Units, States []apiState
			Machines      []struct{ ID string }
		}
		require.NoError(b, json.Unmarshal([]byte(body), &page))
		sizes = append(sizes, len(page.Units)+len(page.States)+len(page.Machines))
		for _, u := range append(page.Units, page.States...) {
			names = append(names, u.Name)
		}
		if token = page.NextPageToken; token == "" {
			return sizes, names
		}
	}
}

func nothing() {}

// R37: pages of a limited size, in order of name; a total that is a multiple of the limit ends in an empty page.
func TestPaging(t *testing.T) {
	b := newBench(t, fleettest.Config{PageLimit: 3, Machines: fleettest.DefaultMachines(3)})
	sizes, _ := b.pages("units", nothing)
	assert.Equal(t, []int{0}, sizes)
	_, body := b.ask(http.MethodGet, "/fleet/v1/units", "")
	assert.Equal(t, "{}", body, "an empty list is an absent key")
	for i := range 7 {
		b.put(fmt.Sprintf("web@%d.service", 6-i), service, "loaded")
	}
	for _, resource := range []string{"units", "state"} {
		sizes, names := b.pages(resource, nothing)
		assert.Equal(t, []int{3, 3, 1}, sizes)
		assert.IsIncreasing(t, names)
	}
	b.Remove("web@0.service")
	sizes, _ = b.pages("units", nothing)
	assert.Equal(t, []int{3, 3, 0}, sizes)
	sizes, _ = b.pages("machines", nothing)
	assert.Equal(t, []int{3, 0}, sizes)
}

// R37: a token is a page number, and a wrong one a 400.
func TestPagingTokens(t *testing.T) {
	b := newBench(t, fleettest.Config{})
	for token, want := range map[string]string{
		token(100, 0): "token page must be greater than zero", token(99, 1): "token limit must be 100",
		"AAA=": "unexpected EOF", "!": "illegal base64 data at input byte 0", "": "EOF",
	} {
		for _, resource := range []string{"units", "state", "machines"} {
			code, body := b.ask(http.MethodGet, "/fleet/v1/"+resource+"?nextPageToken="+token, "")
			assert.Equal(t, http.StatusBadRequest, code, token)
			assert.Equal(t, failure(400, want), body)
		}
	}
	code, body := b.ask(http.MethodGet, "/fleet/v1/units?nextPageToken=a&nextPageToken=b", "")
	assert.Equal(t, http.StatusBadRequest, code)
	assert.Equal(t, failure(400, "too many values for page token"), body)
	code, body = b.ask(http.MethodGet, "/fleet/v1/units?nextPageToken="+token(100, 65535), "")
	assert.Equal(t, http.StatusOK, code)
	assert.Equal(t, "{}", body)
}

func token(limit, page uint16) string {
	return base64.URLEncoding.EncodeToString([]byte{byte(limit), byte(limit >> 8), byte(page), byte(page >> 8)})
}

// R20a, C8: every page is cut from a fresh list, so entries are skipped or seen twice when units come and go.
func TestPagingShifts(t *testing.T) {
	b := newBench(t, fleettest.Config{PageLimit: 2})
	for i := range 4 {
		b.put(fmt.Sprintf("web@%d.service", i), service, "loaded")
	}
	toggle := func() {
		if !b.Remove("a.service") {
			require.NoError(t, b.Put("a.service", service, "loaded"))
		}
	}
	for _, resource := range []string{"units", "state"} {
		once := toggle
		between := func() { once(); once = nothing }
		_, names := b.pages(resource, between)
		assert.Equal(t, []string{"web@0.service", "web@1.service", "web@1.service", "web@2.service", "web@3.service"}, names)
		once = toggle
		_, names = b.pages(resource, between)
		assert.Equal(t, []string{"a.service", "web@0.service", "web@2.service", "web@3.service"}, names, "web@1 is skipped")
	}
}

// pageReader lists names page by page through a client.
type pageReader struct {
	t      *testing.T
	client *http.Client
}

func (p *pageReader) names(resource string) []string {
	p.t.Helper()
	var names []string
	token := ""
	for {
		path := "/" + resource
		if token != "" {
			path += "?nextPageToken=" + url.QueryEscape(token)
		}
		_, body, err := request(p.t.Context(), p.t, p.client, http.MethodGet, path)
		require.NoError(p.t, err)
		var page struct {
			NextPageToken string
			Units, States []apiState
		}
		require.NoError(p.t, json.Unmarshal([]byte(body), &page))
		for _, u := range append(page.Units, page.States...) {
			names = append(names, strings.TrimSuffix(u.Name, ".service"))
		}
		if token = page.NextPageToken; token == "" {
			return names
		}
	}
}
