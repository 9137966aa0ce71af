package swarm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/reconcile"
	"github.com/squadronctl/squadron/stack"
)

// everything is a stack that uses whatever a container can notice.
const everything = `
x-app: &app
  image: squadron.test/app:${TAG}
  logging: {driver: json-file, options: {max-size: 1m}}
services:
  web:
    <<: *app
    entrypoint: [/app]
    command: serve --word='a b' "$$HOME"
    environment: {GREETING: "${GREETING:-hello}", FROM_FILE: overridden}
    env_file: [web.env]
    user: "4242:4343"
    working_dir: /data
    hostname: web-host
    init: true
    stop_grace_period: 2s
    extra_hosts: ["elsewhere:10.1.2.3"]
    labels: {of.container: "1"}
    healthcheck: {test: [CMD, /app, healthy], interval: 1s, timeout: 10s, retries: 3}
    ports:
      - {target: 8080, published: 18501, mode: host}
    networks:
      back: {aliases: [front]}
      outside:
    configs:
      - {source: settings, target: /etc/settings.conf, mode: 0444}
      - {source: inline, target: /etc/inline.conf}
    secrets:
      - {source: password, target: pass, uid: "4242", mode: 0400}
    volumes:
      - data:/data
      - {type: bind, source: DIR, target: /srv, read_only: true}
      - {type: tmpfs, target: /scratch, tmpfs: {size: 65536}}
    deploy:
      endpoint_mode: dnsrr
      labels: {of.service: "1"}
      update_config: {parallelism: 1, order: stop-first, failure_action: rollback, monitor: 1s}
      rollback_config: {parallelism: 1}
      restart_policy: {condition: any, delay: 1s}
      placement: {constraints: [node.role == manager], max_replicas_per_node: 1}
      resources: {limits: {cpus: "0.5", memory: 64M}, reservations: {memory: 8M}}
  back:
    <<: *app
    command: [serve]
    stop_grace_period: 2s
    networks:
      back: {aliases: [other, another]}
    deploy: &pinned
      endpoint_mode: dnsrr
      mode: global
      placement: {constraints: [node.role == manager]}
networks:
  back:
    driver: overlay
    labels: {kind: back}
  outside: {external: true, name: everything-outside}
configs:
  settings: {file: settings.conf}
  inline: {content: "written here\n"}
secrets:
  password: {file: password}
volumes:
  data: {labels: {kind: data}}
`

// What the manifest says arrives in the containers, and what Swarm fills in by itself is no drift.
func TestEverythingArrives(t *testing.T) {
	t.Parallel()
	outside := newNetwork(t, "everything-outside")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bound"), []byte("from the host\n"), 0o644))
	h := newHand(t, "keys", "keys")
	h.config.ReadFile = func(of, path string) ([]byte, error) {
		assert.Equal(t, "keys", of)
		return os.ReadFile(filepath.Join("testdata/files", path))
	}
	h.config.Lookup = func(name string) (string, bool) { return "1", name == "TAG" }
	h.allow = stack.Allow{HostPaths: []string{dir}, Networks: []string{outside}}
	h.declare("keys", replaced(everything, "DIR", dir))
	report := h.pass()
	assert.Equal(t, reconcile.ActionDeployed, report.Stacks[0].Action)
	h.holdsStill()

	seen := answer(t, "18501", "?file=/etc/settings.conf&file=/etc/inline.conf&file=/run/secrets/pass&file=/srv/bound&file=/etc/hosts"+
		"&file=/etc/hostname&get=http://another:8080&get=http://back:8080&get=http://front:8080&file=/proc/self/mountinfo")
	for _, part := range []string{
		"argument --word=a b\n", "argument $HOME\n", "environment GREETING=hello\n", "environment FROM_FILE=overridden\n",
		"environment PORT=1\n", "user 4242:4343\n", "file /etc/settings.conf colour=blue\n", "file /etc/inline.conf written here\n",
		"file /run/secrets/pass hunter2\n", "file /srv/bound from the host\n", "10.1.2.3\telsewhere\n", "file /etc/hostname web-host\n",
		"answer of http://another:8080 argument /app", "answer of http://back:8080 argument /app", "answer of http://front:8080 argument /app",
		" /data ", " /scratch ",
	} {
		assert.Contains(t, seen, part)
	}
	states, err := h.backend().ReadStackServices(t.Context(), "keys")
	require.NoError(t, err)
	assert.Equal(t, []stack.ServiceState{
		{Name: "keys_back", Running: 1, Desired: 1, Status: stack.StatusRunning},
		{Name: "keys_web", Running: 1, Desired: 1, Status: stack.StatusRunning},
	}, states)
	stacks, err := real.Manager().Docker(t.Context(), "stack", "ls", "--format", "{{.Name}} {{.Services}}").CombinedOutput()
	require.NoError(t, err)
	assert.Contains(t, string(stacks), "keys 2\n", "docker knows the stack, too")
}

// What somebody has changed by hand is seen by the name of the field, and put right.
func TestChangesByHandAreCorrected(t *testing.T) {
	t.Parallel()
	h := newHand(t, "hand", "hand")
	h.declare("hand", lines(
		"services:",
		"  web:",
		"    image: "+app1,
		"    environment: {A: '1'}",
		"    labels: {kind: web}",
		"    stop_grace_period: 1s",
		"    deploy:",
		"      replicas: 2",
		"      endpoint_mode: dnsrr",
		"      placement: {constraints: [node.role == manager]}",
		"      labels: {kind: web}",
	))
	h.pass()
	h.holdsStill()
	for _, by := range []struct {
		hand func(spec *serviceSpec)
		want []reconcile.Change
	}{
		{func(spec *serviceSpec) { *spec.Mode.Replicated.Replicas = 3 },
			[]reconcile.Change{{Service: "hand_web", Field: "replicas", Old: "2", New: "3"}}},
		{func(spec *serviceSpec) { *spec.Mode.Replicated.Replicas = 0 },
			[]reconcile.Change{{Service: "hand_web", Field: "replicas", Old: "2", New: "0"}}},
		{func(spec *serviceSpec) {
			spec.Labels["kind"] = "other"
			spec.TaskTemplate.ContainerSpec.Image = app2
			spec.TaskTemplate.ContainerSpec.Env = []string{"B=2"}
		}, []reconcile.Change{
			{Service: "hand_web", Field: "env.A", Old: "1"},
			{Service: "hand_web", Field: "env.B", New: "2"},
			{Service: "hand_web", Field: "image", Old: app1, New: app2},
			{Service: "hand_web", Field: "label.kind", Old: "web", New: "other"},
		}},
	} {
		change(t, "hand_web", by.hand)
		plan, err := h.reconcile().Plan(t.Context())
		require.NoError(t, err)
		assert.Equal(t, reconcile.ReasonDrift, plan.Stacks[0].Reason)
		assert.Equal(t, by.want, plan.Stacks[0].Changes)
		assert.Equal(t, reconcile.ActionDeployed, h.pass().Stacks[0].Action)
		h.holdsStill()
	}
}
