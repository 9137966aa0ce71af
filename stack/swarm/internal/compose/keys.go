package compose

import (
	"fmt"
	"slices"
	"strings"
)

// form is what a value has to be.
type form int

const (
	section    form = iota // a mapping of the keys below
	named                  // a mapping of names that the manifest chooses
	items                  // a list of mappings
	shorts                 // a list of mappings, or of what stands for one in short syntax
	choice                 // a list of names, or a mapping of them
	external               // true or false, or a mapping of the keys below
	written                // a text
	figure                 // a text or a number
	boolean                // true or false
	count                  // a whole number
	ratio                  // a number
	textList               // a list of texts
	textOrList             // a text, or a list of texts
	figures                // a mapping of texts and numbers
	pairs                  // a mapping of texts, numbers and booleans, or a list of texts
	hosts                  // a mapping of texts and lists of texts, or a list of texts
	paths                  // a text, or a list of texts and of mappings, which are told apart where they are read
)

// A key's path has * for a name that the manifest chooses, and for an item of a list.
var supported = []struct {
	path string
	form form
}{
	{"name", written}, {"version", written},

	{"services", named}, {"networks", named}, {"configs", named}, {"secrets", named}, {"volumes", named},
	{"services.*.ports", shorts}, {"services.*.networks", choice}, {"services.*.configs", shorts}, {"services.*.secrets", shorts},
	{"services.*.volumes", shorts}, {"services.*.deploy.placement.preferences", items}, {"networks.*.ipam.config", items},
	{"networks.*.external", external}, {"configs.*.external", external}, {"secrets.*.external", external},
	{"volumes.*.external", external},

	{"services.*.image", written}, {"services.*.profiles", textList},
	{"services.*.command", textOrList}, {"services.*.entrypoint", textOrList},
	{"services.*.environment", pairs}, {"services.*.env_file", paths},
	{"services.*.user", written}, {"services.*.working_dir", written}, {"services.*.hostname", written},
	{"services.*.init", boolean}, {"services.*.read_only", boolean}, {"services.*.stdin_open", boolean}, {"services.*.tty", boolean},
	{"services.*.stop_signal", written}, {"services.*.stop_grace_period", written},
	{"services.*.healthcheck.test", textOrList}, {"services.*.healthcheck.interval", written},
	{"services.*.healthcheck.timeout", written}, {"services.*.healthcheck.retries", count},
	{"services.*.healthcheck.start_period", written}, {"services.*.healthcheck.disable", boolean},
	{"services.*.labels", pairs},
	{"services.*.logging.driver", written}, {"services.*.logging.options", figures},
	{"services.*.extra_hosts", hosts},
	{"services.*.dns", textOrList}, {"services.*.dns_search", textOrList}, {"services.*.dns_opt", textList},
	{"services.*.ports.*.target", count}, {"services.*.ports.*.published", figure},
	{"services.*.ports.*.protocol", written}, {"services.*.ports.*.mode", written},
	{"services.*.networks.*.aliases", textList},
	{"services.*.configs.*.source", written}, {"services.*.configs.*.target", written},
	{"services.*.configs.*.uid", written}, {"services.*.configs.*.gid", written}, {"services.*.configs.*.mode", figure},
	{"services.*.secrets.*.source", written}, {"services.*.secrets.*.target", written},
	{"services.*.secrets.*.uid", written}, {"services.*.secrets.*.gid", written}, {"services.*.secrets.*.mode", figure},
	{"services.*.volumes.*.type", written}, {"services.*.volumes.*.source", written},
	{"services.*.volumes.*.target", written}, {"services.*.volumes.*.read_only", boolean},
	{"services.*.volumes.*.bind.propagation", written}, {"services.*.volumes.*.volume.nocopy", boolean},
	{"services.*.volumes.*.tmpfs.size", figure},

	{"services.*.deploy.mode", written}, {"services.*.deploy.replicas", count},
	{"services.*.deploy.endpoint_mode", written}, {"services.*.deploy.labels", pairs},
	{"services.*.deploy.update_config.parallelism", count}, {"services.*.deploy.update_config.delay", written},
	{"services.*.deploy.update_config.failure_action", written}, {"services.*.deploy.update_config.monitor", written},
	{"services.*.deploy.update_config.max_failure_ratio", ratio}, {"services.*.deploy.update_config.order", written},
	{"services.*.deploy.rollback_config.parallelism", count}, {"services.*.deploy.rollback_config.delay", written},
	{"services.*.deploy.rollback_config.failure_action", written}, {"services.*.deploy.rollback_config.monitor", written},
	{"services.*.deploy.rollback_config.max_failure_ratio", ratio}, {"services.*.deploy.rollback_config.order", written},
	{"services.*.deploy.restart_policy.condition", written}, {"services.*.deploy.restart_policy.delay", written},
	{"services.*.deploy.restart_policy.max_attempts", count}, {"services.*.deploy.restart_policy.window", written},
	{"services.*.deploy.placement.constraints", textList}, {"services.*.deploy.placement.preferences.*.spread", written},
	{"services.*.deploy.placement.max_replicas_per_node", count},
	{"services.*.deploy.resources.limits.cpus", figure}, {"services.*.deploy.resources.limits.memory", written},
	{"services.*.deploy.resources.limits.pids", count},
	{"services.*.deploy.resources.reservations.cpus", figure}, {"services.*.deploy.resources.reservations.memory", written},

	{"networks.*.name", written}, {"networks.*.external.name", written},
	{"networks.*.driver", written}, {"networks.*.driver_opts", figures}, {"networks.*.attachable", boolean},
	{"networks.*.internal", boolean}, {"networks.*.labels", pairs}, {"networks.*.ipam.driver", written},
	{"networks.*.ipam.config.*.subnet", written}, {"networks.*.ipam.config.*.gateway", written},
	{"networks.*.ipam.config.*.ip_range", written},

	{"configs.*.name", written}, {"configs.*.external.name", written},
	{"configs.*.file", written}, {"configs.*.content", written}, {"configs.*.labels", pairs},
	{"secrets.*.name", written}, {"secrets.*.external.name", written},
	{"secrets.*.file", written}, {"secrets.*.content", written}, {"secrets.*.labels", pairs},
	{"volumes.*.name", written}, {"volumes.*.external.name", written},
	{"volumes.*.driver", written}, {"volumes.*.driver_opts", figures}, {"volumes.*.labels", pairs},
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
	var paths []string
	for _, key := range supported {
		if key.form > choice {
			paths = append(paths, key.path)
		}
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
	if at.below == nil {
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
