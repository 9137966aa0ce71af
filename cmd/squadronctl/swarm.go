package main

import (
	"errors"
	"os"
	"strings"

	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/composedir"
	"github.com/squadronctl/squadron/cmd/squadronctl/internal/dockerhost"
	"github.com/squadronctl/squadron/cmd/squadronctl/internal/dockerlogin"
	"github.com/squadronctl/squadron/fleet"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/swarm"
)

// swarmEngine makes the engine of the Docker Swarm that the docker command would talk to, and what ends its connections.
func (a *app) swarmEngine(f engineFlags, store stack.RevisionStore, files *composedir.Source) (stackEngine, func(), error) {
	host, err := dockerhost.Resolve(a.env, os.ReadFile)
	if err != nil {
		return nil, nil, usageError{err: err}
	}
	docker, closer, err := host.Client(a.dockerTunnel(), client.WithTimeout(min(requestTimeout, a.settings.timeout)))
	if err != nil {
		return nil, nil, usageError{err: err}
	}
	end := func() { _ = closer.Close() } // nothing is under way any more
	readFile := func(_, _ string) ([]byte, error) { return nil, errNoFiles }
	if files != nil {
		readFile = files.ReadFile
	}
	engine, err := swarm.New(swarm.Config{
		Client: docker, Store: store, Own: f.own, OwnService: f.ownService, ReadFile: readFile, Lookup: a.lookup, Logger: a.logger(),
		PollInterval: a.settings.waitSleep, WaitTimeout: a.settings.timeout,
	})
	if err != nil {
		end()
		return nil, nil, err
	}
	return engine, end, nil
}

var errNoFiles = errors.New("name the directory of the compose files, as in \"squadronctl drift DIR\", with its files as they were when it was deployed")

// lookup gives a variable of the environment.
func (a *app) lookup(name string) (string, bool) {
	value, set := a.env[name]
	return value, set
}

// dockerTunnel says how to log in to the host of an ssh address. What is meant for fleetctl's tunnel does not count, and the
// defaults are those of SSH.
func (a *app) dockerTunnel() fleet.SSHTunnelConfig {
	s := a.settings
	set := func(flag string) bool {
		return s.sources[flag] != "" && !strings.HasPrefix(s.sources[flag], "FLEETCTL_")
	}
	config := fleet.SSHTunnelConfig{
		Logger: a.logger(), Timeout: s.sshTimeout, KnownHostsFile: "~/.ssh/known_hosts", Username: a.env["USER"], StrictHostKeyChecking: true,
	}
	if set("ssh-known-hosts-file") {
		config.KnownHostsFile = s.knownHostsFile
	}
	if set("ssh-username") {
		config.Username = s.sshUsername
	}
	if set("ssh-strict-host-key-checking") {
		config.StrictHostKeyChecking = s.strictHostKeyChecking
	}
	if set("ssh-identity") {
		config.IdentityFile = s.identity
	}
	return config
}

// dockerCredentials are those that "docker login" has kept.
func (a *app) dockerCredentials() stack.Credentials {
	return dockerlogin.New(dockerlogin.Config{Path: dockerlogin.Path(a.env), ReadFile: os.ReadFile, Logger: a.logger()})
}
