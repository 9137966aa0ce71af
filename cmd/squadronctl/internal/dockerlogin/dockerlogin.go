// Package dockerlogin gives the registries' credentials that "docker login" keeps in the docker command's configuration.
//
// Only those are given that stand in the file itself. Where the file says that a program keeps them (credsStore, credHelpers)
// that program is not started, and the registry is asked without a credential.
package dockerlogin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/squadronctl/squadron/logging"
	"github.com/squadronctl/squadron/stack"
)

// hub is the registry of images whose names have none, and the name under which "docker login" keeps its credential.
const (
	hub    = "docker.io"
	hubKey = "https://index.docker.io/v1/"
)

// Config is what New needs.
type Config struct {
	// Path is the docker command's config.json. One that is not there has no credentials.
	Path string
	// ReadFile reads it, anew for each credential, so that a new login counts at once.
	ReadFile func(path string) ([]byte, error)
	// Logger is told, at WARNING, of a credential that a program keeps; nil means silence.
	Logger logging.Logger
}

// Path gives the place of the docker command's configuration by the environment; empty where there is none.
func Path(env map[string]string) string {
	switch {
	case env["DOCKER_CONFIG"] != "":
		return filepath.Join(env["DOCKER_CONFIG"], "config.json")
	case env["HOME"] != "":
		return filepath.Join(env["HOME"], ".docker", "config.json")
	default:
		return ""
	}
}

// New gives the credentials of a configuration.
func New(config Config) stack.Credentials {
	config.Logger = logging.OrSilent(config.Logger)
	return logins(config)
}

type logins Config

// Credential implements stack.Credentials. An error is a file that can't be read or understood.
func (l logins) Credential(ctx context.Context, registry string) (stack.Credential, error) {
	if l.Path == "" {
		return stack.Credential{}, nil
	}
	text, err := l.ReadFile(l.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return stack.Credential{}, nil
	}
	if err != nil {
		return stack.Credential{}, fmt.Errorf("read the credential for %s: %w", registry, err)
	}
	file, err := parse(text)
	if err != nil {
		return stack.Credential{}, fmt.Errorf("%s: %w", l.Path, err)
	}
	found, there, err := file.find(registry)
	if err != nil {
		return stack.Credential{}, fmt.Errorf("%s: the credential for %s: %w", l.Path, registry, err)
	}
	if program := file.program(registry); !there && program != "" {
		l.Logger.Warning(ctx, "%s is asked without a credential: docker-credential-%s may keep one, and is not started", registry, program)
	}
	return found, nil
}

// file is the part of the configuration that is about logins.
type file struct {
	Auths       map[string]entry
	CredsStore  string
	CredHelpers map[string]string
}

// entry is one login. Where a program keeps it, it is empty.
type entry struct {
	Auth, Username, Password, IdentityToken string
}

func parse(text []byte) (file, error) {
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		switch { // and none of the text, which may be a credential
		case errors.As(err, &syntax):
			return file{}, fmt.Errorf("it is no JSON, from byte %d on", syntax.Offset)
		case errors.As(err, &kind):
			return file{}, fmt.Errorf("what stands at %q is of another kind than it should be", kind.Field)
		}
		return file{}, errors.New("it can't be understood")
	}
	return f, nil
}

// find gives the login for a registry. Older logins are kept under a URL.
func (f file) find(registry string) (found stack.Credential, there bool, err error) {
	if registry == hub {
		registry = hubKey
	}
	kept, exact := f.Auths[registry]
	if !exact {
		for _, key := range slices.Sorted(maps.Keys(f.Auths)) {
			if hostOf(key) == hostOf(registry) {
				kept = f.Auths[key]
				break
			}
		}
	}
	found, err = kept.credential()
	return found, found != stack.Credential{}, err
}

// hostOf gives the host and port of what a login is kept under.
func hostOf(key string) string {
	_, rest, has := strings.Cut(key, "://")
	if !has {
		rest = key
	}
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// program names the one that keeps a registry's credential; empty for none.
func (f file) program(registry string) string {
	if name := f.CredHelpers[registry]; name != "" {
		return name
	}
	return f.CredsStore
}

var errMalformed = errors.New(`it is not the base64 of user:password; "docker login" writes it anew`)

// credential decodes a login. A user of a token that the registry gave is no name.
func (e entry) credential() (stack.Credential, error) {
	c := stack.Credential{Username: e.Username, Password: e.Password, IdentityToken: e.IdentityToken}
	if e.Auth == "" {
		return c, nil
	}
	text, err := base64.StdEncoding.DecodeString(e.Auth)
	if err != nil || !utf8.Valid(text) {
		return stack.Credential{}, errMalformed
	}
	user, password, has := strings.Cut(string(text), ":")
	if !has || user == "" {
		return stack.Credential{}, errMalformed
	}
	c.Username, c.Password = user, strings.TrimRight(password, "\x00")
	return c, nil
}
