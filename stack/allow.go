package stack

import (
	"context"
	"fmt"
	"io"
	"log/slog"
)

// Allow are the references outside its own stack that a manifest may make. The zero value allows none.
type Allow struct {
	// HostPaths are directories and files of the host; what lies below a directory is allowed with it. The socket of a container
	// engine is allowed only where it is named itself.
	HostPaths []string
	// Secrets, Configs, Volumes and Networks are those of other stacks, by the names they have on the cluster.
	Secrets, Configs, Volumes, Networks []string
	// Units are those of other stacks, by name, which a unit file may depend on or conflict with.
	Units []string
}

// Credentials resolves the credential for a registry, at the moment it is needed.
type Credentials interface {
	// Credential gives what to log in to the registry with, a host with its port where it has one. The zero Credential is
	// none: the registry is asked without one.
	Credential(ctx context.Context, registry string) (Credential, error)
}

// Credential is what one logs in to a registry with. It prints as nothing that tells.
type Credential struct {
	Username, Password string
	// IdentityToken stands in for both where the registry gave one.
	IdentityToken string
}

// String keeps a credential out of logs.
func (c Credential) String() string {
	if c == (Credential{}) {
		return "no credential"
	}
	return "a credential"
}

// Format does the same for every verb of package fmt, those included that print the fields of whatever they are given.
func (c Credential) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, c.String()) }

// LogValue does the same for package log/slog.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }
