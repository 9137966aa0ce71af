package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coreos/fleet/unit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var contents = []string{
	webContent,
	"",
	"no unit file",
	"=x\n",
	"A=b\n[S]\nA=b",
	"[S]\r\nA=b\r\n",
	"[S]\nA=b\n[T]\nC=d\n[S]\nE=f\n",
	"# comment\n; comment\n[S]\n\n\nA= b \n\n",
	"[S]\n# comment \\\nA=lost\nB=c\n",
	"[S]\nA=b \\\n  c \\\n  d\nE=f\n",
	"[S]\nA=b\\",
	"[S]\nA=b\\\n",
	"[S]\nA=\n",
	"[S]\nno value\n",
	"[S] garbage\nA=b\n",
	"[S\nA=b\n",
	"[]\n=\n",
	".include /etc/x\n[S]\nA=b\n",
	"[S]\nA=" + strings.Repeat("x", 3000) + "\n",
	"[S]\nÄ=ö\x00\xff\n",
}

// sameHash holds a hash against the one of fleet's own code.
func sameHash(t *testing.T, content string) {
	t.Helper()
	got, err := UnitHash(content)
	file, theirs := unit.NewUnitFile(content)
	switch {
	case theirs != nil:
		require.Error(t, err)
		assert.True(t, IsInvalidRequest(err))
	case len(file.Options) == 0:
		assert.True(t, IsInvalidRequest(err), "nothing in it: %v", err)
	default:
		require.NoError(t, err)
		assert.Equal(t, file.Hash().String(), got)
	}
}

func TestUnitHashIsFleets(t *testing.T) {
	for _, content := range contents {
		sameHash(t, content)
	}
	files, err := filepath.Glob("../examples/groups/*/*")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		sameHash(t, string(text))
	}
}

func TestUnitHashOfTheSameUnit(t *testing.T) {
	plain, err := UnitHash("[S]\nA=b\n")
	require.NoError(t, err)
	commented, err := UnitHash("# why\n\n[S]\n\nA = b\n")
	require.NoError(t, err)
	assert.Equal(t, plain, commented, "comments, blank lines and blanks around = are no part of it")
	assert.Len(t, plain, 40)
	other, err := UnitHash("[S]\nA=c\n")
	require.NoError(t, err)
	assert.NotEqual(t, plain, other)
}

func FuzzUnitHash(f *testing.F) {
	for _, content := range contents {
		f.Add(content)
	}
	f.Fuzz(sameHash)
}

func FuzzDetailOf(f *testing.F) {
	for _, content := range contents {
		f.Add("a@b.service", content)
	}
	f.Add("a@%i.timer", "[X-Fleet]\nMachineMetadata=\"a=%i\" \"b=%n\"\nGlobal=\"\nMachineMetadata=\"\n")
	f.Fuzz(func(t *testing.T, name, content string) {
		detail, err := DetailOf(name, content)
		if err == nil {
			assert.Equal(t, name, detail.Name)
		}
	})
}
