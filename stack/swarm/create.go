package swarm

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"github.com/squadronctl/squadron/internal/errclass"
	"github.com/squadronctl/squadron/internal/errmask"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/swarm/internal/compose"
)

// makeMissing makes the networks, configs and secrets that are not there.
func (d *deployment) makeMissing(ctx context.Context) error {
	for _, network := range d.made.Networks {
		if _, there := d.networks[network.Name]; !there {
			if err := d.makeNetwork(ctx, network); err != nil {
				return existing(err, "create network %s", network.Name)
			}
		}
	}
	for _, config := range d.made.Configs {
		if _, there := d.configs[config.Name]; there {
			continue
		}
		made, err := d.engine.api.ConfigCreate(ctx, client.ConfigCreateOptions{Spec: swarm.ConfigSpec{
			Annotations: d.annotations(config), Data: config.Data,
		}})
		if err != nil {
			return existing(err, "create config %s", config.Name)
		}
		d.engine.logger.Info(ctx, "stack %s: config %s created", d.req.Name, config.Name)
		d.configs[config.Name] = made.ID
	}
	for _, secret := range d.made.Secrets {
		if _, there := d.secrets[secret.Name]; there {
			continue
		}
		made, err := d.engine.api.SecretCreate(ctx, client.SecretCreateOptions{Spec: swarm.SecretSpec{
			Annotations: d.annotations(secret), Data: secret.Data,
		}})
		if err != nil {
			return existing(err, "create secret %s", secret.Name)
		}
		d.engine.logger.Info(ctx, "stack %s: secret %s created", d.req.Name, secret.Name)
		d.secrets[secret.Name] = made.ID
	}
	return nil
}

// existing is what it means that a thing is there which was not a moment ago: somebody else makes it too, and the next look says
// whose it is.
func existing(err error, format string, args ...any) error {
	if isExisting(err) {
		err = errclass.With(errclass.ErrTemporary, err)
	}
	return errmask.Maskf(err, format, args...)
}

func (d *deployment) annotations(of compose.Object) swarm.Annotations {
	return swarm.Annotations{Name: of.Name, Labels: stamped(of.Labels, d.req.Owner, digestOf(of.Data))}
}

func (d *deployment) makeNetwork(ctx context.Context, want compose.Network) error {
	revision, err := revisionOf(want.Options)
	if err != nil {
		return err
	}
	options := client.NetworkCreateOptions{
		Driver: driverOf(want.Options), Internal: want.Options.Internal, Attachable: want.Options.Attachable,
		Options: want.Options.Options, Labels: stamped(want.Options.Labels, d.req.Owner, revision),
	}
	if ipam := want.Options.IPAM; ipam != nil {
		options.IPAM = &network.IPAM{Driver: ipam.Driver}
		for _, subnet := range ipam.Subnets {
			config, err := ipamConfig(subnet)
			if err != nil {
				return &stack.ManifestError{Line: want.Line, Err: err}
			}
			options.IPAM.Config = append(options.IPAM.Config, config)
		}
	}
	made, err := d.engine.api.NetworkCreate(ctx, want.Name, options)
	if err != nil {
		return err
	}
	d.engine.forgetNetworks()
	d.engine.logger.Info(ctx, "stack %s: network %s created", d.req.Name, want.Name)
	d.networks[want.Name] = made.ID
	return nil
}

func ipamConfig(of compose.Subnet) (config network.IPAMConfig, err error) {
	if of.Subnet != "" {
		if config.Subnet, err = netip.ParsePrefix(of.Subnet); err != nil {
			return config, fmt.Errorf("subnet %q: %w", of.Subnet, err)
		}
	}
	if of.IPRange != "" {
		if config.IPRange, err = netip.ParsePrefix(of.IPRange); err != nil {
			return config, fmt.Errorf("IP range %q: %w", of.IPRange, err)
		}
	}
	if of.Gateway != "" {
		if config.Gateway, err = netip.ParseAddr(of.Gateway); err != nil {
			return config, fmt.Errorf("gateway %q: %w", of.Gateway, err)
		}
	}
	return config, nil
}
