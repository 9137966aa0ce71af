package swarm

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/api/types/swarm"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// registryAuth gives the credential for a service's image as the API takes it, empty where nobody says any. Each registry is asked
// for once in a deployment.
func (d *deployment) registryAuth(ctx context.Context, spec swarm.ServiceSpec) (string, error) {
	if d.engine.credentials == nil || spec.TaskTemplate.ContainerSpec == nil {
		return "", nil
	}
	named, err := reference.ParseNormalizedNamed(spec.TaskTemplate.ContainerSpec.Image)
	if err != nil {
		return "", nil // the engine will say what is wrong with the image
	}
	host := reference.Domain(named)
	if encoded, known := d.auth[host]; known {
		return encoded, nil
	}
	credential, err := d.engine.credentials.Credential(ctx, host)
	if err != nil {
		return "", errmask.Maskf(err, "registry %s", host)
	}
	encoded, err := encodeAuth(credential, host)
	if err == nil {
		d.auth[host] = encoded
	}
	return encoded, err
}

// encodeAuth writes a credential as the API takes it. None is written too: what a service had before would stay otherwise.
func encodeAuth(credential stack.Credential, host string) (string, error) {
	config := registry.AuthConfig{Username: credential.Username, Password: credential.Password, IdentityToken: credential.IdentityToken}
	if credential != (stack.Credential{}) {
		config.ServerAddress = host
	}
	text, err := json.Marshal(config)
	return base64.URLEncoding.EncodeToString(text), err
}
