package dockerhost

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// The ports of tcp addresses that name none.
const (
	plainPort = "2375"
	tlsPort   = "2376"
)

// maxSocketPath is how long the path of a unix socket can be on Linux.
const maxSocketPath = 107

var errForm = errors.New("an address is unix:///path, tcp://host:port or ssh://user@host")

// parseAddress reads the address of an engine. An empty one is the default, and one without a scheme is of tcp.
func parseAddress(text string, withTLS bool) (url.URL, error) {
	if text == "" {
		return url.URL{Scheme: "unix", Path: defaultSocket}, nil
	}
	scheme, rest, has := strings.Cut(text, "://")
	if !has {
		if strings.HasPrefix(text, "/") {
			return url.URL{}, fmt.Errorf("write unix://%s", text)
		}
		scheme, rest = "tcp", text
	}
	switch scheme {
	case "unix":
		return parseUnix(rest)
	case "tcp":
		return parseTCP(rest, withTLS)
	case "ssh":
		return parseSSH(rest)
	case "npipe":
		return url.URL{}, fmt.Errorf("only Windows has pipes like that: %w", errForm)
	case "http", "https":
		return url.URL{}, fmt.Errorf("%w, and tcp speaks TLS by DOCKER_TLS_VERIFY or the context's certificates", errForm)
	default:
		return url.URL{}, fmt.Errorf("the scheme %q has no meaning: %w", scheme, errForm)
	}
}

// parseUnix takes a path as it is: no character of it is escaped.
func parseUnix(path string) (url.URL, error) {
	if path == "" {
		path = defaultSocket
	}
	if err := checkSocket(path); err != nil {
		return url.URL{}, err
	}
	return url.URL{Scheme: "unix", Path: path}, nil
}

func checkSocket(path string) error {
	switch {
	case !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/"):
		return errors.New("a socket has an absolute path, as in unix:///var/run/docker.sock")
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errors.New("there is a control character in the socket's path")
	case len(path) > maxSocketPath:
		return fmt.Errorf("no socket has a path of more than %d bytes", maxSocketPath)
	}
	return nil
}

func parseTCP(rest string, withTLS bool) (url.URL, error) {
	address, err := parseHost("tcp", rest)
	if err != nil {
		return url.URL{}, err
	}
	if address.User != nil {
		return url.URL{}, errors.New("a tcp address has no user")
	}
	port := address.Port()
	switch {
	case port != "":
	case withTLS:
		port = tlsPort
	default:
		port = plainPort
	}
	address.Host = net.JoinHostPort(address.Hostname(), port)
	address.Path = strings.TrimRight(address.Path, "/")
	return address, nil
}

func parseSSH(rest string) (url.URL, error) {
	address, err := parseHost("ssh", rest)
	if err != nil {
		return url.URL{}, err
	}
	if _, has := address.User.Password(); has {
		return url.URL{}, errors.New("a password has no place in an address: log in with a key")
	}
	if address.User != nil && address.User.Username() == "" {
		return url.URL{}, errors.New("there is no user before the @")
	}
	if address.Path == "" || address.Path == "/" {
		address.Path = defaultSocket
	}
	return address, checkSocket(address.Path)
}

// parseHost reads what tcp and ssh have in common.
func parseHost(scheme, rest string) (url.URL, error) {
	address, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		var fault *url.Error
		if errors.As(err, &fault) {
			err = fault.Err // without the address, which may hold a password
		}
		return url.URL{}, err
	}
	if address.Hostname() == "" {
		return url.URL{}, fmt.Errorf("there is no host in it: %w", errForm)
	}
	if !isHost(address.Hostname()) {
		return url.URL{}, fmt.Errorf("%q is neither a host's name nor an address", address.Hostname())
	}
	if port := address.Port(); port != "" {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return url.URL{}, fmt.Errorf("port %s is no port number", port)
		}
	}
	if address.RawQuery != "" || address.ForceQuery || address.Fragment != "" {
		return url.URL{}, errors.New("an address has neither a ? nor a #")
	}
	return url.URL{Scheme: scheme, User: address.User, Host: strings.TrimSuffix(address.Host, ":"), Path: address.Path}, nil
}

// isHost says that a text can be a host's name or address.
func isHost(text string) bool {
	if strings.Contains(text, ":") {
		_, err := netip.ParseAddr(text)
		return err == nil
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.", r)
	})
}

// redacted is an address for messages.
func redacted(text string) string {
	address, err := url.Parse(text)
	if err == nil && address.User == nil {
		return text
	}
	if err == nil {
		return address.Redacted()
	}
	if at := strings.LastIndex(text, "@"); at >= 0 {
		return "xxxxx" + text[at:]
	}
	return text
}

var versionForm = regexp.MustCompile(`^v?[0-9]{1,4}\.[0-9]{1,4}$`)

// apiVersion reads a version of the API; empty is none.
func apiVersion(text string) (string, error) {
	text = strings.TrimSpace(text)
	if text != "" && !versionForm.MatchString(text) {
		return "", fmt.Errorf("DOCKER_API_VERSION=%s: a version is like 1.41; without the variable the engine is asked", text)
	}
	return strings.TrimPrefix(text, "v"), nil
}
