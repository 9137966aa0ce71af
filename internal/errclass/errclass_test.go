package errclass

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

// R35: an error keeps its text and its chain, and belongs to its class; none stays none.
func TestWith(t *testing.T) {
	cause := errors.New("cause")
	err := With(ErrConflict, cause)
	assert.EqualError(t, err, "cause")
	assert.ErrorIs(t, err, cause)
	assert.ErrorIs(t, err, ErrConflict)
	assert.NotErrorIs(t, err, ErrTemporary)
	assert.NoError(t, With(ErrConflict, nil))
}
