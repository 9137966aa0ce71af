package compose

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestScratch(t *testing.T) {
	var many strings.Builder
	many.WriteString("x-a:\n")
	for i := range 90000 {
		fmt.Fprintf(&many, "  k%d: a\n", i)
	}
	many.WriteString("services: {web: {image: a}}\n")
	var env strings.Builder
	for i := range 90000 {
		fmt.Fprintf(&env, "  K%d: a\n", i)
	}
	var svcs strings.Builder
	svcs.WriteString("services:\n")
	for i := range 15000 {
		fmt.Fprintf(&svcs, "  s%d: {image: a, hostname: b, user: \"1\"}\n", i)
	}
	var unc strings.Builder
	for i := 0; i < 250000/20; i++ {
		fmt.Fprintf(&unc, "  K%d: [a,\n    b]\n", i)
	}
	for name, text := range map[string]string{
		"many keys": many.String(),
		"many env":  in("environment:\n"+env.String(), ""),
		"services": svcs.String(),
		"services blame": svcs.String() + "  z: {image: a, user: 1}\n",
		"comments": strings.Repeat("#\n", 2<<20-100) + "services: {web: {image: a}}\n",
		"comments in": "services:\n" + strings.Repeat("  #\n", 1<<20-100) + "  web: {image: a}\n",
		"bad yaml": "services:\n  web:\n    image: a\nx-a:\n" + unc.String() + " b: c\n",
		"bad yaml quotes": "services:\n" + strings.Repeat(" a: \"\n", 40000),
		"bad yaml open": "services:\n" + strings.Repeat(" a: [\n", 40000),
		"ports": in("ports:\n"+strings.Repeat("  - 1-65535:1-65535\n", 20), ""),
		"nest": in("hostname: "+strings.Repeat("${A:-", 20000)+strings.Repeat("}", 20000), ""),
		"laugh": in("labels:\n  a: &a \""+strings.Repeat("$$", 20000)+"\"\nentrypoint: ["+strings.Repeat("*a, ", 20000)+"]", ""),
	} {
		start := time.Now()
		_, err := Load(inputOf(text))
		msg := fmt.Sprint(err)
		if len(msg) > 200 { msg = msg[:200] }
		fmt.Println(name, len(text), time.Since(start), msg)
	}
	for name, text := range map[string]string{
		"a": in("environment:\n  A: [hunter2]", ""),
		"b": in("environment:\n  - A: hunter2", ""),
		"c": in("environment:\n  - PASSWORD hunter2", ""),
		"d": in("environment:\n  A: !!int hunter2", ""),
		"e": in("configs: [a]", "configs: {a: {content: [hunter2]}}\n"),
		"e2": in("secrets: [a]", "secrets: {a: {content: [hunter2]}}\n"),
		"e3": in("secrets: [a]", "secrets: {a: {content: 12345678}}\n"),
		"e4": in("secrets: [a]", "secrets: {a: {content: true}}\n"),
		"f": in("environment: \"hunter2\"", ""),
		"g": in("environment:\n  A: \"hunter2\\q\"", ""),
		"h": in("logging:\n  driver: a\n  options: [\"path=/etc\"]", ""),
		"i": in("volumes: [\"a:/a\"]", "volumes: {a: {driver_opts: [\"device=/etc\",\"type=none\",\"o=bind\"]}}\n"),
		"j": in("volumes: [\"aaa:/a\"]", "volumes: {aaa: {driver_opts: {device: [/etc], type: none,o: bind}}}\n"),
		"k": in("configs: {a: {source: a}}", "configs: {a: {content: c}}\n"),
		"l": in("ports: {a: {target: 80}}", ""),
		"m": in("ports: \"80\"", ""),
		"n": in("volumes: [[a]]", ""),
		"o": in("ports: [true]", ""),
		"p": in("networks: front", "networks: {front: }\n"),
		"q": in("command: [sleep, 10]", ""),
		"r": in("healthcheck: {test: \"\"}", ""),
		"s": in("networks: {default: {aliases: [a b, \"\"]}}", ""),
		"t": in("volumes: [\"a:/a\"]", "volumes: {a: }\n"),
		"u": in("networks: [front]", "networks: {front: {external: {name: host}, driver: macvlan}}\n"),
		"v": in("networks: [front]", "networks: {front: {driver: macvlan, driver_opts: {parent: eth0}}}\n"),
		"w": in("environment: !!binary hunter2", ""),
		"x": in("environment:\n  A: b\n  hunter2 c\n  B: c", ""),
		"y": in("environment:\n  ? hunter2\n  ? [hunter2]", ""),
		"z": in("command: hunter2 \"", ""),
		"aa": in("hostname: [${USER_NAME}]", ""),
		"ab": in("hostname: {\"${USER_NAME}\": \"${TAG}\"}", ""),
		"ac": in("extra_hosts: [\"a\"]\nlabels: [a=b, a=c]", ""),
		"ad": in("configs: [a]", "configs: {a: {name: a b, content: c}}\n"),
		"ae": "\xff\xfes\x00e\x00r\x00v\x00i\x00c\x00e\x00s\x00:\x00 \x00{\x00w\x00:\x00 \x00{\x00i\x00m\x00a\x00g\x00e\x00:\x00 \x00a\x00}\x00}\x00\n\x00",
		"af": in("hostname: \"a\\0b\"\nenv_file: \"a\\u2028b\"", ""),
		"ag": in("deploy: {resources: {limits: {memory: 1e30g}}}", ""),
		"ah": in("environment: {A: 1.10, B: 0777, C: 1_000, D: 2001-01-01, E: 0x10, F: 12345678901234567890123, G: .inf, H: yes, I: ~}", ""),
		"ai": in("environment: [1.10, true, ~]", ""),
		"aj": in("stop_grace_period: 1d", ""),
		"ak": in("networks: []", ""),
		"al": in("volumes: {a: b}", ""),
		"am": in("ports: [~]", ""),
		"an": in("volumes: [{type: volume, source: \"\", target: /a}]", ""),
		"ao": in("secrets: [{source: a, target: \"\"}]", "secrets: {a: {content: c}}\n"),
		"ap": in("deploy:\n  placement: {constraints: [\"node.role==\", \"a==b==c\", \"node.role ==  worker\"]}", ""),
		"aq": in("networks: [a]", "networks: {a: {name: ingress}}\n"),
		"ar": in("networks: [a]", "networks: {a: {ipam: {config: [{subnet: 10.0.0.0/8}, {subnet: 10.0.0.0/8}]}}}\n"),
	} {
		made, err := Load(inputOf(text))
		msg := fmt.Sprint(err)
		if err == nil {
			c := made.Services[0].Spec.TaskTemplate.ContainerSpec
			msg = fmt.Sprintf("OK env=%q mounts=%+v refs=%+v nets=%+v hosts=%q", c.Env, c.Mounts, made.Services[0].References, made.Networks, c.Hosts)
		}
		fmt.Println(name, "::", msg)
	}
}
