package validator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// R4: each pair of options that fleet refuses with a 400, under their old names too.
func TestUnitFileConflictingSchedulingOptionsR4(t *testing.T) {
	options := map[string][]string{
		"MachineID": {"MachineID=1", "MachineID=", "X-ConditionMachineID=1", "X-ConditionMachineBootID=1"},
		"MachineOf": {"MachineOf=a.service", "X-ConditionMachineOf=a.service"},
		"Conflicts": {"Conflicts=b@*.service", "X-Conflicts=b@*.service"},
		"Global":    {"Global=true", "Global=Yes", "Global=1", "Global=on", "Global=t", "Global=false\nGlobal=true"},
		"Replaces":  {"Replaces=c.service"},
	}
	refused := map[string]bool{
		"MachineID MachineOf": true, "MachineID Conflicts": true, "MachineID Global": true, "MachineID Replaces": true,
		"Global MachineOf": true, "Global Replaces": true, "Conflicts Replaces": true,
	}
	for a, linesA := range options {
		for b, linesB := range options {
			if a == b {
				continue
			}
			for _, lineA := range linesA {
				for _, lineB := range linesB {
					content := "[Service]\nA=b\n[X-Fleet]\n" + lineA + "\n" + lineB + "\n"
					findings := UnitFileFindings("x.service", content)
					if !refused[a+" "+b] && !refused[b+" "+a] {
						assert.Empty(t, findings, content)
						continue
					}
					require.Len(t, findings, 1, content)
					assert.Equal(t, strings.Count(content, "\n"), findings[0].Line)
					assert.Contains(t, findings[0].Rule, a)
					assert.Contains(t, findings[0].Rule, b)
				}
			}
		}
	}
}

func TestUnitFileSchedulingOptionsThatGoTogetherR4(t *testing.T) {
	for _, content := range []string{
		"[X-Fleet]\nMachineID=1\nGlobal=false\n",
		"[X-Fleet]\nMachineID=1\nGlobal=true\nGlobal=no\n",
		"[X-Fleet]\nMachineID=1\nConflicts=\n",
		"[X-Fleet]\nGlobal=true\nMachineMetadata=\"a=b\" \"c=d\"\nConflicts=x*\n",
		"[X-Other]\nMachineID=1\nMachineOf=a.service\n",
		"[X-Fleet]\nMachineOf=a.service\nConflicts=[\n",
	} {
		assert.NoError(t, UnitFile("x.service", content), content)
	}
}

// R4: a peer must not match what the unit stays away from or takes the place of.
func TestUnitFilePeerMatchesPatternR4(t *testing.T) {
	for content, line := range map[string]int{
		"[X-Fleet]\nConflicts=z a*\nMachineMetadata=x=y\nMachineOf=a.service\n":  3,
		"[X-Fleet]\nMachineOf=a@1.service\nConflicts=a@*\n":                      2,
		"[X-Fleet]\nMachineOf=\"z\" \"a.service\"\nReplaces=a.service\n":         2,
		"[X-Fleet]\nMachineOf=b\nMachineOf=a@%i\nConflicts=b? a@%i\nGlobal=no\n": 3,
	} {
		findings := UnitFileFindings("x.service", content)
		require.Len(t, findings, 1, content)
		assert.Equal(t, line+1, findings[0].Line, content)
		assert.Contains(t, findings[0].Rule, "MachineOf=a")
	}
}

func TestUnitFileTooManyPeersR4(t *testing.T) {
	var content strings.Builder
	content.WriteString("[X-Fleet]\nConflicts=none\n")
	for i := range maxPatterns + 1 {
		fmt.Fprintf(&content, "MachineOf=a%d\n", i)
	}
	assert.ErrorContains(t, UnitFile("x.service", content.String()), "more than 1000")
}

// R4: an option that fleet does not know is passed over without a word, and the unit runs anywhere.
func TestUnknownSchedulingOptionR4(t *testing.T) {
	for _, option := range []string{"MachineOff=a.service", "machineOf=a.service", "X-MachineOf=a.service"} {
		err := UnitFile("a.service", "[Service]\nExecStart=/bin/true\n[X-Fleet]\n"+option+"\n")
		require.Error(t, err, option)
		assert.ErrorContains(t, err, "fleet would pass over it")
	}
	for _, option := range []string{"MachineMetadata=a=b", "X-ConditionMachineMetadata=a=b", "X-ConditionMachineOf=b.service", "X-Conflicts=c*"} {
		assert.NoError(t, UnitFile("a.service", "[Service]\nExecStart=/bin/true\n[X-Fleet]\n"+option+"\n"), option)
	}
}
