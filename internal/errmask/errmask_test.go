package errmask

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/juju/errgo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	errTarget = errors.New("target")
	errOther  = errors.New("other")
)

func TestR35HasSeesThroughEveryWrapping(t *testing.T) {
	tests := map[string]struct {
		err  error
		want bool
	}{
		"nil":                       {nil, false},
		"bare":                      {errTarget, true},
		"another":                   {errOther, false},
		"another of the same text":  {errors.New("target"), false},
		"Mask":                      {Mask(errTarget), true},
		"Maskf":                     {Maskf(errTarget, "text"), true},
		"Mask of another":           {Mask(errOther), false},
		"errgo.Mask":                {errgo.Mask(errTarget), true},
		"errgo.Mask with Any":       {errgo.Mask(errTarget, errgo.Any), true},
		"errgo.Notef":               {errgo.Notef(errTarget, "text"), true},
		"errgo.New":                 {errgo.New("target"), false},
		"errgo cause without chain": {errgo.WithCausef(errOther, errTarget, "text"), false},
		"%w":                        {fmt.Errorf("text: %w", errTarget), true},
		"%w twice":                  {fmt.Errorf("%w, %w", errOther, errTarget), true},
		"%v":                        {fmt.Errorf("text: %v", errTarget), false},
		"joined":                    {errors.Join(errOther, errTarget), true},
		"joined without":            {errors.Join(errOther, errOther), false},
		"nested": {Maskf(errors.Join(errOther, fmt.Errorf("a: %w",
			errgo.Mask(errgo.Mask(Mask(errTarget)), errgo.Any))), "b"), true},
		"nested without": {Maskf(errors.Join(errOther, fmt.Errorf("a: %w", errgo.Mask(errOther))), "b"), false},
		"Unwrap to nil":  {&fs.PathError{Op: "open", Path: "x"}, false},
	}
	for name, test := range tests {
		assert.Equal(t, test.want, Has(test.err, errTarget), name)
	}
}

func TestMaskOfNilIsNil(t *testing.T) {
	assert.NoError(t, Mask(nil))
	assert.NoError(t, Maskf(nil, "text %d", 1))
	assert.False(t, Has(nil, nil))
}

func TestMaskTexts(t *testing.T) {
	assert.EqualError(t, Mask(errTarget), "target")
	assert.EqualError(t, Maskf(errTarget, "submit %s", "web@1.service"), "submit web@1.service: target")
	assert.EqualError(t, Maskf(Mask(Maskf(errTarget, "b")), "a"), "a: b: target")
}

func TestMaskKeepsTheChain(t *testing.T) {
	pathErr := &fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}
	err := Maskf(Mask(errors.Join(errOther, pathErr)), "read unit")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorIs(t, err, errOther)
	var got *fs.PathError
	require.ErrorAs(t, err, &got)
	assert.Same(t, pathErr, got)
}

func TestR35MaskKeepsTheCause(t *testing.T) {
	assert.Equal(t, errTarget, errgo.Cause(Mask(errTarget)))
	assert.Equal(t, errTarget, errgo.Cause(Maskf(Mask(errTarget), "text")))
	assert.Equal(t, errTarget, errgo.Cause(errgo.Mask(Mask(errTarget), errgo.Any)))
	assert.Equal(t, errTarget, errgo.Cause(Mask(errgo.Mask(errTarget, errgo.Any))))

	hidden := errgo.Mask(errTarget)
	assert.Equal(t, hidden, errgo.Cause(Mask(hidden)), "a cause that the caller hid stays hidden")
}

func TestMaskNotesItsCaller(t *testing.T) {
	for _, err := range []error{Mask(errTarget), Maskf(errTarget, "text")} {
		location := err.(errgo.Locationer).Location()
		assert.True(t, strings.HasSuffix(location.File, "errmask_test.go"), location.File)
		assert.Equal(t, 2, strings.Count(errgo.Details(err), "{"))
	}
}

func TestFindAsksEveryError(t *testing.T) {
	tree := Maskf(errors.Join(errOther, errgo.Mask(errTarget)), "text")
	var asked []error
	assert.False(t, Find(tree, func(err error) bool {
		asked = append(asked, err)
		return false
	}))
	assert.Len(t, asked, 5)
	assert.Contains(t, asked, errOther)
	assert.Contains(t, asked, errTarget)
	assert.True(t, Find(tree, func(err error) bool { return err.Error() == "target" }))
	assert.False(t, Find(nil, func(error) bool { return true }))
}

// incomparable is an error that == panics on.
type incomparable struct{ causes []error }

func (incomparable) Error() string { return "incomparable" }

func TestHasDoesNotPanicOnIncomparableErrors(t *testing.T) {
	err := incomparable{causes: []error{errOther}}
	assert.NotPanics(t, func() { assert.False(t, Has(err, errTarget)) })
	assert.NotPanics(t, func() { assert.True(t, Has(errors.Join(err, errTarget), errTarget)) })
}
