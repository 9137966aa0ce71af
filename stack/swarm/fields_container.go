package swarm

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/swarm"
)

// container adds the fields of what runs.
func (f fields) container(c *swarm.ContainerSpec) {
	if c == nil {
		return
	}
	f["image"] = tagged(c.Image)
	f.named("container-label", c.Labels)
	f.list("command", c.Command)
	f.list("args", c.Args)
	for _, pair := range c.Env {
		name, value, set := strings.Cut(pair, "=")
		if !set {
			value = "(taken out)"
		}
		f["env."+name] = value
	}
	f.text("hostname", c.Hostname, "")
	f.text("dir", c.Dir, "")
	f.text("user", c.User, "")
	f.set("groups", c.Groups)
	if c.Init != nil {
		f["init"] = fmt.Sprint(*c.Init)
	}
	f.text("stop-signal", c.StopSignal, "")
	f.period("stop-grace-period", c.StopGracePeriod, 10*time.Second)
	f.flag("tty", c.TTY)
	f.flag("stdin-open", c.OpenStdin)
	f.flag("read-only", c.ReadOnly)
	f.healthcheck(c.Healthcheck)
	f.list("hosts", c.Hosts)
	if dns := c.DNSConfig; dns != nil {
		for i, server := range dns.Nameservers {
			f[fmt.Sprintf("dns.nameservers[%d]", i)] = server.String()
		}
		f.list("dns.search", dns.Search)
		f.list("dns.options", dns.Options)
	}
	f.mounts(c.Mounts)
	f.files(c)
	f.confinement(c)
}

// tagged is an image's name as Docker keeps it: an image without a tag is the latest.
func tagged(image string) string {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return image
	}
	return reference.FamiliarString(reference.TagNameOnly(named))
}

// confinement is what a container may do.
func (f fields) confinement(c *swarm.ContainerSpec) {
	if c.Privileges != nil && !reflect.ValueOf(*c.Privileges).IsZero() {
		f.rest("privileges", c.Privileges)
	}
	f.text("isolation", string(c.Isolation), string(container.IsolationDefault))
	f.named("sysctl", c.Sysctls)
	f.set("capability-add", c.CapabilityAdd)
	f.set("capability-drop", c.CapabilityDrop)
	for _, limit := range c.Ulimits {
		if limit != nil {
			f["ulimit."+limit.Name] = fmt.Sprintf("%d:%d", limit.Soft, limit.Hard)
		}
	}
	f.number("oom-score-adj", c.OomScoreAdj, 0)
}

func (f fields) healthcheck(check *container.HealthConfig) {
	if check == nil {
		return
	}
	f.list("healthcheck.test", check.Test)
	f.duration("healthcheck.interval", check.Interval, 0)
	f.duration("healthcheck.timeout", check.Timeout, 0)
	f.duration("healthcheck.start-period", check.StartPeriod, 0)
	f.duration("healthcheck.start-interval", check.StartInterval, 0)
	f.number("healthcheck.retries", int64(check.Retries), 0)
}

// mounts are by where they are mounted, since their order says nothing.
func (f fields) mounts(mounts []mount.Mount) {
	mounts = slices.Clone(mounts)
	slices.SortStableFunc(mounts, func(a, b mount.Mount) int { return strings.Compare(a.Target, b.Target) })
	for i, m := range mounts {
		name := fmt.Sprintf("mounts[%d]", i)
		kind := cmp.Or(m.Type, mount.TypeBind) // as Swarm has it where nothing is said
		text := fmt.Sprintf("%s %s:%s", kind, m.Source, m.Target)
		if m.ReadOnly {
			text += " read-only"
		}
		f[name] = text
		f.text(name+".consistency", string(m.Consistency), string(mount.ConsistencyDefault))
		f.bind(name, m.BindOptions)
		f.volume(name, m.VolumeOptions)
		if tmpfs := m.TmpfsOptions; tmpfs != nil {
			f.number(name+".tmpfs-size", tmpfs.SizeBytes, 0)
			if tmpfs.Mode != 0 {
				f[name+".tmpfs-mode"] = octal(tmpfs.Mode)
			}
			if len(tmpfs.Options) > 0 {
				f.rest(name+".tmpfs-options", tmpfs.Options)
			}
		}
		if m.ImageOptions != nil {
			f.text(name+".image-subpath", m.ImageOptions.Subpath, "")
		}
	}
}

func (f fields) bind(name string, bind *mount.BindOptions) {
	if bind == nil {
		return
	}
	f.text(name+".propagation", string(bind.Propagation), string(mount.PropagationRPrivate))
	f.flag(name+".non-recursive", bind.NonRecursive)
	f.flag(name+".create", bind.CreateMountpoint)
	f.flag(name+".read-only-non-recursive", bind.ReadOnlyNonRecursive)
	f.flag(name+".read-only-force-recursive", bind.ReadOnlyForceRecursive)
}

func (f fields) volume(name string, volume *mount.VolumeOptions) {
	if volume == nil {
		return
	}
	f.flag(name+".no-copy", volume.NoCopy)
	f.named(name+".label", volume.Labels)
	f.text(name+".subpath", volume.Subpath, "")
	if volume.DriverConfig != nil {
		f.text(name+".driver", volume.DriverConfig.Name, "local")
		f.named(name+".driver-opt", volume.DriverConfig.Options)
	}
}

// files are the configs and secrets that a container has, each kind sorted.
func (f fields) files(c *swarm.ContainerSpec) {
	var configs, secrets []string
	for _, config := range c.Configs {
		switch {
		case config == nil:
		case config.File != nil:
			target := config.File
			configs = append(configs, mountedFile(config.ConfigName, target.Name, target.UID, target.GID, target.Mode))
		default:
			configs = append(configs, config.ConfigName+" for the engine")
		}
	}
	for _, secret := range c.Secrets {
		switch {
		case secret == nil:
		case secret.File != nil:
			target := secret.File
			secrets = append(secrets, mountedFile(secret.SecretName, target.Name, target.UID, target.GID, target.Mode))
		default:
			secrets = append(secrets, secret.SecretName)
		}
	}
	f.set("configs", configs)
	f.set("secrets", secrets)
}

func mountedFile(name, target, uid, gid string, mode os.FileMode) string {
	return fmt.Sprintf("%s:%s %s:%s %s", name, target, cmp.Or(uid, "0"), cmp.Or(gid, "0"), octal(mode))
}

func octal(mode os.FileMode) string { return fmt.Sprintf("%#o", uint32(mode)) }
