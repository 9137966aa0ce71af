package units_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/stack"
)

func TestReferencesAreRefusedUnlessAllowed(t *testing.T) {
	tests := map[string]struct {
		line    string // of section, option
		allowed []stack.Allow
		refused []stack.Allow
	}{
		"environment": {"[Service]\nEnvironmentFile=-/etc/web/env",
			[]stack.Allow{paths("/etc/web/env"), paths("/etc/web"), paths("/etc/web/"), paths("/"), paths("/x", "/etc//web/../web")},
			[]stack.Allow{paths("/etc/we"), paths("/etc/web/env/x"), paths("etc/web"), unitNames("/etc/web/env")}},
		"climbing":         {"[Service]\nEnvironmentFile=/srv/web/../../etc/shadow", []stack.Allow{paths("/etc")}, []stack.Allow{paths("/srv/web")}},
		"specifier":        {"[Service]\nEnvironmentFile=%t/env", []stack.Allow{paths("%t/env")}, []stack.Allow{paths("/run"), paths("/")}},
		"bind":             {"[Service]\nBindPaths=-/srv/a:/a:rbind \"/srv/b c:/b\"", []stack.Allow{paths("/srv"), paths("/srv/a", "/srv/b c")}, []stack.Allow{paths("/srv/a"), paths("/a", "/b")}},
		"bind, lines":      {"[Service]\nBindReadOnlyPaths=/srv/a \\\n /srv/b", []stack.Allow{paths("/srv")}, []stack.Allow{paths("/srv/a")}},
		"engine socket":    {"[Service]\nBindPaths=/var/run/docker.sock", []stack.Allow{paths("/run/docker.sock"), paths("/var/run/docker.sock")}, []stack.Allow{paths("/run"), paths("/"), paths("/var/run/")}},
		"above a socket":   {"[Service]\nBindPaths=/run", []stack.Allow{paths("/run"), paths("/var/run")}, []stack.Allow{paths("/")}},
		"credential":       {"[Service]\nLoadCredential=key:/etc/key", []stack.Allow{paths("/etc/key")}, []stack.Allow{paths("key")}},
		"named credential": {"[Service]\nLoadCredential=key", []stack.Allow{paths("key")}, []stack.Allow{paths("/key")}},
		"output":           {"[Service]\nStandardOutput=append:/var/log/x", []stack.Allow{paths("/var/log")}, []stack.Allow{paths("/var/lib")}},
		"root":             {"[Service]\nRootDirectory=/srv/root", []stack.Allow{paths("/srv")}, []stack.Allow{{}}},
		"open file":        {"[Service]\nOpenFile=/etc/x:name:read-only", []stack.Allow{paths("/etc/x")}, []stack.Allow{paths("/etc/y")}},
		"peer":             {"[X-Fleet]\nMachineOf=db.service", []stack.Allow{unitNames("db.service")}, []stack.Allow{paths("/"), unitNames("db")}},
		"conflict":         {"[X-Fleet]\nConflicts=db@*.service", []stack.Allow{unitNames("db@*.service"), unitNames("db@.service")}, []stack.Allow{unitNames("db.service")}},
		"all conflict":     {"[X-Fleet]\nConflicts=*", []stack.Allow{unitNames("*")}, []stack.Allow{unitNames("web-app@.service")}},
		"other's slice":    {"[Unit]\nAfter=db@%i.service", []stack.Allow{unitNames("db@%i.service"), unitNames("db@.service")}, []stack.Allow{{}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
				manifest := webManifest("", "v1") + test.line + "\n"
				for _, allow := range append(test.refused, stack.Allow{}) {
					err := deployWith(t.Context(), b.engine.WithAllowedReferences(allow), "alice", "web", manifest)
					require.True(t, stack.IsForbiddenReference(err), "%v: %v", allow, err)
					var fault *stack.ManifestError
					require.ErrorAs(t, err, &fault)
					assert.Equal(t, "web-app@.service", fault.File)
					assert.Equal(t, 7, fault.Line)
				}
				assert.Zero(t, b.wrote())
				for _, allow := range test.allowed {
					err := deployWith(t.Context(), b.engine.WithAllowedReferences(allow), "alice", "web", manifest)
					require.False(t, stack.IsForbiddenReference(err), "%v: %v", allow, err)
					require.NotZero(t, b.cluster.Counts().Puts, "no machine can take some of these, but it was tried")
				}
			})
		})
	}
}

func paths(names ...string) stack.Allow     { return stack.Allow{HostPaths: names} }
func unitNames(names ...string) stack.Allow { return stack.Allow{Units: names} }

func TestWhatIsNoReference(t *testing.T) {
	for _, line := range []string{
		"[Service]\nEnvironmentFile=", "[Service]\nStandardOutput=journal", "[Service]\nWorkingDirectory=/srv",
		"[Service]\nExecStartPre=/usr/bin/docker run -v /srv:/srv x", "[Unit]\nConditionPathExists=/srv",
		"[Unit]\nAfter=docker.service network-online.target", "[Unit]\nRequires=web-log@%i.service %p@%i.service",
		"[Unit]\nPartOf=web-app@1.service", "[X-Fleet]\nConflicts=web-app@*.service", "[X-Fleet]\nMachineOf=web-log@%i.service",
		"[X-Fleet]\nConflicts=\"web-app@*.service\" \"%p@*.service\"", "[Install]\nWantedBy=other.target",
	} {
		t.Run(line, func(t *testing.T) {
			onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
				b.mustDeployOrBlocked("alice", "web", file("web-log@.service", service("log"))+file("web-app@.service", service("v1")+line+"\n"))
			})
		})
	}
}

// mustDeployOrBlocked deploys what no machine may be able to take.
func (b *bench) mustDeployOrBlocked(owner, name, manifest string) {
	b.t.Helper()
	err := b.deploy(owner, name, manifest)
	require.False(b.t, stack.IsForbiddenReference(err), "%v", err)
	require.NotZero(b.t, b.wrote())
}

func TestDependencyOnAnotherStacksUnit(t *testing.T) {
	manifest := file("web-app.service", "[Unit]\nRequires=db.service\n\n[Service]\nExecStart=/x\n")
	for name, content := range map[string]string{"stack db": stampedAs("db", "bob", "v1"), "nobody's stack": service("v1")} {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
				b.put("db.service", content)
				err := b.deploy("alice", "web", manifest)
				require.True(t, stack.IsForbiddenReference(err), "%v", err)
				assert.ErrorContains(t, err, "web-app.service:2")
				assert.ErrorContains(t, err, name)
				assert.Equal(t, []string{"db.service"}, b.names(""))
				var changed capability.AllowedReferences = b.engine
				require.NoError(t, deployWith(t.Context(), changed.WithAllowedReferences(unitNames("db.service")), "alice", "web", manifest))
				require.True(t, stack.IsForbiddenReference(b.deploy("alice", "web", manifest)), "the engine itself is as it was")
			})
		})
	}
}

func TestAllowedListIsCopied(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		list := []string{"/srv"}
		backend := b.engine.WithAllowedReferences(stack.Allow{HostPaths: list})
		list[0] = "/etc"
		require.True(t, stack.IsForbiddenReference(deployWith(t.Context(), backend, "alice", "web", webManifest("", "v1")+"EnvironmentFile=/etc/x\n")))
	})
}
