package compose

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/stack"
)

var update = flag.Bool("update", false, "write the golden files anew")

// surroundings are the variables of all tests.
func surroundings(name string) (string, bool) {
	value, set := map[string]string{"USER_NAME": "alice", "TAG": "1.4", "EMPTY": "", "REPLICAS": "5"}[name]
	return value, set
}

// readTestdata reads files as a manifest in testdata names them.
func readTestdata(path string) ([]byte, error) { return os.ReadFile(filepath.Join("testdata", path)) }

func inputOf(manifest string) Input {
	return Input{Stack: "shop", Manifest: manifest, ReadFile: readTestdata, Lookup: surroundings}
}

// faultsOf takes an error apart. One that is no fault of a manifest fails the test.
func faultsOf(t testing.TB, err error) []*stack.ManifestError {
	t.Helper()
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	all := []error{err}
	if errors.As(err, &joined) {
		all = joined.Unwrap()
	}
	made := make([]*stack.ManifestError, len(all))
	for i, one := range all {
		require.ErrorAs(t, one, &made[i])
	}
	return made
}

// TestComposeFilesAsPeopleWriteThem holds the specs of whole files against what was found to be right. Packing changes nothing.
func TestComposeFilesAsPeopleWriteThem(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			manifest, err := os.ReadFile(file)
			require.NoError(t, err)
			made, err := Load(inputOf(string(manifest)))
			require.NoError(t, err)
			text, err := json.MarshalIndent(made, "", "  ")
			require.NoError(t, err)
			golden := strings.TrimSuffix(file, ".yaml") + ".golden.json"
			if *update {
				require.NoError(t, os.WriteFile(golden, append(text, '\n'), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(text)+"\n")

			packed, err := Pack(string(manifest), readTestdata, surroundings)
			require.NoError(t, err)
			again, err := Load(inputOf(packed))
			require.NoError(t, err)
			assert.Equal(t, made, again)
			assertDeclares(t, made, packed)
		})
	}
}

// assertDeclares holds the names that need no file and no variable against those of the whole.
func assertDeclares(t *testing.T, made *Stack, packed string) {
	t.Helper()
	declared, err := Declared(made.Name, packed, nil)
	require.NoError(t, err)
	names := func(s *Stack) (all []string) {
		for _, service := range s.Services {
			all = append(all, "service "+service.Key+" "+service.Spec.Name)
		}
		for _, d := range declarations(s) {
			external := ""
			if d.external {
				external = " external"
			}
			all = append(all, string(d.kind)+" "+d.key+" "+d.name+external)
		}
		return all
	}
	assert.Equal(t, names(made), names(declared))
}
