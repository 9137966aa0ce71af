package units_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet/fleettest"
	"github.com/squadronctl/squadron/stack"
)

// differences gives "SERVICE FIELD: old -> new" of what is there against what is declared.
func (b *bench) differences(name, manifest string) []string {
	b.t.Helper()
	desired, err := b.engine.DesiredServices(b.t.Context(), manifest, name)
	require.NoError(b.t, err)
	live, err := b.engine.LiveServices(b.t.Context(), name)
	require.NoError(b.t, err)
	found := []string{}
	services := maps.Clone(desired.Services)
	maps.Copy(services, live)
	for service := range services {
		fields := maps.Clone(desired.Services[service].Fields)
		if fields == nil {
			fields = map[string]string{}
		}
		maps.Copy(fields, live[service].Fields)
		for field := range fields {
			want, wanted := desired.Services[service].Fields[field]
			has, there := live[service].Fields[field]
			if want != has || wanted != there {
				found = append(found, service+" "+field+": "+want+" -> "+has)
			}
		}
	}
	return found
}

func TestAStackJustDeployedHasNoDrift(t *testing.T) {
	long := file("web-long@.service", "# a comment\n[Service]\nExecStart=/bin/serve \\\n  --all\nEnvironment=A=1\nEnvironment=B=2\n")
	for name, manifest := range map[string]string{
		"slices":   webManifest("slices: 3\n", "v1") + long,
		"open":     webManifest("", "v1"),
		"instance": file("web.service", service("v1")),
	} {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
				b.mustDeploy("alice", "web", manifest)
				assert.Empty(t, b.differences("web", manifest))
				b.wrote()
				assert.Empty(t, b.differences("web", manifest))
				assert.Zero(t, b.cluster.Counts().UnitReads, "each content is read once")
			})
		})
	}
}

func TestDriftNamesTheFields(t *testing.T) {
	manifest := webManifest("slices: 2\n", "v1")
	tests := map[string]struct {
		change func(b *bench, first, second string)
		want   []string
	}{
		"another value in one slice": {func(b *bench, first, _ string) {
			b.put(first, stampedAs("web", "alice", "v1")+"\n[Service]\nRestart=always\n")
		}, []string{`web-app@.service Service.Restart[0]:  -> "always" in FIRST; nothing in SECOND`}},
		"another value in all slices": {func(b *bench, first, second string) {
			for _, name := range []string{first, second} {
				b.put(name, stampedAs("web", "alice", "v2"))
			}
		}, []string{
			"web-app@.service Unit.Description[0]: v1 -> v2",
			"web-app@.service Service.ExecStart[0]: /bin/serve v1 -> /bin/serve v2",
		}},
		"one stopped": {func(b *bench, first, _ string) { require.NoError(b.t, b.client.Stop(b.t.Context(), first)) },
			[]string{"web-app@.service state: launched -> 1 of 2 launched"}},
		"all stopped": {func(b *bench, first, second string) {
			require.NoError(b.t, b.client.Stop(b.t.Context(), first))
			require.NoError(b.t, b.client.Stop(b.t.Context(), second))
		}, []string{"web-app@.service state: launched -> loaded"}},
		"one gone": {func(b *bench, first, _ string) { b.cluster.Remove(first) },
			[]string{"web-app@.service slices: 2 -> 1"}},
		"one more service": {func(b *bench, _, _ string) {
			b.put("web-x.service", "[Service]\nExecStart=/x\n\n[X-Squadron]\nGroup=web\nOwner=alice\n")
		}, []string{"web-x.service Service.ExecStart[0]:  -> /x", "web-x.service state:  -> launched"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
				b.mustDeploy("alice", "web", manifest)
				names := b.names("web-")
				test.change(b, names[0], names[1])
				var want []string
				for _, line := range test.want {
					line = strings.ReplaceAll(line, "FIRST", sliceOf(names[0]))
					want = append(want, strings.ReplaceAll(line, "SECOND", sliceOf(names[1])))
				}
				assert.ElementsMatch(t, want, b.differences("web", manifest))
				b.mustDeploy("alice", "web", manifest)
				if name != "one more service" { // a sweep's
					assert.Empty(t, b.differences("web", manifest))
				}
			})
		})
	}
}

func sliceOf(unit string) string {
	_, id, _ := strings.Cut(strings.TrimSuffix(unit, ".service"), "@")
	return id
}

func TestDesiredServices(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		desired, err := b.engine.DesiredServices(t.Context(), webManifest("slices: 3\n", "v1"), "web")
		require.NoError(t, err)
		assert.Equal(t, &stack.Stack{Name: "web", Services: map[string]stack.Service{"web-app@.service": {Fields: map[string]string{
			"Unit.Description[0]": "v1", "Service.ExecStart[0]": "/bin/serve v1", "slices": "3", "state": "launched",
		}}}}, desired)
		open, err := b.engine.DesiredServices(t.Context(), webManifest("", "v1"), "web")
		require.NoError(t, err)
		assert.Equal(t, "1", open.Services["web-app@.service"].Fields["slices"])
		var fault *stack.ManifestError
		_, err = b.engine.DesiredServices(t.Context(), "slices: 0\n", "web")
		require.ErrorAs(t, err, &fault)
		live, err := b.engine.LiveServices(t.Context(), "web")
		require.NoError(t, err)
		assert.Empty(t, live)
	})
}

func TestDeclaredResourcesNeedNothing(t *testing.T) {
	onBench(t, fleettest.Config{}, func(t *testing.T, b *bench) {
		b.wrote()
		text := webManifest("", "v1") + file("web-x@.timer", "[Timer]\nOnCalendar=daily\nUnit=gone@%i.service\n")
		declared, err := b.engine.DeclaredResources(t.Context(), text, "web")
		require.NoError(t, err)
		assert.Equal(t, &stack.Stack{Name: "web", Services: map[string]stack.Service{"web-app@.service": {}, "web-x@.timer": {}}}, declared)
		assert.Zero(t, b.cluster.Counts())
		var fault *stack.ManifestError
		_, err = b.engine.DeclaredResources(t.Context(), text, "api")
		require.ErrorAs(t, err, &fault)
	})
}
