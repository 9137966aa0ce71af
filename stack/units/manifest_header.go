package units

import (
	"fmt"
	"strconv"
	"strings"
)

// The bounds of what a manifest can ask for are those of package controller.
const (
	maxSlices    = 1 << 20
	maxReadySecs = 365 * 24 * 60 * 60
)

// maxWave bounds the numbers of waves, on either side of 0.
const maxWave = 1_000_000

// headerKey is one of the keys that stand before the first file.
type headerKey struct {
	name        string
	least, most int
	set         func(*Manifest, int)
	get         func(Manifest) (value int, given bool)
}

var headerKeys = []headerKey{
	{"slices", 1, maxSlices,
		func(m *Manifest, n int) { m.Slices = n },
		func(m Manifest) (int, bool) { return m.Slices, m.Slices != 0 }},
	{"max-growth", 0, maxSlices,
		func(m *Manifest, n int) { m.MaxGrowth = &n },
		func(m Manifest) (int, bool) { return valueOf(m.MaxGrowth) }},
	{"min-alive", 0, maxSlices,
		func(m *Manifest, n int) { m.MinAlive = &n },
		func(m Manifest) (int, bool) { return valueOf(m.MinAlive) }},
	{"ready-secs", 0, maxReadySecs,
		func(m *Manifest, n int) { m.ReadySecs = n },
		func(m Manifest) (int, bool) { return m.ReadySecs, m.ReadySecs != 0 }},
	{"wave", -maxWave, maxWave,
		func(m *Manifest, n int) { m.Wave = n },
		func(m Manifest) (int, bool) { return m.Wave, m.Wave != 0 }},
}

func valueOf(n *int) (int, bool) {
	if n == nil {
		return 0, false
	}
	return *n, true
}

// parseHeader reads what stands before the first file.
func parseHeader(text string) (Manifest, lines, error) {
	var manifest Manifest
	places := lines{keys: map[string]int{}}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		key := keyOf(name)
		switch {
		case !found:
			return manifest, places, inText(i+1, "%.80q is neither a line \"key: value\" nor the beginning of a file", line)
		case key == nil:
			return manifest, places, inText(i+1, "there is no key %.80q, only %s", name, listKeys())
		case places.keys[name] != 0:
			return manifest, places, inText(i+1, "%s is given a second time, after line %d", name, places.keys[name])
		}
		n, err := strconv.Atoi(value)
		if err != nil || strconv.Itoa(n) != value || n < key.least || n > key.most {
			return manifest, places, inText(i+1, "%s is %.80q, and must be a number from %d to %d", name, value, key.least, key.most)
		}
		key.set(&manifest, n)
		places.keys[name] = i + 1
	}
	return manifest, places, nil
}

func keyOf(name string) *headerKey {
	for i := range headerKeys {
		if headerKeys[i].name == name {
			return &headerKeys[i]
		}
	}
	return nil
}

func listKeys() string {
	names := make([]string, 0, len(headerKeys))
	for _, key := range headerKeys {
		names = append(names, key.name)
	}
	return strings.Join(names, ", ")
}

// header gives the lines before the first file.
func (m Manifest) header() string {
	var text strings.Builder
	for _, key := range headerKeys {
		if n, given := key.get(m); given {
			fmt.Fprintf(&text, "%s: %d\n", key.name, n)
		}
	}
	return text.String()
}

// checkHeader checks the numbers by themselves, and by each other.
func (m Manifest) checkHeader(places lines) error {
	for _, key := range headerKeys {
		if n, given := key.get(m); given && (n < key.least || n > key.most) {
			return inText(places.keys[key.name], "%s is %d, and must be a number from %d to %d", key.name, n, key.least, key.most)
		}
	}
	growth, growthGiven := valueOf(m.MaxGrowth)
	alive, _ := valueOf(m.MinAlive)
	switch {
	case !m.sliced() && m.Slices > 1:
		return inText(places.keys["slices"], "slices is %d, and the units have none: their names lack an @ before the suffix", m.Slices)
	case !m.sliced() && growth > 0:
		return inText(places.keys["max-growth"], "max-growth is %d, and a group without slices can't grow", growth)
	case !m.sliced() && alive > 0:
		return inText(places.keys["min-alive"], "min-alive is %d, and a group without slices is replaced in place", alive)
	case m.Slices > 0 && alive > m.Slices:
		return inText(places.keys["min-alive"], "min-alive is %d, of %d slices", alive, m.Slices)
	case m.Slices > 0 && alive == m.Slices && growthGiven && growth == 0:
		return inText(places.keys["min-alive"], "min-alive is %d, which is all slices, and max-growth is 0: "+
			"none could ever be replaced", alive)
	}
	return nil
}
