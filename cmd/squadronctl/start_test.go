package main

import (
	"debug/elf"
	"os/exec"
	"path/filepath"
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

	// The smallest of many is what it takes; whatever else the machine does adds to the others.
	least := time.Hour
	for range 25 {
		command := exec.Command(binary, "version")
		require.NoError(t, command.Run())
		usage := command.ProcessState.SysUsage().(*syscall.Rusage)
		least = min(least, time.Duration(usage.Utime.Nano()+usage.Stime.Nano()))
	}
	t.Logf("CPU time of starting the command: %v", least)
	assert.Less(t, least, 50*time.Millisecond)
}
