// Package dockerhost finds out which Docker engine to talk to, as the docker command does, and how to reach it.
//
// The engine is the first that is set of
//
//	DOCKER_HOST      an address
//	DOCKER_CONTEXT   the name of a context that "docker context create" made
//	currentContext   the same, in config.json of $DOCKER_CONFIG or ~/.docker
//
// and else the one that listens at /var/run/docker.sock. An address is unix:///path, tcp://host:port or
// ssh://user@host:port/path, where the path is that of the socket on the far side. No process is started for any of them.
package dockerhost

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
)

// defaultSocket is where an engine listens if nobody says otherwise.
const defaultSocket = "/var/run/docker.sock"

// Host is an engine, and how to reach it.
type Host struct {
	// Source says what names the engine, for messages: DOCKER_HOST, or a context and where its name stands.
	Source string
	// URL has the scheme unix, with the socket's Path; tcp, with a Host of name and port; or ssh, with the Host to log in
	// to, the User where one is named, and the Path of the socket there.
	URL url.URL
	// TLS is what a tcp address is spoken to with; nil is no TLS at all.
	TLS *tls.Config
	// APIVersion is the version of the API to speak; empty is one that both sides know.
	APIVersion string
}

// Resolve finds the engine by the environment, and by the docker command's files, which are read by readFile. It connects to
// nothing. An error names the variable or the context that is at fault.
func Resolve(env map[string]string, readFile func(path string) ([]byte, error)) (Host, error) {
	f := files{env: env, read: readFile}
	host, err := f.find()
	if err != nil {
		return Host{}, err
	}
	if host.APIVersion, err = apiVersion(env["DOCKER_API_VERSION"]); err != nil {
		return Host{}, err
	}
	return host, nil
}

// files are the docker command's own.
type files struct {
	env  map[string]string
	read func(path string) ([]byte, error)
}

// directory is that of the docker command's files; empty where there is none.
func (f files) directory() string {
	switch {
	case f.env["DOCKER_CONFIG"] != "":
		return f.env["DOCKER_CONFIG"]
	case f.env["HOME"] != "":
		return filepath.Join(f.env["HOME"], ".docker")
	default:
		return ""
	}
}

func (f files) find() (Host, error) {
	if text := f.env["DOCKER_HOST"]; text != "" {
		host, err := f.fromAddress(text)
		if err != nil {
			return Host{}, fmt.Errorf("DOCKER_HOST=%s: %w", redacted(text), err)
		}
		return host, nil
	}
	name, source, err := f.contextName()
	if err != nil {
		return Host{}, err
	}
	if name == "" || name == "default" { // which no file is about
		return Host{Source: "the default", URL: url.URL{Scheme: "unix", Path: defaultSocket}}, nil
	}
	source = fmt.Sprintf("docker context %q (%s)", name, source)
	host, err := f.fromContext(name)
	if err != nil {
		return Host{}, fmt.Errorf("%s: %w", source, err)
	}
	host.Source = source
	return host, nil
}

// fromAddress makes a host of DOCKER_HOST and what goes with it.
func (f files) fromAddress(text string) (Host, error) {
	verify := f.env["DOCKER_TLS_VERIFY"] != ""
	address, err := parseAddress(text, verify)
	if err != nil {
		return Host{}, err
	}
	host := Host{Source: "DOCKER_HOST", URL: address}
	if address.Scheme != "tcp" {
		return host, nil
	}
	if !verify {
		if f.env["DOCKER_TLS"] != "" {
			return Host{}, errors.New("DOCKER_TLS asks for TLS with whoever answers; set DOCKER_TLS_VERIFY=1, and give the CA in DOCKER_CERT_PATH")
		}
		return host, nil
	}
	variable, directory := "DOCKER_CERT_PATH", f.env["DOCKER_CERT_PATH"]
	if directory == "" {
		variable, directory = "", f.directory()
	}
	found, err := f.certificates(directory)
	if err != nil {
		return Host{}, fmt.Errorf("DOCKER_TLS_VERIFY: %w", err)
	}
	if found == nil {
		if variable != "" {
			return Host{}, fmt.Errorf("%s=%s: there is no ca.pem, and no cert.pem with its key.pem either", variable, directory)
		}
		found = newTLS()
	}
	host.TLS = found
	return host, nil
}
