package compose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// seed adds the manifests that the other tests know.
func seed(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(string(text))
	}
	for _, c := range refusals {
		f.Add(c.manifest)
	}
	for _, c := range hostile {
		f.Add(c.manifest)
	}
	f.Add(withFilesAndVariables)
}

// FuzzLoad: no text makes it panic, each fault is of a line that there is, and what is accepted is accepted in the same way again,
// and declares the same names.
func FuzzLoad(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, manifest string) {
		made, err := Load(inputOf(manifest))
		if err != nil {
			for _, fault := range faultsOf(t, err) {
				assert.NotContains(t, fault.Error(), "can't be read: ", "a panic")
				assert.LessOrEqual(t, 1, fault.Line, "%v", fault)
				assert.LessOrEqual(t, fault.Line, 1+strings.Count(manifest, "\n"), "%v", fault)
			}
			return
		}
		again, err := Load(inputOf(manifest))
		require.NoError(t, err)
		assert.Equal(t, made, again)
	})
}

// FuzzPack: what can be packed is loaded as it was before, packing twice is packing once, and the names are known without the files.
func FuzzPack(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, manifest string) {
		packed, err := Pack(manifest, readTestdata, surroundings)
		if err != nil {
			faultsOf(t, err)
			return
		}
		again, err := Pack(packed, readTestdata, surroundings)
		require.NoError(t, err)
		assert.Equal(t, packed, again)
		made, err := Load(inputOf(packed))
		if err != nil {
			return // for what depends on the stack's name
		}
		assertDeclares(t, made, packed)
	})
}
