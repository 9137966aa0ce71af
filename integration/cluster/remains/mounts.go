package remains

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mountsBelow gives the mount points below dir, the innermost first.
func mountsBelow(dir string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			points = append(points, fields[4])
		}
	}
	slices.Reverse(points) // mountinfo lists a mount after the one that it stands on
	return points, nil
}

func unmount(dir string) error {
	points, err := mountsBelow(dir)
	if err != nil {
		return err
	}
	var problems []error
	for _, point := range points {
		if err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW); err != nil {
			problems = append(problems, fmt.Errorf("unmount %s: %w", point, err))
		}
	}
	return errors.Join(problems...)
}
