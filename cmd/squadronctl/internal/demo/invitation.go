package demo

import (
	"fmt"
	"path/filepath"
	"strings"
)

// invitation says where the demo is, and what to try.
func invitation(endpoint, dir string) string {
	web, broken := quoted(filepath.Join(dir, "web")), quoted(filepath.Join(dir, "broken", "web"))
	stacks := quoted(filepath.Join(dir, "stacks"))
	return fmt.Sprintf(`A simulated fleet cluster of three machines listens on
  %s
until Ctrl-C ends it. Unit files of its groups are in
  %s

To try in another terminal:

  export SQUADRON_ENDPOINT=%s
  export SQUADRON_STATE=%s
  squadronctl list
  squadronctl status queue
  squadronctl plan %s
  squadronctl update %s
  squadronctl scale web 5
  squadronctl update --rollback %s
  squadronctl diff %s
  squadronctl apply %s
`, endpoint, dir, quoted(endpoint), quoted(filepath.Join(dir, "state")), web, web, broken, stacks, stacks)
}

// quoted is a word as a shell takes it literally.
func quoted(word string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("/.:-_@+,=", r) || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
