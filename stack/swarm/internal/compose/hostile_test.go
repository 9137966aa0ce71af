package compose

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// options are the driver_opts of a volume that a service mounts.
func options(driver string, lines ...string) string {
	text := in("volumes: [\"disk:/d\"]", "volumes:\n  disk:\n")
	if driver != "" {
		text += "    driver: " + driver + "\n"
	}
	return text + "    driver_opts:\n      " + strings.Join(lines, "\n      ") + "\n"
}

func logOption(line string) string {
	return in("logging:\n  driver: fluentd\n  options:\n    "+line, "")
}

// hostile are manifests that would reach what is not theirs by another way than the one that is held against what is allowed.
var hostile = []struct{ name, manifest, want string }{
	{"a bind that a Swarm makes of a template", options("", "type: tmpfs", "o: '{{print \"bi\" \"nd\"}}' # !", "device: /etc"), "template"},
	{"a device that a Swarm makes of a template", options("local", "type: nfs", "o: addr=1.2.3.4", "device: \":/{{.Task.Slot}}\" # !"), "template"},
	{"an option of a plugin that is a template", options("persist", "mountpoint: '{{print \"/\" \"etc\"}}' # !"), "template"},
	{"a path that goes up by a template", in("volumes:\n  - /srv/{{print \".\" \".\"}}/etc:/x # !", ""), "template"},
	{"a path that goes up", in("volumes:\n  - {type: bind, source: /srv/link/../etc, target: /x} # !", ""), "has .. in it"},
	{"a path that ends above", in("volumes:\n  - /srv/..:/x # !", ""), "has .. in it"},
	{"a device that goes up", options("", "type: none", "o: bind", "device: /srv/../etc # !"), "has .. in it"},
	{"a path with a line's end", in("volumes:\n  - \"/srv\\n/x:/x\" # !", ""), "control character"},
	{"an option that the driver lacks", options("", "type: none", "o: bind", "Device: /etc # !"), "knows no option \"Device\""},
	{"a journal by its number", options("", "type: ext4", "device: /dev/sdb", "o: journal_dev=0x801 # !"), "journal_dev"},
	{"another driver's path from where it runs", options("persist", "mountpoint: ../../etc # !"), "has .. in it"},

	{"a socket's address that is escaped", logOption("fluentd-address: unix:///dev/..%2frun%2fdocker.sock # !"), "address of a socket"},
	{"a socket's address with a host", logOption("syslog-address: unix://dev/run/docker.sock # !"), "address of a socket"},
	{"a socket's address with a query", logOption("fluentd-address: unix:///run/docker.sock?/dev # !"), "address of a socket"},
	{"a socket's address without slashes", logOption("fluentd-address: unix:run/docker.sock # !"), "address of a socket"},
	{"a socket's address that goes up", logOption("fluentd-address: UNIX:///dev/../run/docker.sock # !"), "has .. in it"},
	{"a file of a log driver from where the engine runs", logOption("syslog-tls-key: etc/key.pem # !"), "no absolute path"},

	{"a network on the node's own", in("networks: [front]", "networks:\n  front:\n    driver: macvlan # !\n    driver_opts: {parent: eth0} # !\n"), "driver overlay"},
	{"a network on the node's bridge", in("networks: [front]", "networks:\n  front:\n    driver: bridge # !\n"), "driver overlay"},
	{"a network's number on the wire", in("networks: [front]",
		"networks:\n  front:\n    driver_opts:\n      com.docker.network.driver.overlay.vxlanid_list: \"4097\" # !\n"), "no option of a network"},
	{"the Swarm's own network", in("networks: [front]", "networks:\n  front: # !\n    name: ingress\n"), "is external"},
	{"the old external with more", in("networks: [front]", "networks:\n  front:\n    external: {name: theirs}\n    driver: overlay # !\n"), "external"},
	{"a volume by a path", in("volumes: [{type: volume, source: /etc, target: /x}]", "volumes:\n  /etc: # !\n    external: true\n"), ""},

	{"another encoding", "services:\n  web: {image: a} # \xff !\n", "manifest is not UTF-8"},
	{"a stamp by a merge", in("labels:\n  <<: {squadron.owner: me} # !", ""), "stamped with"},
	{"a stamp by a variable", in("labels:\n  - ${NOWHERE:-squadron.}owner=me # !", ""), "stamped with"},
	{"a label twice in a list", in("labels:\n  - a=b\n  - a=c # !", ""), "a second time"},
	{"a file's name that ends a line", in("env_file: \"a\\u2028services: {}\" # !", ""), "no path of a file"},
	{"ro and rw", in("volumes:\n  - data:/x:ro,rw # !", "volumes: {data: }\n"), "only one can be"},
	{"two propagations", in("volumes:\n  - /x:/x:shared,private # !", ""), "only one can be"},
	{"an option on a volume that has none", in("volumes:\n  - data:/x:z # !", "volumes: {data: }\n"), "no option"},
	{"nothing between colons", in("volumes:\n  - data::/x # !", "volumes: {data: }\n"), "SOURCE:TARGET:OPTIONS"},
	{"a drive", in("volumes:\n  - C:\\data:/x # !", ""), "no option"},
	{"a key that a terminal would act on", in("\"a\\e[2J\": b # !", ""), "the key a\ufffd[2J is not supported"},
	{"a constraint of two operators", in("deploy:\n  placement:\n    constraints:\n      - node.role==a==b # !", ""), "no constraint"},
	{"a constraint without a value", in("deploy:\n  placement:\n    constraints:\n      - \"node.role== \" # !", ""), "no constraint"},
	{"memory for nothing", in("deploy:\n  resources:\n    limits:\n      memory: 1m # !\n      cpus: \"0.0001\" # !", ""), "less than a Swarm gives"},
	{"a check too often", in("healthcheck:\n  interval: 1us # !", ""), "1ms"},

	{"a secret's content that is a number", in("secrets: [a]", "secrets:\n  a:\n    content: 1234 # !\n"), "must be a string"},
	{"a config's content that is none", in("configs: [a]", "configs:\n  a:\n    content: [b] # !\n"), "must be a string"},
}

func TestWhatWouldReachTheHostUnseenIsRefused(t *testing.T) {
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			made, err := Load(inputOf(c.manifest))
			require.Error(t, err)
			assert.Nil(t, made)
			var want, got []int
			for i, line := range strings.Split(c.manifest, "\n") {
				if strings.HasSuffix(line, "!") && strings.Contains(line, "# ") {
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

// TestPathsAreFoundWithinOptions of file systems that lie on several devices, and of drivers that nothing is known of.
func TestPathsAreFoundWithinOptions(t *testing.T) {
	for manifest, want := range map[string][]string{
		options("", "type: btrfs", "device: /dev/sdb", "o: \"subvol=/a,device=/dev/sdc\""):    {"/dev/sdb", "/dev/sdc"},
		options("", "type: xfs", "device: /dev/sdb", "o: \"logdev=/dev/sdc,rtdev=/dev/sdd\""): {"/dev/sdb", "/dev/sdc", "/dev/sdd"},
		options("", "type: nfs", "o: \"addr=1.2.3.4,nolock\"", "device: \":/export\""):        nil,
		options("persist", "o: \"bind,device=/etc\"", "from: \"file:///srv/a b\""):            {"/etc", "/srv/a", "/srv/a b"},
		options("sshfs", "sshcmd: me@host:/home/me"):                                          nil,
		logOption("fluentd-address: unixgram:///dev/log,/run/x/y.sock"):                       {"/dev/log", "/run/x/y.sock", "/dev/log,/run/x/y.sock"},
		logOption("fluentd-address: tcp://host:24224/"):                                       nil,
		logOption("splunk-capath: /etc/ca"):                                                   {"/etc/ca"},
	} {
		made, err := Load(inputOf(manifest))
		require.NoError(t, err, manifest)
		var got []string
		for _, reference := range made.Services[0].References {
			require.Equal(t, KindHostPath, reference.Kind)
			got = append(got, reference.Name)
		}
		assert.ElementsMatch(t, want, got, manifest)
	}
}

// TestAVolumeMayHaveANameOfOneLetter which is no drive.
func TestAVolumeMayHaveANameOfOneLetter(t *testing.T) {
	made, err := Load(inputOf(in("volumes: [\"a:/a\", \"b:/b:ro\", /c]", "volumes: {a: , b: }\n")))
	require.NoError(t, err)
	var got []string
	for _, m := range made.Services[0].Spec.TaskTemplate.ContainerSpec.Mounts {
		got = append(got, fmt.Sprintf("%s %s %s %t", m.Type, m.Source, m.Target, m.ReadOnly))
	}
	assert.Equal(t, []string{"volume shop_a /a false", "volume shop_b /b true", "volume  /c false"}, got)
}

// TestNoErrorQuotesASecret which stands where something else belongs.
func TestNoErrorQuotesASecret(t *testing.T) {
	for _, manifest := range []string{
		in("environment:\n  - hunter2 is no name", ""),
		in("environment:\n  - PASSWORD: hunter2", ""),
		in("environment:\n  PASSWORD: [hunter2]", ""),
		in("environment:\n  PASSWORD: {hunter2: }", ""),
		in("environment:\n  PASSWORD: !!int hunter2", ""),
		in("environment:\n  PASSWORD: !hunter2", ""),
		in("environment:\n  PASSWORD: *hunter2", ""),
		in("environment:\n  PASSWORD: \"hunter2\\q\"", ""),
		in("environment:\n  PASSWORD: hunter2${", ""),
		in("environment:\n  PASSWORD: \"hunter2\\0\"", ""),
		in("environment: hunter2", ""),
		in("secrets: [a]", "secrets: {a: {content: [hunter2]}}\n"),
		in("secrets: [a]", "secrets: {a: {content: {hunter2: }}}\n"),
		in("secrets: [a]", "secrets: {a: {content: hunter2$}}\n"),
		in("env_file: keys", ""),
	} {
		for _, content := range []string{"A=-----BEGIN KEY-----\nhunter2/+\n", "hunter2 B=c", "=hunter2", "A=hunter2\x00"} {
			input := inputOf(manifest)
			input.ReadFile = func(string) ([]byte, error) { return []byte(content), nil }
			_, err := Load(input)
			require.Error(t, err, manifest)
			assert.NotContains(t, err.Error(), "hunter2", manifest)
		}
	}
}

// TestAShortTextThatStandsForMuchIsRefused before it takes memory and time.
func TestAShortTextThatStandsForMuchIsRefused(t *testing.T) {
	long := strings.Repeat("$A", 50_000)
	for name, c := range map[string]struct{ manifest, want string }{
		"aliases of a long text": {in("labels:\n  a: &a \""+long+"\"\nentrypoint: ["+strings.Repeat("*a, ", 5_000)+"]", ""), "aliases stand for"},
		"a long variable":        {in("hostname: \""+long+"\"", ""), "variables put in"},
		"long variables":         {in("command: ["+strings.Repeat("$A$A, ", 2500)+"]", ""), "variables put in"},
		"defaults of defaults":   {in("hostname: "+strings.Repeat("${B:-", 50_000)+strings.Repeat("}", 50_000), ""), "deep in each other"},
		"a range of ports":       {in("ports:\n"+strings.Repeat("  - 1-60000:1-60000/udp\n", 1000), ""), "more than 20000 ports"},
		"ranges of ports":        {in("ports:\n"+strings.Repeat("  - 1-11000:1-11000/udp\n", 100), ""), "more than 20000 ports"},
		"values":                 {in("environment:\n"+manyKeys(30_000), ""), "more than 20000 values"},
	} {
		input := inputOf(c.manifest)
		input.Lookup = func(name string) (string, bool) { return strings.Repeat("a", 1000), name == "A" }
		_, err := Load(input)
		assert.ErrorContains(t, err, c.want, name)
	}
}

func manyKeys(count int) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "  K%d: a\n", i)
	}
	return text.String()
}

// TestTheLineOfAFaultAmongManyIsFound where the library says no line.
func TestTheLineOfAFaultAmongManyIsFound(t *testing.T) {
	var text strings.Builder
	text.WriteString("services:\n")
	for i := range 3000 {
		fmt.Fprintf(&text, "  s%d: {image: a, hostname: b}\n", i)
	}
	_, err := Load(inputOf(strings.Replace(text.String(), "s2345: {image: a, hostname: b", "s2345: {image: a, hostname: 1", 1)))
	faults := faultsOf(t, err)
	require.Len(t, faults, 1)
	assert.Equal(t, 2347, faults[0].Line, "%v", err)
}
