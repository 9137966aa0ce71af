package swarm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"

	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/swarm/internal/compose"
)

// resources are the IDs of what services use, by name.
type resources struct {
	networks, configs, secrets map[string]string
}

// match finds what the manifest uses among what is there. What it calls external has to be there, and what it makes has to be as
// it would make it; what is missing of that is made later.
func (d *deployment) match() error {
	return errors.Join(d.matchNetworks(), d.matchConfigs(), d.matchSecrets())
}

func (d *deployment) matchNetworks() error {
	d.networks = map[string]string{}
	var faults []error
	for _, network := range d.made.Networks {
		there, found := d.there.networks[network.Name]
		switch {
		case found && !network.External:
			faults = append(faults, networkFault(network, there))
		case !found && network.External:
			if !slices.Contains(predefinedNetworks, network.Name) {
				faults = append(faults, missing(network.Line, "network", network.Name))
			}
			there.ID = network.Name
		case !found:
			continue
		}
		d.networks[network.Name] = there.ID
	}
	return errors.Join(faults...)
}

func (d *deployment) matchConfigs() error {
	d.configs = map[string]string{}
	var faults []error
	for _, config := range d.made.Configs {
		there, found := d.there.configs[config.Name]
		switch {
		case found && !config.External && !bytes.Equal(there.Spec.Data, config.Data):
			faults = append(faults, otherContent(config.Line, "config", config.Name))
		case !found && config.External:
			faults = append(faults, missing(config.Line, "config", config.Name))
		}
		if found {
			d.configs[config.Name] = there.ID
		}
	}
	return errors.Join(faults...)
}

func (d *deployment) matchSecrets() error {
	d.secrets = map[string]string{}
	var faults []error
	for _, secret := range d.made.Secrets {
		there, found := d.there.secrets[secret.Name]
		revision, labelled := there.Spec.Labels[labelRevision]
		switch {
		case found && !secret.External && labelled && revision != digestOf(secret.Data): // of one without label nobody can tell
			faults = append(faults, otherContent(secret.Line, "secret", secret.Name))
		case !found && secret.External:
			faults = append(faults, missing(secret.Line, "secret", secret.Name))
		}
		if found {
			d.secrets[secret.Name] = there.ID
		}
	}
	return errors.Join(faults...)
}

func otherContent(line int, kind, name string) error {
	return &stack.ManifestError{Line: line, Err: fmt.Errorf(
		"%s %s is there with another content, and can't be changed: remove it, or give this one another name", kind, name)}
}

func missing(line int, kind, name string) error {
	return &stack.ManifestError{Line: line, Err: fmt.Errorf("the external %s %s is not there", kind, name)}
}

// networkFault says where a network that is there has other options than the manifest's. What Docker fills in is no difference,
// and neither are labels.
func networkFault(want compose.Network, there network.Summary) error {
	options := want.Options
	differs := ""
	switch {
	case driverOf(options) != there.Driver:
		differs = fmt.Sprintf("its driver is %s, and the manifest has %s", there.Driver, driverOf(options))
	case options.Internal != there.Internal:
		differs = fmt.Sprintf("internal is %t, and the manifest has %t", there.Internal, options.Internal)
	case options.Attachable != there.Attachable:
		differs = fmt.Sprintf("attachable is %t, and the manifest has %t", there.Attachable, options.Attachable)
	}
	for name, value := range options.Options {
		if has := there.Options[name]; has != value {
			differs = fmt.Sprintf("its option %s is %q, and the manifest has %q", name, has, value)
		}
	}
	if options.IPAM != nil && differs == "" {
		differs = addressesDiffer(*options.IPAM, there.IPAM)
	}
	if differs == "" {
		return nil
	}
	return &stack.ManifestError{Line: want.Line, Err: fmt.Errorf(
		"%w: of network %s %s; give it another name, or remove the services that use it, and the network", errNetworkFixed, want.Name, differs)}
}

func driverOf(options compose.NetworkOptions) string {
	if options.Driver == "" {
		return "overlay"
	}
	return options.Driver
}

func addressesDiffer(want compose.NetworkIPAM, there network.IPAM) string {
	if want.Driver != "" && want.Driver != there.Driver {
		return fmt.Sprintf("the driver of its addresses is %s, and the manifest has %s", there.Driver, want.Driver)
	}
	for _, subnet := range want.Subnets {
		if !slices.ContainsFunc(there.Config, func(config network.IPAMConfig) bool { return sameSubnet(subnet, config) }) {
			return fmt.Sprintf("it has no subnet %s as in the manifest", subnet.Subnet)
		}
	}
	return ""
}

// sameSubnet compares what the manifest says of a subnet; Docker chooses the rest.
func sameSubnet(want compose.Subnet, there network.IPAMConfig) bool {
	config, err := ipamConfig(want)
	return err == nil && (!config.Subnet.IsValid() || config.Subnet == there.Subnet) &&
		(!config.IPRange.IsValid() || config.IPRange == there.IPRange) && (!config.Gateway.IsValid() || config.Gateway == there.Gateway)
}

// resolves says whether all that a service uses is there.
func (d *deployment) resolves(service compose.Service) bool {
	for _, attached := range service.Spec.TaskTemplate.Networks {
		if _, there := d.networks[attached.Target]; !there {
			return false
		}
	}
	container := service.Spec.TaskTemplate.ContainerSpec
	if container == nil {
		return true
	}
	for _, config := range container.Configs {
		if _, there := d.configs[config.ConfigName]; !there {
			return false
		}
	}
	for _, secret := range container.Secrets {
		if _, there := d.secrets[secret.SecretName]; !there {
			return false
		}
	}
	return true
}

// resolved gives a service's spec with the IDs of what it uses, and with the labels that say whose it is.
func (d *deployment) resolved(service compose.Service) swarm.ServiceSpec {
	spec := service.Spec
	spec.Labels = stamped(spec.Labels, d.req.Owner, d.revisions[spec.Name])
	spec.TaskTemplate.Networks = slices.Clone(spec.TaskTemplate.Networks)
	for i := range spec.TaskTemplate.Networks {
		attached := &spec.TaskTemplate.Networks[i]
		if id := d.networks[attached.Target]; id != "" {
			attached.Target = id
		}
	}
	if spec.TaskTemplate.ContainerSpec == nil {
		return spec
	}
	container := *spec.TaskTemplate.ContainerSpec
	spec.TaskTemplate.ContainerSpec = &container
	container.Configs = slices.Clone(container.Configs)
	for i, config := range container.Configs {
		copied := *config
		copied.ConfigID = d.configs[config.ConfigName]
		container.Configs[i] = &copied
	}
	container.Secrets = slices.Clone(container.Secrets)
	for i, secret := range container.Secrets {
		copied := *secret
		copied.SecretID = d.secrets[secret.SecretName]
		container.Secrets[i] = &copied
	}
	return spec
}

// compared gives the fields of a spec, with networks named in one way.
func (c *core) compared(ctx context.Context, list networkList, spec *swarm.ServiceSpec) (fields, error) {
	copied := *spec
	copied.TaskTemplate.Networks = slices.Clone(spec.TaskTemplate.Networks)
	for i := range copied.TaskTemplate.Networks {
		attached := &copied.TaskTemplate.Networks[i]
		var err error
		if attached.Target, err = c.attachment(ctx, list, attached.Target); err != nil {
			return nil, err
		}
	}
	return fieldsOf(&copied), nil
}

func (f fields) equal(other fields) bool { return maps.Equal(f, other) }
