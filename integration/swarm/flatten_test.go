package swarm

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// flat gives each value of what can be written as JSON, by its path, such as TaskTemplate.ContainerSpec.Env[0].
func flat(t testing.TB, value any) map[string]string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	var tree any
	require.NoError(t, json.Unmarshal(text, &tree))
	values := map[string]string{}
	flatten(values, "", tree)
	return values
}

func flatten(values map[string]string, path string, tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		if len(tree) == 0 {
			values[path] = "{}"
		}
		for key, value := range tree {
			flatten(values, strings.TrimPrefix(path+"."+key, "."), value)
		}
	case []any:
		for i, value := range tree {
			flatten(values, fmt.Sprintf("%s[%d]", path, i), value)
		}
	default:
		values[path] = fmt.Sprint(tree)
	}
}

// difference is a path at which two trees differ; absent where one has no value there.
type difference struct{ path, docker, ours string }

const absent = "(absent)"

func (d difference) String() string {
	return fmt.Sprintf("%s: docker %q, ours %q", d.path, d.docker, d.ours)
}

func differences(docker, ours map[string]string) []difference {
	paths := maps.Clone(docker)
	maps.Copy(paths, ours)
	var found []difference
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		d := difference{path: path, docker: absent, ours: absent}
		if value, there := docker[path]; there {
			d.docker = value
		}
		if value, there := ours[path]; there {
			d.ours = value
		}
		if d.docker != d.ours {
			found = append(found, d)
		}
	}
	return found
}

// explanation is why this engine differs from "docker stack deploy" on purpose. docs/swarm.md says the same.
type explanation struct {
	path string // a regular expression
	why  string
}

func (e explanation) explains(d difference) bool {
	return regexp.MustCompile("^(?:" + e.path + ")$").MatchString(d.path)
}
