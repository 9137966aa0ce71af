package fleet

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/squadronctl/squadron/internal/errmask"
)

// socketHost stands in for a host in the URLs of requests that go to a unix socket.
const socketHost = "domain-sock"

// endpoint is where requests go.
type endpoint struct {
	// base is scheme, user and host of every request, and the path that stands before fleet's own, without a slash at its end.
	base url.URL
	// socket is the path of the unix socket to dial, empty where base names a real host.
	socket string
	// text is the endpoint in messages, without a password.
	text string
}

// parseEndpoint checks an endpoint's form. An error is one of IsInvalidEndpoint.
func parseEndpoint(u url.URL) (endpoint, error) {
	e := endpoint{text: u.Redacted()}
	err := checkEndpoint(u)
	if err != nil {
		return endpoint{}, withClass(errInvalidEndpoint, errmask.Maskf(err, "endpoint %q", e.text))
	}
	switch u.Scheme {
	case "unix", "file":
		e.socket = u.Path
		e.base = url.URL{Scheme: "http", Host: socketHost}
	default:
		e.base = url.URL{Scheme: u.Scheme, Host: u.Host, User: u.User}
		e.base.Path = strings.TrimRight(u.Path, "/")
		e.base.RawPath = strings.TrimRight(u.EscapedPath(), "/")
	}
	return e, nil
}

func checkEndpoint(u url.URL) error {
	switch u.Scheme {
	case "unix", "file":
		if u.Host != "" || u.User != nil {
			return fmt.Errorf("has the host %q where a path was meant: write %s:///path", u.Host, u.Scheme)
		}
		if !strings.HasPrefix(u.Path, "/") || strings.HasSuffix(u.Path, "/") {
			return errors.New("has no absolute path of a socket")
		}
	case "http", "https":
		if u.Hostname() == "" {
			return errors.New("has no host")
		}
	case "":
		return errors.New("has no scheme: one of unix, file, http, https")
	default:
		return fmt.Errorf("has the unknown scheme %q: it must be unix, file, http or https, as in http://host:port", u.Scheme)
	}
	if strings.ContainsRune(u.Path, 0) {
		return errors.New("has a NUL in its path")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return errors.New("has a query or a fragment")
	}
	return nil
}

// target gives the URL of one of the API's resources, below it of one entry where name is not empty.
func (e endpoint) target(resource, name string, query url.Values) *url.URL {
	u := e.base
	u.RawPath = u.EscapedPath() + apiPath + resource
	u.Path += apiPath + resource
	if name != "" {
		u.Path += "/" + name
		u.RawPath += "/" + url.PathEscape(name)
	}
	u.RawQuery = query.Encode()
	return &u
}
