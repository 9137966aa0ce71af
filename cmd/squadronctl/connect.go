package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net/url"
	"os"
	"time"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/systemd"
	"github.com/squadronctl/squadron/task"
)

// requestTimeout is how long a single request may take, where --timeout allows as much.
const requestTimeout = 30 * time.Second

// session is a command's connection to a cluster.
type session struct {
	app     *app
	fleet   fleet.Fleet
	control controller.Controller
	tasks   task.Service
	tunnel  io.Closer // nil without a tunnel
	// detached says that a task still runs, and is left to end with the process.
	detached bool
}

// connect makes a session. It does not talk to the cluster yet.
func (a *app) connect() (*session, error) {
	s := &session{app: a}
	var err error
	if s.fleet, s.tunnel, err = a.backend(0); err != nil {
		return nil, err
	}
	s.tasks = task.NewTaskService(task.DefaultConfig())
	s.control = controller.NewController(controller.Config{
		Fleet:       s.fleet,
		TaskService: s.tasks,
		WaitSleep:   a.settings.waitSleep,
		WaitTimeout: a.settings.timeout,
		Logger:      a.logger(),
		Stamp:       a.settings.stamp,
	})
	return s, nil
}

// close ends the connection, and the tasks that still run, for which it waits.
func (s *session) close() {
	if closer, ok := s.control.(io.Closer); ok {
		_ = closer.Close() // of what a command has done nothing depends on it
	}
	closeTunnel(s.tunnel)
}

func closeTunnel(tunnel io.Closer) {
	if tunnel != nil {
		_ = tunnel.Close() // the same
	}
}

// backend makes what carries out the operations, and the tunnel that it goes through, if any. Retries is as in
// fleet.Config.
func (a *app) backend(retries int) (fleet.Fleet, io.Closer, error) {
	endpoint, err := a.endpoint()
	if err != nil {
		return nil, nil, err
	}
	if endpoint.Scheme == "systemd" {
		backend, err := a.systemd(endpoint)
		return backend, nil, err
	}
	certificates, err := a.certificates(endpoint)
	if err != nil {
		return nil, nil, err
	}
	config := fleet.Config{
		Endpoint:       endpoint,
		Logger:         a.logger(),
		RequestTimeout: min(requestTimeout, a.settings.timeout),
		Retries:        retries,
	}
	var closer io.Closer
	if a.settings.tunnel == "" {
		config.TLS = certificates
	} else {
		tunnel, err := a.sshTunnel(endpoint, certificates)
		if err != nil {
			return nil, nil, err
		}
		config.SSHTunnel = tunnel
		closer, _ = tunnel.(io.Closer)
	}
	client, err := fleet.NewFleet(config)
	if err != nil {
		closeTunnel(closer)
		return nil, nil, hinted{err: err, hint: "an endpoint is unix:///path, http://host:port or https://host:port"}
	}
	return client, closer, nil
}

func (a *app) endpoint() (url.URL, error) {
	endpoint, err := url.Parse(a.settings.endpoint)
	if err != nil {
		return url.URL{}, usagef("endpoint %q is no URL: an endpoint is unix:///path, http://host:port or https://host:port", a.settings.endpoint)
	}
	return *endpoint, nil
}

func (a *app) sshTunnel(endpoint url.URL, certificates *tls.Config) (fleet.SSHTunnel, error) {
	tunnel, err := fleet.NewSSHTunnel(fleet.SSHTunnelConfig{
		Endpoint:              endpoint,
		TLS:                   certificates,
		KnownHostsFile:        a.settings.knownHostsFile,
		Logger:                a.logger(),
		StrictHostKeyChecking: a.settings.strictHostKeyChecking,
		Tunnel:                a.settings.tunnel,
		Timeout:               a.settings.sshTimeout,
		Username:              a.settings.sshUsername,
		IdentityFile:          a.settings.identity,
	})
	if err != nil {
		return nil, usageError{err: err}
	}
	return tunnel, nil
}

// certificates reads what an https endpoint needs; nil for other endpoints. There files that the environment names are of
// no concern, but those of the command line are an error: whoever gives them counts on TLS.
func (a *app) certificates(endpoint url.URL) (*tls.Config, error) {
	s := a.settings
	if endpoint.Scheme != "https" {
		for _, flag := range []string{"ca-file", "cert-file", "key-file"} {
			if s.sources[flag] == "--"+flag {
				return nil, usagef("--%s has a meaning for https endpoints only, and the endpoint is %s", flag, s.endpoint)
			}
		}
		return nil, nil
	}
	if s.caFile == "" && s.certFile == "" && s.keyFile == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.caFile != "" {
		text, err := os.ReadFile(s.caFile)
		if err != nil {
			return nil, usagef("read the CA certificates: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, usagef("read the CA certificates: %s has none", s.caFile)
		}
	}
	if (s.certFile == "") != (s.keyFile == "") {
		return nil, usagef("--cert-file and --key-file go together")
	}
	if s.certFile != "" {
		certificate, err := tls.LoadX509KeyPair(s.certFile, s.keyFile)
		if err != nil {
			return nil, usagef("read the client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return config, nil
}

// logger writes to standard error: warnings, with -v also what is done, with -vv details.
func (a *app) logger() logging.Logger {
	level := slog.LevelWarn
	switch {
	case a.settings.verbose > 1:
		level = slog.LevelDebug
	case a.settings.verbose == 1:
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: logging.ReplaceLevel}
	if a.settings.logFormat == "json" {
		return logging.FromSlog(slog.New(slog.NewJSONHandler(a.err, options)))
	}
	return logging.FromSlog(slog.New(slog.NewTextHandler(a.err, options)))
}

// systemd makes the backend of this host alone.
func (a *app) systemd(endpoint url.URL) (fleet.Fleet, error) {
	if endpoint.Opaque != "" && endpoint.Opaque != "user" || endpoint.Host != "" || endpoint.Path != "" {
		return nil, usagef("endpoint %q: there are systemd: and systemd:user", a.settings.endpoint)
	}
	if a.settings.tunnel != "" {
		return nil, usagef("endpoint %q is of this host, and can't be reached through a tunnel", a.settings.endpoint)
	}
	return systemd.New(systemd.Config{User: endpoint.Opaque == "user", Logger: a.logger()})
}

// withSession runs what needs a connection. One that is detached is not closed, since that would wait for its tasks.
func (a *app) withSession(work func(*session) error) error {
	s, err := a.connect()
	if err != nil {
		return err
	}
	err = work(s)
	if !s.detached {
		s.close()
	}
	return err
}

// read runs what only looks at the cluster: it ends with an interrupt, and after --timeout.
func (a *app) read(work func(context.Context, *session) error) error {
	return a.withSession(func(s *session) error {
		ctx, cancel := a.context()
		defer cancel()
		return a.orInterrupted(work(ctx, s))
	})
}
