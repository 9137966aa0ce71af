package compose

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// in puts lines into a service, or beside it.
func in(service, beside string) string {
	return "services:\n  web:\n    image: web\n    " + strings.ReplaceAll(strings.TrimSpace(service), "\n", "\n    ") + "\n" + beside
}

// refusals are manifests with a mark at each line that is at fault, and a part of what is said of it.
var refusals = []struct{ name, manifest, want string }{
	{"nothing", "# !\n", "empty"},
	{"no mapping", "- a # !\n", "no mapping"},
	{"no YAML", "services:\n  web:\n    image: a\n   b: c # !\n", "not YAML"},
	{"a bracket that does not close", "services:\n  web:\n    command: [a, # !\n    image: a\n", "not YAML"},
	{"a value of many lines before", "services:\n  web:\n    command: [a,\n      b,\n      c]\n    image: a\n   b: c # !\n", "not YAML"},
	{"an anchor that is none", "services:\n  web: *b # !\n", "unknown anchor"},
	{"a second document at the end", "services: {web: {image: a}}\n--- # !", "second document"},
	{"a line that ends otherwise", "services:\n  web:\n    image: a\r    command: b # !\n", "write newlines"},
	{"two documents", "services: {web: {image: a}}\n---\nservices: {} # !\n", "second document"},
	{"a key twice", "services:\n  web:\n    image: a\n    image: b # !\n", "a second time, after line 3"},
	{"a key that is no text", in("environment:\n  1: a # !", ""), "no string"},
	{"an unknown tag", in("command: !reset [] # !", ""), "the tag !reset"},
	{"an anchor in itself", in("labels: &a # \n  b: *a # !", ""), "within what it stands for"},
	{"a merge of no mapping", in("<<: text # !", ""), "takes mappings"},
	{"no services", "networks: # !\n  a:\n", "no service"},
	{"an unknown key", in("build: . # !", ""), "the key build is not supported: a Swarm builds no images"},
	{"a profile that is no list", in("profiles: debug # !", ""), "profiles"},
	{"a stamp", in("deploy:\n  labels:\n    squadron.owner: me # !", ""), "stamped with"},
	{"a stamp in a list", in("labels:\n  - a=b\n  - com.docker.stack.namespace=other # !", ""), "stamped with"},
	{"several unknown keys", in("restart: always # !\ndepends_on: [a] # !\nnonsense: 1 # !", ""), "not supported"},
	{"a key within", in("deploy:\n  resources:\n    limits:\n      gpus: 1 # !", ""), "limits.gpus is not supported"},
	{"a key of a port", in("ports:\n  - target: 80\n    host_ip: 127.0.0.1 # !", ""), "all addresses"},
	{"a key of the whole", "include: [a.yaml] # !\nservices: {web: {image: a}}\n", "one file"},
	{"extends", in("extends: # !\n  file: a.yaml\n  service: b", ""), "one file"},
	{"another name", "name: other # !\nservices: {web: {image: a}}\n", "the stack's is \"shop\""},

	{"no image", "services:\n  web: # !\n    command: a\n", "no image"},
	{"an image that is none", "services:\n  web:\n    image: Web UI # !\n", "the image"},
	{"a name that is none", "services:\n  web.front: # !\n    image: a\n", "name of a service"},
	{"a value of another kind", in("user: 1000 # !", ""), "must be a string"},
	{"a value deep down", in("healthcheck:\n  interval: 10s\n  test: {a: b} # !", ""), "test"},
	{"a command that does not end", in("command: serve \"a # !", ""), "command"},
	{"a duration", in("stop_grace_period: 10 seconds # !", ""), "duration"},
	{"a negative duration", in("deploy:\n  update_config:\n    delay: -1s # !", ""), "duration"},
	{"a health test without its kind", in("healthcheck:\n  test: [curl, x] # !", ""), "begins with CMD"},
	{"a health test that is disabled", in("healthcheck:\n  disable: true\n  test: x # !", ""), "no test"},
	{"a boolean", in("read_only: \"yes\" # !", ""), "not true or false"},
	{"an external that is neither", in("networks: [front]", "networks:\n  front:\n    external: \"yes\" # !\n"), "not true or false"},
	{"an extra host", in("extra_hosts:\n  - a:1.2.3.4\n  - b:c # !", ""), "NAME:ADDRESS"},
	{"a name server", in("dns: [1.1.1.1,\n  nine] # !", ""), "name server"},

	{"a port", in("ports:\n  - \"80\"\n  - 80:http # !", ""), "the port \"80:http\""},
	{"a port above all", in("ports:\n  - target: 70000 # !", ""), "from 1 to 65535"},
	{"a port on an address", in("ports:\n  - 127.0.0.1:80:80 # !", ""), "all addresses"},
	{"a range for one port", in("ports:\n  - 8000-8010:80 # !", ""), "one number"},
	{"a port twice", in("ports:\n  - 80:80\n  - 80:81 # !", ""), "published already"},
	{"a protocol", in("ports:\n  - {target: 80, protocol: http} # !", ""), "none of tcp, udp and sctp"},
	{"a mode", in("ports:\n  - {target: 80, mode: vip} # !", ""), "none of ingress and host"},
	{"ingress without an address", in("ports: [\"80\"] # !\ndeploy: {endpoint_mode: dnsrr}", ""), "mode host alone"},

	{"a global service's replicas", in("deploy:\n  mode: global\n  replicas: 2 # !", ""), "as many replicas"},
	{"a mode of deploy", in("deploy:\n  mode: replicated-job # !", ""), "none of"},
	{"replicas below none", in("deploy:\n  replicas: -1 # !", ""), "whole number"},
	{"replicas that are no number", in("deploy:\n  replicas: \"many\" # !", ""), "whole number"},
	{"a failure's action", in("deploy:\n  rollback_config:\n    failure_action: rollback # !", ""), "none of"},
	{"a failure's ratio", in("deploy:\n  update_config:\n    max_failure_ratio: 2 # !", ""), "from 0 to 1"},
	{"a constraint", in("deploy:\n  placement:\n    constraints:\n      - node.role = manager # !", ""), "no constraint"},
	{"a preference", in("deploy:\n  placement:\n    preferences:\n      - {} # !", ""), "spread"},
	{"CPUs", in("deploy:\n  resources:\n    limits:\n      cpus: \"lots\" # !", ""), "lots"},
	{"memory", in("deploy:\n  resources:\n    limits:\n      memory: 1 elephant # !", ""), "memory"},

	{"a network that is nowhere", in("networks:\n  - front # !", ""), "not declared"},
	{"a network that is external, with more", in("networks: [front]", "networks:\n  front:\n    external: true\n    driver: overlay # !\n"), "external"},
	{"a network of the node that is made", in("networks: [node]", "networks:\n  node: # !\n    name: host\n"), "is external"},
	{"a subnet", in("", "networks:\n  default:\n    ipam:\n      config:\n        - subnet: 10.0.0.0 # !\n"), "the subnet"},
	{"a gateway", in("", "networks:\n  default:\n    ipam:\n      config:\n        - subnet: 10.0.0.0/24\n          gateway: 10.1.0.1 # !\n"), "the gateway"},
	{"a network's address", in("networks:\n  default:\n    ipv4_address: 1.2.3.4 # !", ""), "chooses the addresses"},

	{"a config that is nowhere", in("configs:\n  - a # !", ""), "not declared"},
	{"a secret that is nowhere", in("secrets:\n  - source: a # !", ""), "not declared"},
	{"a config of two contents", in("", "configs:\n  a: # !\n    file: files/app.conf\n    content: b\n"), "one of file"},
	{"a secret of none", in("", "secrets:\n  a: # !\n    name: b\n"), "one of file"},
	{"a file that is not there", in("configs: [a]", "configs:\n  a:\n    file: files/nowhere # !\n"), "no such file"},
	{"an empty config", in("configs: [a]", "configs:\n  a:\n    content: \"\" # !\n"), "empty"},
	{"a target that is taken", in("configs:\n  - a\n  - {source: b, target: a} # !", "configs:\n  a: {content: a}\n  b: {content: b}\n"), "taken"},
	{"permissions", in("configs:\n  - {source: a, mode: \"rw\"} # !", "configs:\n  a: {content: a}\n"), "rw"},
	{"one name for two", in("configs: [a, b]", "configs:\n  a: {name: n, content: c}\n  b: {name: n, content: c} # !\n"), "there already"},
	{"a name too long", in("secrets: [a]", "secrets:\n  a: # !\n    name: "+strings.Repeat("n", 60)+"\n    content: c\n"), "name of a secret"},

	{"a volume that is nowhere", in("volumes:\n  - data:/data # !", ""), "not declared"},
	{"a volume's option", in("volumes:\n  - data:/data:zz # !", "volumes: {data: }\n"), "no option \"zz\""},
	{"a bind's option on a volume", in("volumes:\n  - data:/data:rslave # !", "volumes: {data: }\n"), "no option"},
	{"a relative path", in("volumes:\n  - ./data:/data # !", ""), "no absolute path"},
	{"a path of a home", in("volumes:\n  - ~/data:/data # !", ""), "no absolute path"},
	{"a target that is relative", in("volumes:\n  - {type: tmpfs, target: data} # !", ""), "target"},
	{"a type of mount", in("volumes:\n  - {type: npipe, source: /a, target: /b} # !", ""), "none of volume, bind and tmpfs"},
	{"options of another type", in("volumes:\n  - type: tmpfs\n    target: /b\n    bind: {propagation: slave} # !", ""), "no options of bind"},
	{"a mount twice", in("volumes:\n  - /a\n  - /b:/a/ # !", ""), "a mount at"},
	{"a tmpfs with a source", in("volumes:\n  - {type: tmpfs, source: a, target: /b} # !", ""), "no source"},
	{"a device by no path", in("volumes: [\"disk:/d\"]", "volumes:\n  disk:\n    driver_opts:\n      o: bind\n      type: nfs\n      device: etc # !\n"), "no absolute path"},
	{"a file system of other paths", in("volumes: [\"disk:/d\"]", "volumes:\n  disk:\n    driver_opts:\n      o: lowerdir=/etc\n      device: overlay\n      type: overlay # !\n"), "whatever a node has"},

	{"a file of variables", in("env_file: files/nowhere # !", ""), "no such file"},
	{"a file of variables, in full", in("env_file:\n  - path: files/web.env # !", ""), "paths of files alone"},
	{"a variable without a name", in("environment:\n  - =a # !", ""), "a variable"},
	{"a variable that is required", in("hostname: ${NOWHERE:?say where} # !", ""), "NOWHERE is required, and not set: say where"},
	{"a dollar", in("hostname: cost$ # !", ""), "written $$"},
	{"a brace", in("hostname: ${TAG # !", ""), "without a }"},
	{"no variable", in("hostname: ${TAG/a/b} # !", ""), "no way to write a variable"},
}

// TestFaultsAreToldWithTheirLines goes through the refusals.
func TestFaultsAreToldWithTheirLines(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			made, err := Load(inputOf(c.manifest))
			require.Error(t, err)
			assert.Nil(t, made)
			var want, got []int
			for i, line := range strings.Split(c.manifest, "\n") {
				if strings.Contains(line, "# !") {
					want = append(want, i+1)
				}
			}
			for _, fault := range faultsOf(t, err) {
				got = append(got, fault.Line)
			}
			assert.Equal(t, want, got, "%v", err)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// TestEveryFaultIsToldOnce reads a manifest with several, in the order of lines.
func TestEveryFaultIsToldOnce(t *testing.T) {
	_, err := Load(inputOf("services:\n  a:\n    image: A b\n    ports: [\"1:x\", \"2:80\", \"2:81\"]\n  b:\n    image: b\n    networks: [c]\n"))
	require.Error(t, err)
	lines := []int{}
	for _, fault := range faultsOf(t, err) {
		lines = append(lines, fault.Line)
	}
	assert.Equal(t, []int{3, 4, 4, 7}, lines)
}

// TestWhatGrowsWithoutEndIsRefused reads texts that stand for more than any machine could hold.
func TestWhatGrowsWithoutEndIsRefused(t *testing.T) {
	laughs := "x-a: &a [l, l, l, l, l, l, l, l, l, l]\n"
	for c := 'b'; c < 'k'; c++ {
		laughs += "x-" + string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 10), ", ") + "]\n"
	}
	for name, text := range map[string]string{
		"aliases":  laughs + "services: {web: {image: a}}\n",
		"depth":    "x-a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\nservices: {web: {image: a}}\n",
		"a merge":  "x-a: &a\n  <<: *a\nservices: {web: {image: a}}\n",
		"a text":   "services: {web: {image: a}}\n" + strings.Repeat("#\n", maxText),
		"an alias": "x-a: &a [*a]\nservices: {web: {image: a}}\n",
	} {
		_, err := Load(inputOf(text))
		assert.NotEmpty(t, faultsOf(t, err), name)
	}
}

func TestANameThatNoStackCanHave(t *testing.T) {
	for _, name := range []string{"", packedAs, "a b", "_a"} {
		_, err := Load(Input{Stack: name, Manifest: "services: {web: {image: a}}\n"})
		assert.ErrorContains(t, err, "name of a stack")
		_, err = Declared(name, "services: {web: {image: a}}\n", nil)
		assert.ErrorContains(t, err, "name of a stack")
	}
}
