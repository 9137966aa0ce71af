package controller

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNewRequest(t *testing.T) {
	assert.Equal(t, RequestConfig{Group: "", SliceIDs: []string{}}, DefaultRequestConfig())

	ids := []string{"1"}
	request := NewRequest(RequestConfig{Group: "web//", SliceIDs: ids})
	assert.Equal(t, Request{RequestConfig: RequestConfig{Group: "web", SliceIDs: []string{"1"}}, Units: []Unit{}}, request)
	ids[0] = "2"
	assert.Equal(t, []string{"1"}, request.SliceIDs)
	assert.Equal(t, "/a/b", NewRequest(RequestConfig{Group: "/a/b/"}).Group)
}

func TestExtendSlices(t *testing.T) {
	request := Request{
		RequestConfig: RequestConfig{Group: "web", SliceIDs: []string{"2", "10.0.0.7"}},
		Units:         []Unit{{"web-app@.service", "a"}, {"web-db.x@.timer", "b"}},
		DesiredSlices: 2,
	}
	before := request.clone()
	extended, err := request.ExtendSlices()
	require.NoError(t, err)
	assert.Equal(t, Request{
		RequestConfig: request.RequestConfig,
		Units: []Unit{
			{"web-app@2.service", "a"}, {"web-db.x@2.timer", "b"},
			{"web-app@10.0.0.7.service", "a"}, {"web-db.x@10.0.0.7.timer", "b"},
		},
		DesiredSlices: 2,
	}, extended)

	extended.SliceIDs[0] = "changed"
	assert.Equal(t, before, request, "the request has been changed")
}

func TestExtendSlicesWithoutSliceIDs(t *testing.T) {
	for _, ids := range [][]string{nil, {}} {
		request := Request{RequestConfig: RequestConfig{SliceIDs: ids}, Units: []Unit{{"web@.service", "a"}}}
		extended, err := request.ExtendSlices()
		require.NoError(t, err)
		assert.Equal(t, request, extended)
		extended.Units[0].Name = "changed"
		assert.Equal(t, "web@.service", request.Units[0].Name)
	}
}

func TestRequestClone(t *testing.T) {
	request := Request{RequestConfig: RequestConfig{SliceIDs: []string{"1"}}, Units: []Unit{{"a", "b"}}, DesiredSlices: 3}
	cloned := request.clone()
	assert.Equal(t, request, cloned)
	cloned.SliceIDs[0], cloned.Units[0] = "2", Unit{}
	assert.Equal(t, "1", request.SliceIDs[0])
	assert.Equal(t, "a", request.Units[0].Name)
	assert.Equal(t, Request{}, Request{}.clone())
}
