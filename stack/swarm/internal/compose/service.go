package compose

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/distribution/reference"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/swarm"
)

// The labels that everything of a stack carries, as "docker stack" reads them.
const (
	LabelNamespace = "com.docker.stack.namespace"
	LabelImage     = "com.docker.stack.image"
)

// scoped is a key's name on the cluster.
func (m *maker) scoped(key string) string { return m.name + "_" + key }

// stampPrefixes begin the labels that are not the manifest's to give: by them it is told whose a thing is.
var stampPrefixes = []string{"com.docker.stack.", "squadron."}

// stamped reads labels, and adds the namespace's.
func (m *maker) stamped(n *node) map[string]string {
	labels := m.labels(n)
	for label := range labels {
		if slices.ContainsFunc(stampPrefixes, func(prefix string) bool { return strings.HasPrefix(label, prefix) }) {
			m.found.add(n.lineOfLabel(label), "the label %.80s is for what a stack is stamped with", label)
		}
	}
	labels[LabelNamespace] = m.name
	return labels
}

// serviceNames are the services, by name alone.
func (m *maker) serviceNames() []Service {
	var made []Service
	if services := m.root.child("services"); services != nil {
		for _, f := range services.fields {
			named := Service{Key: f.key, Line: f.line}
			named.Spec.Name = m.scoped(f.key)
			made = append(made, named)
		}
	}
	slices.SortFunc(made, func(a, b Service) int { return strings.Compare(a.Key, b.Key) })
	return made
}

// service makes one service.
func (m *maker) service(f field) Service {
	made := Service{Key: f.key, Line: f.line}
	from := f.value
	image := from.child("image")
	m.checkImage(f, image)

	labels := m.stamped(from.get("deploy", "labels"))
	labels[LabelImage] = image.text()
	made.Spec = swarm.ServiceSpec{
		Annotations: swarm.Annotations{Name: m.scoped(f.key), Labels: labels},
		TaskTemplate: swarm.TaskSpec{
			ContainerSpec: m.container(from, &made),
			Networks:      m.attachments(f, &made),
			LogDriver:     m.logging(from.child("logging"), &made),
		},
	}
	m.deploy(from.child("deploy"), &made.Spec)
	m.endpoint(from, &made.Spec)
	return made
}

func (m *maker) checkImage(f field, image *node) {
	switch _, err := reference.ParseNormalizedNamed(image.text()); {
	case image.isNull() || image.text() == "":
		m.found.add(f.line, "the service %s has no image", f.key)
	case err != nil:
		m.found.add(image.line, "the image %.200q: %w", image.text(), err)
	}
}

// container makes what of a service is about its containers.
func (m *maker) container(from *node, of *Service) *swarm.ContainerSpec {
	return &swarm.ContainerSpec{
		Image:           from.child("image").text(),
		Labels:          m.stamped(from.child("labels")),
		Command:         m.command(from.child("entrypoint")),
		Args:            m.command(from.child("command")),
		Hostname:        from.child("hostname").text(),
		Env:             m.environment(from),
		Dir:             from.child("working_dir").text(),
		User:            from.child("user").text(),
		Init:            from.child("init").boolean(),
		StopSignal:      from.child("stop_signal").text(),
		TTY:             from.child("tty").isTrue(),
		OpenStdin:       from.child("stdin_open").isTrue(),
		ReadOnly:        from.child("read_only").isTrue(),
		Privileges:      &swarm.Privileges{},
		Mounts:          m.mounts(from.child("volumes"), of),
		StopGracePeriod: m.duration(from.child("stop_grace_period")),
		Healthcheck:     m.healthcheck(from.child("healthcheck")),
		Hosts:           m.hosts(from.child("extra_hosts")),
		DNSConfig:       m.dns(from),
		Secrets:         m.secretReferences(from.child("secrets"), of),
		Configs:         m.configReferences(from.child("configs"), of),
	}
}

// command reads a list of words, or a text that is split as a shell would.
func (m *maker) command(n *node) []string {
	if n.isNull() {
		return nil
	}
	var read types.ShellCommand
	if err := read.DecodeMapstructure(n.plain()); err != nil {
		m.found.add(n.line, "the command can't be split into words: %w", err)
	}
	return read
}

func (m *maker) healthcheck(from *node) *container.HealthConfig {
	if from.isNull() {
		return nil
	}
	test := from.child("test")
	words := texts(test)
	if isText := !test.isNull() && test.kind == scalar; isText {
		words = []string{"CMD-SHELL", test.text()}
	}
	if from.child("disable").isTrue() {
		if !test.isNull() && (len(words) != 1 || words[0] != "NONE") {
			m.found.add(test.line, "a healthcheck that is disabled has no test")
		}
		return &container.HealthConfig{Test: []string{"NONE"}}
	}
	for _, key := range []string{"interval", "timeout", "start_period"} {
		if n := from.child(key); !n.isNull() {
			if d := m.span(n); d > 0 && d < time.Millisecond {
				m.found.add(n.line, "%.80q is less than a Swarm takes here, which is 1ms", n.text())
			}
		}
	}
	made := &container.HealthConfig{
		Test:        words,
		Interval:    m.span(from.child("interval")),
		Timeout:     m.span(from.child("timeout")),
		StartPeriod: m.span(from.child("start_period")),
		Retries:     int(min(m.amount(from.child("retries")), 1<<30)),
	}
	if len(words) == 0 {
		return made
	}
	switch first, parts := words[0], len(words); {
	case first == "NONE" && parts == 1, first == "CMD" && parts > 1, first == "CMD-SHELL" && parts == 2:
	default:
		m.found.add(test.line, "a healthcheck's test is a text, or a list that begins with CMD, CMD-SHELL with one text, or NONE")
	}
	return made
}

// hosts turns NAME:ADDRESS, or NAME=ADDRESS, into lines of /etc/hosts, in the order of a list, or in that of the keys of a mapping.
func (m *maker) hosts(from *node) []string {
	if from.isNull() {
		return nil
	}
	var made []string
	add := func(line int, host, address string) {
		host, address = strings.TrimSpace(host), strings.Trim(strings.TrimSpace(address), "[]")
		if _, err := netip.ParseAddr(address); err != nil || host == "" {
			m.found.add(line, "an extra host is NAME:ADDRESS, and not %.80q", host+":"+address)
			return
		}
		made = append(made, address+" "+host)
	}
	for _, f := range sortedFields(from) {
		f.value.each(func(address *node) { add(f.line, f.key, address.text()) })
	}
	for _, item := range from.items {
		text := item.text()
		at := strings.IndexAny(text, ":=")
		if at < 0 {
			add(item.line, text, "")
			continue
		}
		add(item.line, text[:at], text[at+1:])
	}
	return made
}

func sortedFields(of *node) []field {
	sorted := slices.Clone(of.fields)
	slices.SortFunc(sorted, func(a, b field) int { return strings.Compare(a.key, b.key) })
	return sorted
}

// dns makes the settings of the resolver: nil where there are none.
func (m *maker) dns(from *node) *swarm.DNSConfig {
	made := &swarm.DNSConfig{Search: texts(from.child("dns_search")), Options: texts(from.child("dns_opt"))}
	from.child("dns").each(func(n *node) {
		address, err := netip.ParseAddr(n.text())
		if err != nil {
			m.found.add(n.line, "%.80q is no address of a name server", n.text())
			return
		}
		made.Nameservers = append(made.Nameservers, address)
	})
	if len(made.Nameservers)+len(made.Search)+len(made.Options) == 0 {
		return nil
	}
	return made
}

// logging makes the log driver: nil where there is none, so that the node's counts.
func (m *maker) logging(from *node, of *Service) *swarm.Driver {
	if from.isNull() {
		return nil
	}
	options := from.child("options")
	made := &swarm.Driver{Name: from.child("driver").text()}
	if !options.isNull() {
		made.Options = m.labels(options)
		m.optionPaths(options, of)
	}
	return made
}
