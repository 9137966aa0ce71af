package swarm

import (
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/swarm/internal/compose"
)

// Pack makes a manifest of a compose file: the text, and below it comments with the digest of each file that it names, and of each
// variable that it uses. So a file that has changed makes another manifest, which a reconciler deploys; and what a manifest of the
// past declared can be told without the files of that time. What is deployed later has to be what was packed: contents that have
// changed since are an error, and nothing is written then. A manifest that is packed already is packed anew.
//
// A compose file that is not packed can be deployed too; but a sweep proves nothing by it once a file that it names is gone.
//
// readFile and lookup are as in Config; nil where there are no files, or no variables. A fault of the compose file is a
// *stack.ManifestError, or several joined.
func Pack(manifest string, readFile func(path string) ([]byte, error), lookup func(name string) (string, bool)) (string, error) {
	packed, err := compose.Pack(manifest, readFile, lookup)
	return packed, errmask.Maskf(err, "pack a manifest")
}

// load reads a manifest with all that it refers to.
func (c *core) load(manifest, name string) (*compose.Stack, error) {
	if err := checkStackName(name); err != nil {
		return nil, err
	}
	input := compose.Input{Stack: name, Manifest: manifest, Lookup: c.config.Lookup}
	if read := c.config.ReadFile; read != nil {
		input.ReadFile = func(path string) ([]byte, error) { return read(name, path) }
	}
	return compose.Load(input)
}

// declared reads the names of what a manifest declares.
func (c *core) declared(manifest, name string) (*stack.Stack, error) {
	if err := checkStackName(name); err != nil {
		return nil, err
	}
	made, err := compose.Declared(name, manifest, c.config.Lookup)
	if err != nil {
		return nil, err
	}
	return namesOf(made), nil
}

// namesOf gives what a manifest declares, without any fields.
func namesOf(made *compose.Stack) *stack.Stack {
	declared := &stack.Stack{
		Name: made.Name, Services: map[string]stack.Service{}, Networks: map[string]stack.Resource{},
		Configs: map[string]stack.Resource{}, Secrets: map[string]stack.Resource{},
	}
	for _, service := range made.Services {
		declared.Services[service.Spec.Name] = stack.Service{}
	}
	for _, network := range made.Networks {
		declared.Networks[network.Name] = stack.Resource{External: network.External}
	}
	for _, config := range made.Configs {
		declared.Configs[config.Name] = stack.Resource{External: config.External}
	}
	for _, secret := range made.Secrets {
		declared.Secrets[secret.Name] = stack.Resource{External: secret.External}
	}
	return declared
}
