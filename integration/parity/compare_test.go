package parity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// brief is how long a frame stands at most that a run may miss altogether: machines publish states on a tick of a second,
// and when that falls between two changes is chance.
const brief = 1100 * time.Millisecond

// explains says whether two films show the same life: the same frames in the same order within each act, but for those that
// may be missed, and for frames that follow themselves when such ones are left out.
func explains(a, b []shown) bool {
	// reached[j] says that the frames of a so far can be laid over the first j of b.
	reached := make([]bool, len(b)+1)
	reached[0] = true
	for j, other := range b {
		reached[j+1] = reached[j] && other.mayMiss()
	}
	for _, s := range a {
		next := make([]bool, len(b)+1)
		next[0] = reached[0] && s.mayMiss()
		for j, other := range b {
			same := s.frame == other.frame
			next[j+1] = reached[j+1] && (s.mayMiss() || same) || next[j] && (other.mayMiss() || same && j > 0) || reached[j] && same
		}
		reached = next
	}
	return reached[len(b)]
}

// mayMiss holds for brief frames, and for one of a pass under way: an agent loads units, has systemd read all files again,
// which takes as long as it takes, and starts them then. The titles of acts are never missed.
func (s shown) mayMiss() bool {
	if strings.HasPrefix(string(s.frame), title) {
		return false
	}
	return s.stood <= brief || is("launched/loaded, placed; loaded/inactive/dead")(s.frame)
}

func show(film []shown) string {
	var lines strings.Builder
	for _, s := range film {
		fmt.Fprintf(&lines, "%8.2fs %s\n", s.stood.Seconds(), s.frame)
	}
	return lines.String()
}

// What counts as the same film.
func TestExplains(t *testing.T) {
	t.Parallel()
	film := func(text string) (frames []shown) { // a letter a frame; small ones are brief, - is a title
		for _, c := range text {
			s := shown{frame: frame(strings.ToLower(string(c))), stood: time.Second}
			if c == '-' {
				s.frame = title
			} else if strings.ToUpper(string(c)) == string(c) {
				s.stood = time.Minute
			}
			frames = append(frames, s)
		}
		return frames
	}
	for _, row := range []struct {
		a, b string
		same bool
	}{
		{"AB", "AB", true}, {"AB", "BA", false}, {"AB", "A", false}, {"A", "AB", false}, {"", "A", false}, {"A", "", false}, {"", "a", true},
		{"Ab", "A", true}, {"A", "Ab", true}, {"AbC", "AC", true}, {"AbC", "AdC", true}, {"aBc", "B", true}, {"ABC", "AbC", true}, {"AbC", "CbA", false},
		{"AbAbA", "A", true}, {"A", "AbA", true}, {"ABA", "A", false}, {"-A-B", "-A-B", true}, {"-A-", "-A", false}, {"-a-b", "--", true}, {"-A-A", "-A-", false},
	} {
		assert.Equal(t, row.same, explains(film(row.a), film(row.b)), "%s and %s", row.a, row.b)
		assert.Equal(t, row.same, explains(film(row.b), film(row.a)), "%s and %s", row.b, row.a)
	}
}
