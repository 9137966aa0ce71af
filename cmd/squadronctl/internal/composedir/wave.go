package composedir

import (
	"fmt"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/squadronctl/squadron/stack"
)

// waveKey is the extension by which a compose file says of which wave its stack is.
const waveKey = "x-squadron-wave"

// maxWave bounds the numbers of waves, on either side of 0, as for manifests of units.
const maxWave = 1_000_000

// waveOf reads the wave of a compose file that could be packed; 0 where it says nothing of it.
func waveOf(text []byte) (int, error) {
	var top map[string]yaml.Node
	if err := yaml.Unmarshal(text, &top); err != nil {
		return 0, err
	}
	node, there := top[waveKey]
	if !there {
		return 0, nil
	}
	wave, err := strconv.Atoi(node.Value)
	if err != nil || wave < -maxWave || wave > maxWave {
		return 0, &stack.ManifestError{Line: node.Line, Err: fmt.Errorf("%s has to be a number from %d to %d", waveKey, -maxWave, maxWave)}
	}
	return wave, nil
}
