package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What can't be written is a failure, of help as of a result; one whose reader is gone ends without a word.
func TestHelpThatCannotBeWritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	reader, gone, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	defer gone.Close()
	for _, args := range []string{"", "help", "help apply", "help configuration", "apply --help", "--version", "version", "completion bash"} {
		command, _, errs := process(t, nil, strings.Fields(args)...)
		command.Stdout = full
		require.NoError(t, command.Start())
		assert.Equal(t, exitFailed, exitCodeOf(t, command), args)
		assert.Regexp(t, `^squadronctl: write the result: .*no space left on device\n$`, errs.String(), args)

		command, _, errs = process(t, nil, strings.Fields(args)...)
		command.Stdout = gone
		require.NoError(t, command.Start())
		assert.Equal(t, exitPipe, exitCodeOf(t, command), args)
		assert.Empty(t, errs.String(), args)
	}
}
