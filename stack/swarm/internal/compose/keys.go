package compose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// form is what a value has to be, where a text that came of a variable has to be turned into it.
type form int

const (
	asWritten form = iota
	boolean        // true or false
	count          // a whole number
	ratio          // a number
	open           // whatever keys and values there are below belong to whoever reads them
)

// A key's path has * for a name that the manifest chooses, and for an item of a list.
var supported = []struct {
	path string
	form form
}{
	{"name", asWritten}, {"version", asWritten},

	{"services.*.image", asWritten}, {"services.*.profiles", open},
	{"services.*.command", open}, {"services.*.entrypoint", open},
	{"services.*.environment", open}, {"services.*.env_file", open},
	{"services.*.user", asWritten}, {"services.*.working_dir", asWritten}, {"services.*.hostname", asWritten},
	{"services.*.init", boolean}, {"services.*.read_only", boolean}, {"services.*.stdin_open", boolean}, {"services.*.tty", boolean},
	{"services.*.stop_signal", asWritten}, {"services.*.stop_grace_period", asWritten},
	{"services.*.healthcheck.test", open}, {"services.*.healthcheck.interval", asWritten},
	{"services.*.healthcheck.timeout", asWritten}, {"services.*.healthcheck.retries", count},
	{"services.*.healthcheck.start_period", asWritten}, {"services.*.healthcheck.disable", boolean},
	{"services.*.labels", open},
	{"services.*.logging.driver", asWritten}, {"services.*.logging.options", open},
	{"services.*.extra_hosts", open},
	{"services.*.dns", open}, {"services.*.dns_search", open}, {"services.*.dns_opt", open},
	{"services.*.ports.*.target", count}, {"services.*.ports.*.published", asWritten},
	{"services.*.ports.*.protocol", asWritten}, {"services.*.ports.*.mode", asWritten},
	{"services.*.networks.*.aliases", open},
	{"services.*.configs.*.source", asWritten}, {"services.*.configs.*.target", asWritten},
	{"services.*.configs.*.uid", asWritten}, {"services.*.configs.*.gid", asWritten}, {"services.*.configs.*.mode", asWritten},
	{"services.*.secrets.*.source", asWritten}, {"services.*.secrets.*.target", asWritten},
	{"services.*.secrets.*.uid", asWritten}, {"services.*.secrets.*.gid", asWritten}, {"services.*.secrets.*.mode", asWritten},
	{"services.*.volumes.*.type", asWritten}, {"services.*.volumes.*.source", asWritten},
	{"services.*.volumes.*.target", asWritten}, {"services.*.volumes.*.read_only", boolean},
	{"services.*.volumes.*.bind.propagation", asWritten}, {"services.*.volumes.*.volume.nocopy", boolean},
	{"services.*.volumes.*.tmpfs.size", asWritten},

	{"services.*.deploy.mode", asWritten}, {"services.*.deploy.replicas", count},
	{"services.*.deploy.endpoint_mode", asWritten}, {"services.*.deploy.labels", open},
	{"services.*.deploy.update_config.parallelism", count}, {"services.*.deploy.update_config.delay", asWritten},
	{"services.*.deploy.update_config.failure_action", asWritten}, {"services.*.deploy.update_config.monitor", asWritten},
	{"services.*.deploy.update_config.max_failure_ratio", ratio}, {"services.*.deploy.update_config.order", asWritten},
	{"services.*.deploy.rollback_config.parallelism", count}, {"services.*.deploy.rollback_config.delay", asWritten},
	{"services.*.deploy.rollback_config.failure_action", asWritten}, {"services.*.deploy.rollback_config.monitor", asWritten},
	{"services.*.deploy.rollback_config.max_failure_ratio", ratio}, {"services.*.deploy.rollback_config.order", asWritten},
	{"services.*.deploy.restart_policy.condition", asWritten}, {"services.*.deploy.restart_policy.delay", asWritten},
	{"services.*.deploy.restart_policy.max_attempts", count}, {"services.*.deploy.restart_policy.window", asWritten},
	{"services.*.deploy.placement.constraints", open}, {"services.*.deploy.placement.preferences.*.spread", asWritten},
	{"services.*.deploy.placement.max_replicas_per_node", count},
	{"services.*.deploy.resources.limits.cpus", asWritten}, {"services.*.deploy.resources.limits.memory", asWritten},
	{"services.*.deploy.resources.limits.pids", count},
	{"services.*.deploy.resources.reservations.cpus", asWritten}, {"services.*.deploy.resources.reservations.memory", asWritten},

	{"networks.*.name", asWritten}, {"networks.*.external", boolean}, {"networks.*.external.name", asWritten},
	{"networks.*.driver", asWritten}, {"networks.*.driver_opts", open}, {"networks.*.attachable", boolean},
	{"networks.*.internal", boolean}, {"networks.*.labels", open}, {"networks.*.ipam.driver", asWritten},
	{"networks.*.ipam.config.*.subnet", asWritten}, {"networks.*.ipam.config.*.gateway", asWritten},
	{"networks.*.ipam.config.*.ip_range", asWritten},

	{"configs.*.name", asWritten}, {"configs.*.external", boolean}, {"configs.*.external.name", asWritten},
	{"configs.*.file", asWritten}, {"configs.*.content", asWritten}, {"configs.*.labels", open},
	{"secrets.*.name", asWritten}, {"secrets.*.external", boolean}, {"secrets.*.external.name", asWritten},
	{"secrets.*.file", asWritten}, {"secrets.*.content", asWritten}, {"secrets.*.labels", open},
	{"volumes.*.name", asWritten}, {"volumes.*.external", boolean}, {"volumes.*.external.name", asWritten},
	{"volumes.*.driver", asWritten}, {"volumes.*.driver_opts", open}, {"volumes.*.labels", open},
}

// refused says why of keys that people write; every key that is not supported is refused, with or without a reason.
var refused = map[string]string{
	"include": "a manifest is one file", "services.*.extends": "a manifest is one file, and YAML's anchors do the same",
	"services.*.build":                                           "a Swarm builds no images",
	"services.*.container_name":                                  "a Swarm names the containers of a service",
	"services.*.depends_on":                                      "a Swarm starts services in no order; a service has to wait by itself, or restart",
	"services.*.restart":                                         "a Swarm has deploy.restart_policy",
	"services.*.scale":                                           "a Swarm has deploy.replicas",
	"services.*.links":                                           "services reach each other by name",
	"services.*.external_links":                                  "use an external network",
	"services.*.expose":                                          "services of one network reach all ports of each other",
	"services.*.network_mode":                                    "use an external network; that of the node is called host",
	"services.*.tmpfs":                                           "use a volume of type tmpfs",
	"services.*.label_file":                                      "use labels",
	"services.*.devices":                                         "a Swarm gives containers no devices",
	"services.*.privileged":                                      "a Swarm runs no privileged containers",
	"services.*.pid":                                             "a Swarm shares no namespaces",
	"services.*.ipc":                                             "a Swarm shares no namespaces",
	"services.*.userns_mode":                                     "a Swarm shares no namespaces",
	"services.*.security_opt":                                    "a Swarm of this version takes none",
	"services.*.cap_add":                                         "not supported yet",
	"services.*.cap_drop":                                        "not supported yet",
	"services.*.sysctls":                                         "not supported yet",
	"services.*.ulimits":                                         "not supported yet",
	"services.*.cpus":                                            "a Swarm has deploy.resources",
	"services.*.mem_limit":                                       "a Swarm has deploy.resources",
	"services.*.mem_reservation":                                 "a Swarm has deploy.resources",
	"services.*.pids_limit":                                      "a Swarm has deploy.resources",
	"services.*.shm_size":                                        "use a volume of type tmpfs at /dev/shm",
	"services.*.pull_policy":                                     "a Swarm pulls an image where a node lacks it",
	"services.*.platform":                                        "use deploy.placement.constraints",
	"services.*.healthcheck.start_interval":                      "a Swarm of API 1.41 does not know it",
	"services.*.ports.*.host_ip":                                 "a Swarm publishes a port on all addresses",
	"services.*.ports.*.name":                                    "it would be kept nowhere",
	"services.*.ports.*.app_protocol":                            "it would be kept nowhere",
	"services.*.networks.*.ipv4_address":                         "a Swarm chooses the addresses",
	"services.*.networks.*.ipv6_address":                         "a Swarm chooses the addresses",
	"services.*.volumes.*.bind.create_host_path":                 "a Swarm makes no directories on nodes; the path has to be there",
	"services.*.volumes.*.bind.selinux":                          "a Swarm labels no files",
	"services.*.volumes.*.consistency":                           "it means nothing on Linux",
	"services.*.deploy.resources.reservations.devices":           "a Swarm gives containers no devices",
	"services.*.deploy.resources.reservations.generic_resources": "not supported yet",
	"networks.*.enable_ipv6":                                     "a Swarm's networks are of IPv4",
	"networks.*.ipam.options":                                    "not supported yet",
	"configs.*.environment":                                      "use content with a variable in it",
	"secrets.*.environment":                                      "use content with a variable in it",
	"configs.*.template_driver":                                  "not supported yet",
	"secrets.*.template_driver":                                  "not supported yet",
	"secrets.*.driver":                                           "not supported yet",
	"models":                                                     "a Swarm knows no such thing",
	"jobs":                                                       "a Swarm's jobs are not supported yet",
}

// SupportedKeys lists the paths of all keys that Load takes, sorted, * standing for a name or for an item of a list.
func SupportedKeys() []string {
	paths := make([]string, len(supported))
	for i, key := range supported {
		paths[i] = key.path
	}
	slices.Sort(paths)
	return paths
}

// RefusedKeys gives, by path, why keys are refused that people write. All else that SupportedKeys lacks is refused too.
func RefusedKeys() map[string]string {
	copied := make(map[string]string, len(refused))
	for path, why := range refused {
		copied[path] = why
	}
	return copied
}

// rule is what is below one path.
type rule struct {
	below map[string]*rule
	form  form
}

var rules = makeRules()

func makeRules() *rule {
	root := &rule{}
	for _, key := range supported {
		at := root
		for _, part := range strings.Split(key.path, ".") {
			if at.below == nil {
				at.below = map[string]*rule{}
			}
			if at.below[part] == nil {
				at.below[part] = &rule{}
			}
			at = at.below[part]
		}
		at.form = key.form
	}
	return root
}

// checkKeys refuses the keys that are not supported, and takes the extensions out.
func checkKeys(n *node, at *rule, path string, found *faults) {
	if at.form == open || at.below == nil {
		return
	}
	any := at.below["*"]
	for _, item := range n.items {
		if any != nil {
			checkKeys(item, any, path+"*.", found)
		}
	}
	if any == nil {
		n.fields = slices.DeleteFunc(n.fields, func(f field) bool { return strings.HasPrefix(f.key, "x-") })
	}
	for _, f := range n.fields {
		below, name := at.below[f.key], f.key
		if any != nil {
			below, name = any, "*"
		}
		if below == nil {
			found.wrap(f.line, unsupported(path+name, f.key))
			continue
		}
		checkKeys(f.value, below, path+name+".", found)
	}
}

func unsupported(path, key string) error {
	shown := strings.TrimPrefix(strings.ReplaceAll(path, ".*.", "."), "services.")
	if why := refused[path]; why != "" {
		return fmt.Errorf("the key %s is not supported: %s", shown, why)
	}
	return fmt.Errorf("the key %.200s is not supported", strings.TrimSuffix(shown, key)+key)
}

// cast turns texts, of variables or in quotes, into what a key takes.
func cast(n *node, at *rule, found *faults) {
	for _, item := range n.items {
		if below := at.below["*"]; below != nil {
			cast(item, below, found)
		}
	}
	for _, f := range n.fields {
		below := at.below[f.key]
		if below == nil {
			below = at.below["*"]
		}
		if below != nil && at.form != open {
			cast(f.value, below, found)
		}
	}
	text, isText := n.scalar.(string)
	if !isText || n.kind != scalar {
		return
	}
	var err error
	switch at.form {
	case boolean:
		n.scalar, err = strconv.ParseBool(text)
		if text != "true" && text != "false" {
			err = strconv.ErrSyntax
		}
	case count:
		n.scalar, err = strconv.Atoi(text)
	case ratio:
		n.scalar, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		found.add(n.line, "%.80q is not %s", text, map[form]string{boolean: "true or false", count: "a whole number", ratio: "a number"}[at.form])
	}
}
