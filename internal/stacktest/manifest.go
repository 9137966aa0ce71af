package stacktest

import (
	"fmt"
	"strings"

	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
)

// declared is a manifest of this double, read. One has a line each for what it declares, by unscoped names, and for
// what it refers to:
//
//	service app image=web:1 replicas=2 network=front
//	network front
//	external-network ingress
//	config settings
//	secret token
//	mount /srv/data
//	use-secret other_token
type declared struct {
	stack.Stack
	mounts, usesSecrets []string
}

func parse(manifest, name string) (*declared, error) {
	d := &declared{Stack: stack.Stack{
		Name: name, Services: map[string]stack.Service{}, Networks: map[string]stack.Resource{},
		Configs: map[string]stack.Resource{}, Secrets: map[string]stack.Resource{},
	}}
	for i, line := range strings.Split(manifest, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if err := d.add(words); err != nil {
			return nil, errmask.Mask(&stack.ManifestError{Line: i + 1, Err: err})
		}
	}
	return d, nil
}

func (d *declared) add(words []string) error {
	if len(words) < 2 {
		return fmt.Errorf("%q has no name", words[0])
	}
	name, scoped := words[1], Scoped(d.Name, words[1])
	switch words[0] {
	case "service":
		d.Services[scoped] = stack.Service{Fields: d.fields(words[2:])}
	case "network":
		d.Networks[scoped] = stack.Resource{}
	case "external-network":
		d.Networks[name] = stack.Resource{External: true}
	case "config":
		d.Configs[scoped] = stack.Resource{}
	case "secret":
		d.Secrets[scoped] = stack.Resource{}
	case "mount":
		d.mounts = append(d.mounts, name)
	case "use-secret":
		d.usesSecrets = append(d.usesSecrets, name)
	default:
		return fmt.Errorf("there is no %q", words[0])
	}
	return nil
}

func (d *declared) fields(words []string) map[string]string {
	fields := map[string]string{}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if key == "network" {
			value = Scoped(d.Name, value)
		}
		fields[key] = value
	}
	return fields
}

// Scoped is the name that something declared has on the cluster.
func Scoped(stackName, name string) string { return stackName + "_" + name }
