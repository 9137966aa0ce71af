package stacks_test

import (
	"fmt"
	"strings"

	"github.com/squadronctl/squadron/integration/groups/bench"
)

// sleep is what the nth version of a unit runs.
func sleep(n int) string { return fmt.Sprint("/bin/sleep ", 100000+n) }

// manifest is a header and units that run the nth version, a name for each.
func manifest(header string, n int, units ...string) string {
	var text strings.Builder
	text.WriteString(header)
	for _, unit := range units {
		fmt.Fprintf(&text, "-- %s --\n%s", unit, bench.Service(sleep(n)))
	}
	return text.String()
}
