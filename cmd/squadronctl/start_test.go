package main

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStart builds the command as it is released, and shows that it is one static file that starts without effort.
func TestStart(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "squadronctl")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))

	file, err := elf.Open(binary)
	require.NoError(t, err)
	defer file.Close()
	for _, program := range file.Progs {
		assert.NotEqual(t, elf.PT_INTERP, program.Type, "the binary needs a dynamic linker")
	}

	var times []time.Duration
	for range 9 {
		command := exec.Command(binary, "version")
		require.NoError(t, command.Run())
		usage := command.ProcessState.SysUsage().(*syscall.Rusage)
		times = append(times, time.Duration(usage.Utime.Nano()+usage.Stime.Nano()))
	}
	slices.Sort(times)
	t.Logf("CPU time of starting the command: %v (the middle one of %d)", times[len(times)/2], len(times))
	assert.Less(t, times[len(times)/2], 50*time.Millisecond)
}
