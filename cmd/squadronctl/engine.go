package main

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/squadronctl/squadron/cmd/squadronctl/internal/composedir"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/units"
)

// The engines of declared stacks.
const (
	engineUnits = "units"
	engineSwarm = "swarm"
)

// stackEngine is what the commands about declared stacks ask of an engine themselves.
type stackEngine interface {
	stack.Backend
	stack.OwnerLister
}

// engineFlags say what stacks are deployed on, and what they may use there.
type engineFlags struct {
	engine     string
	own        string
	ownService string
	allow      stack.Allow
}

// Flags that have a meaning with one of the engines only.
var (
	unitsFlags = []string{"fleet-endpoint", "tunnel", "ca-file", "cert-file", "key-file", "stamp", "allow-unit"}
	swarmFlags = []string{"own-service", "allow-network", "allow-config", "allow-secret", "allow-volume"}
)

func (a *app) addEngineFlags(command *cobra.Command, f *engineFlags) {
	f.engine = engineUnits
	flags := command.Flags()
	flags.Var(&choice{value: &f.engine, choices: []string{engineUnits, engineSwarm}}, "engine",
		"what stacks are deployed on: units of systemd, or the swarm whose manager DOCKER_HOST or DOCKER_CONTEXT tells (SQUADRON_ENGINE)")
	completeFlag(command, "engine", engineUnits, engineSwarm)
	for _, reference := range []struct {
		kind  string
		names *[]string
		usage string
	}{
		{"host-path", &f.allow.HostPaths, "a `path` of hosts that stacks may use, with what lies below; a container engine's socket only where it is named itself. May be repeated, as all of these"},
		{"unit", &f.allow.Units, "a `unit` of another stack that stacks may depend on or conflict with"},
		{"network", &f.allow.Networks, "a `network` outside of their stack that stacks may use"},
		{"config", &f.allow.Configs, "a `config` outside of their stack that stacks may use"},
		{"secret", &f.allow.Secrets, "a `secret` outside of their stack that stacks may use"},
		{"volume", &f.allow.Volumes, "a `volume` outside of their stack that stacks may use"},
	} {
		flags.StringArrayVar(reference.names, "allow-"+reference.kind, nil, reference.usage)
		if reference.kind != "host-path" { // which is a file's, as it were
			completeFlag(command, "allow-"+reference.kind)
		}
	}
}

// checkEngine refuses flags, and settings of a context, that don't go with the engine. Those of the environment are of no
// concern: they may be meant for other commands.
func (a *app) checkEngine(flags *pflag.FlagSet, engine string) error {
	others, needed := swarmFlags, engineSwarm
	if engine == engineSwarm {
		others, needed = unitsFlags, engineUnits
	}
	for _, flag := range others {
		switch {
		case flags.Changed(flag):
			return usagef("--%s has a meaning with --engine %s only, and the engine is %s", flag, needed, engine)
		case a.settings.sources[flag] == "context":
			return usagef("the context's %s has a meaning with the engine %s only, and the engine is %s", contextKey(flag), needed, engine)
		}
	}
	return nil
}

// ofAnotherEngine says that flags or variables ask for another engine than the one that a context is of.
func (a *app) ofAnotherEngine(flags *pflag.FlagSet, values map[string]string) bool {
	if a.settings.sources["engine"] == "" {
		return false
	}
	of := values["engine"]
	if of == "" {
		of = engineUnits
	}
	return flags.Lookup("engine").Value.String() != of
}

// newEngine makes an engine, and what ends its connections once nothing is under way any more. Files are those that compose
// files name; nil where nobody knows them.
func (a *app) newEngine(f engineFlags, store stack.RevisionStore, files *composedir.Source) (stackEngine, func(), error) {
	if f.engine == engineSwarm {
		return a.swarmEngine(f, store, files)
	}
	fleet, tunnel, err := a.backend(0)
	if err != nil {
		return nil, nil, err
	}
	engine, err := units.New(units.Config{
		Fleet: fleet, Store: store, Own: f.own, Logger: a.logger(),
		WaitSleep: a.settings.waitSleep, WaitTimeout: a.settings.timeout,
	})
	if err != nil {
		closeTunnel(tunnel)
		return nil, nil, err
	}
	return engine, func() {
		_ = engine.Close() // nothing is under way any more
		if closer, ok := fleet.(io.Closer); ok {
			_ = closer.Close() // the same
		}
		closeTunnel(tunnel)
	}, nil
}
