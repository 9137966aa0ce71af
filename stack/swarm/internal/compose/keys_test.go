package compose

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var backticked = regexp.MustCompile("`([^`]+)`")

// documented reads a table of docs/swarm.md: what it says of each key.
func documented(t *testing.T, heading string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "swarm.md"))
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "\n### "+heading+"\n")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n#")
	keys := map[string]string{}
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.Contains(line, "---") {
			continue
		}
		within := ""
		if at := backticked.FindStringSubmatch(cells[1]); at != nil {
			within = at[1] + "."
		}
		for _, key := range backticked.FindAllStringSubmatch(cells[2], -1) {
			require.NotContains(t, keys, within+key[1])
			keys[within+key[1]] = strings.TrimSpace(cells[3])
		}
	}
	return keys
}

// TestTheDocumentationListsTheKeys holds both tables against the code.
func TestTheDocumentationListsTheKeys(t *testing.T) {
	var keys []string
	for key := range documented(t, "Keys that are supported") {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	assert.Equal(t, SupportedKeys(), keys)
	assert.Equal(t, RefusedKeys(), documented(t, "Keys that are refused"))
}

// TestEverySupportedKeyIsInTheGoldenFiles so that none is accepted and then kept nowhere.
func TestEverySupportedKeyIsInTheGoldenFiles(t *testing.T) {
	seen := map[string]bool{}
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		found := &faults{}
		root := parse(string(text), found)
		require.NoError(t, found.err())
		see(root, rules, "", seen)
	}
	for _, key := range SupportedKeys() {
		assert.True(t, seen[key], key)
	}
}

func see(n *node, at *rule, path string, seen map[string]bool) {
	for _, item := range n.items {
		if below := at.below["*"]; below != nil {
			see(item, below, path+".*", seen)
		}
	}
	for _, f := range n.fields {
		below, key := at.below[f.key], f.key
		if below == nil {
			below, key = at.below["*"], "*"
		}
		if below != nil {
			full := strings.TrimPrefix(path+"."+key, ".")
			seen[full] = true
			see(f.value, below, full, seen)
		}
	}
}

// TestEveryRefusedKeyIsRefused in a manifest that is right but for it.
func TestEveryRefusedKeyIsRefused(t *testing.T) {
	for path, why := range RefusedKeys() {
		require.NotContains(t, SupportedKeys(), path)
		var text strings.Builder
		parts, indent := strings.Split(path, "."), ""
		for i, part := range parts {
			isList := i > 1 && (parts[i-1] == "ports" || parts[i-1] == "volumes")
			switch {
			case isList:
				indent += "  "
				text.WriteString(indent + "-\n")
			case part == "*":
				text.WriteString(indent + "name:\n")
			default:
				text.WriteString(indent + part + ":\n")
			}
			indent += "  "
		}
		_, err := Load(inputOf(text.String()))
		faults := faultsOf(t, err)
		require.Len(t, faults, 1, "%s: %v", path, err)
		assert.Equal(t, len(parts), faults[0].Line, path)
		assert.ErrorContains(t, err, parts[len(parts)-1]+" is not supported: "+why)
	}
}
