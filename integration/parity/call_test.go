package parity

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// call is one request.
type call struct {
	method, path, body string
	contentType        string // application/json where there is a body, unless said otherwise; "-": none
}

func putCall(name, body string) call { return call{http.MethodPut, base + "/units/" + name, body, ""} }
func getCall(path string) call       { return call{http.MethodGet, base + path, "", ""} }
func deleteCall(name string) call    { return call{http.MethodDelete, base + "/units/" + name, "", ""} }

func (c call) String() string {
	return short(strings.TrimSpace(c.method + " " + c.path + " " + c.contentType + " " + c.body))
}

// reply is what comes back that matters to a client.
type reply struct {
	status                                       string
	contentType, server, allow, location, length string
	body                                         string
}

// caller sends calls as they are: paths are not cleaned, redirects not followed.
var caller = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       requestLimit,
}

func send(endpoint string, c call) reply {
	request, err := http.NewRequest(c.method, endpoint+c.path, strings.NewReader(c.body))
	if err != nil {
		return reply{status: "can't be sent: " + err.Error()}
	}
	if c.body == "" {
		request.Body = nil
	}
	switch {
	case c.contentType == "-":
	case c.contentType != "":
		request.Header.Set("Content-Type", c.contentType)
	case c.body != "":
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := caller.Do(request)
	if err != nil {
		return reply{status: "no answer: " + strings.ReplaceAll(err.Error(), endpoint, "")}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{status: "half an answer: " + err.Error()}
	}
	header := response.Header
	server, _, _ := strings.Cut(header.Get("Server"), "/") // which version is not the point
	return reply{response.Status, header.Get("Content-Type"), server, header.Get("Allow"), header.Get("Location"),
		header.Get("Content-Length"), string(body)}
}

// equal compares JSON bodies as values, and all else byte for byte.
func (r reply) equal(other reply) bool {
	if mine, ok := parse(r.body); ok {
		if theirs, ok := parse(other.body); ok && reflect.DeepEqual(mine, theirs) {
			r.body, r.length, other.body, other.length = "", "", "", ""
		}
	}
	return r == other
}

func parse(body string) (value any, ok bool) {
	err := json.Unmarshal([]byte(body), &value)
	return value, err == nil
}

func (r reply) String() string {
	return short(fmt.Sprintf("%s %q type %q length %q allow %q location %q by %q", r.status, r.body, r.contentType, r.length,
		r.allow, r.location, r.server))
}

func short(s string) string {
	if len(s) > 400 {
		return s[:200] + fmt.Sprintf(" … (%d) … ", len(s)) + s[len(s)-120:]
	}
	return s
}
