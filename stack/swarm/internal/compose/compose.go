// Package compose reads compose files for a Docker Swarm: it refuses what can't be kept there, with file and line, and gives
// the rest as the specs that the Docker API takes.
//
// It never asks a cluster. Networks, configs and secrets are named in the specs, not identified; whoever writes the specs
// puts the IDs in.
package compose

import (
	"github.com/moby/moby/api/types/swarm"
)

// Input is a manifest and what it refers to.
type Input struct {
	// Stack is the stack's name, which is the namespace of all that the manifest makes.
	Stack string
	// Manifest is a compose file, as it is or as Pack gave it.
	Manifest string
	// ReadFile reads a file that the manifest names, by the path written there. nil: a manifest that needs a file is refused.
	ReadFile func(path string) ([]byte, error)
	// Lookup gives a variable for interpolation. nil: none is set.
	Lookup func(name string) (string, bool)
}

// Stack is what a manifest declares.
type Stack struct {
	// Name is the stack's name.
	Name string
	// Services are sorted by key.
	Services []Service
	// Networks, Configs and Secrets are sorted by key. Those that no service uses are left out, as "docker stack deploy" does
	// with networks alone.
	Networks []Network
	Configs  []Object
	Secrets  []Object
	// Volumes are those that services mount, by key; they are made by the nodes.
	Volumes []Volume
}

// Service is a service of the manifest.
type Service struct {
	// Key is its name in the manifest; its name on the cluster is Spec.Name.
	Key string
	// Line is where it is declared, from 1.
	Line int
	// Spec is all that the manifest says, with the namespace's labels. A network's Target is the network's name on the cluster;
	// of configs and secrets the name on the cluster is set, and the ID empty. Labels for owner and revision are not in it.
	Spec swarm.ServiceSpec
	// References are what the service uses of the world outside the manifest, each with its line.
	References []Reference
}

// Kind says what a Reference is to.
type Kind string

// The kinds of references.
const (
	KindHostPath Kind = "host path"
	KindNetwork  Kind = "network"
	KindConfig   Kind = "config"
	KindSecret   Kind = "secret"
	KindVolume   Kind = "volume"
)

// Reference is one use of what the manifest does not make.
type Reference struct {
	Kind Kind
	// Name is the path on the host, clean and absolute, or the name on the cluster.
	Name string
	Line int
}

// Network is a network that services are attached to.
type Network struct {
	Key, Name string
	External  bool
	Line      int
	Options   NetworkOptions // empty for an external one
}

// NetworkOptions is how a network is made.
type NetworkOptions struct {
	Driver     string
	Attachable bool
	Internal   bool
	Options    map[string]string
	Labels     map[string]string // with the namespace's
	IPAM       *NetworkIPAM      // nil: the engine chooses
}

// NetworkIPAM is the addresses of a network.
type NetworkIPAM struct {
	Driver  string
	Subnets []Subnet
}

// Subnet is one range of a network's addresses.
type Subnet struct{ Subnet, IPRange, Gateway string }

// Object is a config or a secret.
type Object struct {
	Key string
	// Name is the name on the cluster. Where the manifest makes it and gives it no name of its own it ends in a part of the
	// content's hash, so that another content is another object.
	Name     string
	External bool
	Line     int
	// Data is the content; nil where it is external, or was not asked for.
	Data   []byte
	Labels map[string]string // with the namespace's
}

// Volume is a named volume that services mount.
type Volume struct {
	Key, Name string
	External  bool
	Line      int
}
