package compose

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// others are values that some keys can have in place of the one they have.
var others = map[string][]string{
	"type": {"volume", "tmpfs"}, "protocol": {"tcp", "udp", "sctp"}, "endpoint_mode": {"vip", "dnsrr"},
	"failure_action": {"pause", "continue"}, "order": {"stop-first", "start-first"}, "condition": {"none", "on-failure", "any"},
	"propagation": {"private", "rslave"}, "memory": {"32m"}, "size": {"32m"}, "cpus": {"0.25"}, "max_failure_ratio": {"0.75"},
	"mode": {"host", "ingress", "global", "0404"}, "subnet": {"10.0.0.0/8"}, "gateway": {"10.77.0.2"}, "ip_range": {"10.77.9.0/24"},
	"interval": {"7s"}, "timeout": {"7s"}, "start_period": {"7s"}, "delay": {"7s"}, "monitor": {"7s"}, "window": {"7s"},
	"stop_grace_period": {"7s"}, "file": {"files/web.env"}, "env_file": {"files/app.conf"},
}

var lineNumbers = regexp.MustCompile(`"Line":\d+`)

// TestEveryValueCounts changes one value after the other: that has to change what is made, or be refused. So nothing is
// left out in silence.
func TestEveryValueCounts(t *testing.T) {
	for _, name := range []string{"long", "short", "anchors", "variables"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
			require.NoError(t, err)
			var document yaml.Node
			require.NoError(t, yaml.Unmarshal(text, &document))
			before, err := madeOf(&document)
			require.NoError(t, err)
			changed := 0
			leaves(document.Content[0], "", func(leaf *yaml.Node, path string) {
				was := *leaf
				for _, value := range otherValues(leaf.Value, path) {
					leaf.Value, leaf.Tag, leaf.Style = value, "", 0
					after, err := madeOf(&document)
					if err == nil {
						changed++
					}
					assert.True(t, err != nil || after != before, "%s: %s changes nothing in place of %s", path, value, was.Value)
				}
				*leaf = was
			})
			assert.Positive(t, changed)
		})
	}
}

func madeOf(document *yaml.Node) (string, error) {
	text, err := yaml.Marshal(document)
	if err != nil {
		return "", err
	}
	made, err := Load(inputOf(string(text)))
	if err != nil {
		return "", err
	}
	written, err := json.Marshal(made)
	return lineNumbers.ReplaceAllString(string(written), ""), err
}

func otherValues(value, path string) []string {
	key := path[strings.LastIndex(path, ".")+1:]
	if strings.HasPrefix(path, ".services.web.env_file") {
		key = "env_file"
	}
	made := []string{"x" + value}
	if number, err := strconv.Atoi(value); err == nil {
		made = append(made, strconv.Itoa(number+1))
	}
	switch value {
	case "true":
		made = append(made, "false")
	case "false":
		made = append(made, "true")
	}
	for _, other := range others[key] {
		if other != value {
			made = append(made, other)
		}
	}
	return made
}

// leaves goes over all values that count: what is an extension, or is used by nothing, does not.
func leaves(n *yaml.Node, path string, visit func(*yaml.Node, string)) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if key == "version" || key == "not-used" || strings.HasPrefix(key, "x-") && key != "x-service" {
				continue
			}
			leaves(n.Content[i+1], path+"."+key, visit)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			leaves(item, path+"."+strconv.Itoa(i), visit)
		}
	case yaml.ScalarNode:
		if n.Value != "" {
			visit(n, path)
		}
	}
}
