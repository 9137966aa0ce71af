package capability_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/capability"
	"github.com/squadronctl/squadron/stack"
)

// TestImportsTheStandardLibraryAndStackOnly keeps an engine in another module from needing more.
func TestImportsTheStandardLibraryAndStackOnly(t *testing.T) {
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	require.NoError(t, err)
	const module = "github.com/squadronctl/squadron/"
	assert.ElementsMatch(t, []string{module + "capability", module + "stack"}, strings.Fields(string(list)))
}

// TestHoldsNoImplementation finds interfaces, the type of a function, and an error, and nothing that does anything. Each has a
// comment that says what is gained, what is lost without it, and why it stands apart.
func TestHoldsNoImplementation(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "capability.go", nil, parser.ParseComments)
	require.NoError(t, err)
	interfaces := 0
	for _, declaration := range file.Decls {
		general, ok := declaration.(*ast.GenDecl)
		require.True(t, ok, "a function")
		for _, spec := range general.Specs {
			kind, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			switch kind.Type.(type) {
			case *ast.InterfaceType:
				interfaces++
				text := strings.Join(strings.Fields(general.Doc.Text()), " ")
				assert.True(t, strings.HasPrefix(text, kind.Name.Name+" "), kind.Name.Name)
				for _, part := range []string{"With it,", "Without", "apart"} {
					assert.Contains(t, text, part, kind.Name.Name)
				}
			case *ast.FuncType:
			default:
				t.Errorf("%s is neither an interface nor the type of a function", kind.Name.Name)
			}
		}
	}
	assert.Equal(t, 13, interfaces)
}

func TestErrOwnStackIsFoundInAChain(t *testing.T) {
	err := fmt.Errorf("remove stack ctl: %w", capability.ErrOwnStack)
	assert.ErrorIs(t, err, capability.ErrOwnStack)
	assert.NotErrorIs(t, errors.New(err.Error()), capability.ErrOwnStack)
}

// small is an engine that can do the least, and count its machines.
type small struct{}

func (small) DeployStack(context.Context, stack.DeployRequest) error     { return nil }
func (small) RemoveStack(context.Context, string) error                  { return nil }
func (small) StackServices(context.Context, string) []stack.ServiceState { return nil }
func (small) SwarmNodes(context.Context) (int, error)                    { return 3, nil }

// An engine says at compile time what it offers; whoever holds it asks for what is needed, and does without what is not there.
func Example() {
	var _ capability.SwarmSizer = small{}

	var backend stack.Backend = small{}
	if sizer, ok := backend.(capability.SwarmSizer); ok {
		n, err := sizer.SwarmNodes(context.Background())
		fmt.Println(n, err)
	}
	if _, ok := backend.(capability.LiveDrift); !ok {
		fmt.Println("no drift")
	}
	// Output:
	// 3 <nil>
	// no drift
}
