package hostpath

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		allowed, to string
		want        bool
	}{
		{"/srv", "/srv", true},
		{"/srv", "/srv/data", true},
		{"/srv/", "/srv/data/", true},
		{"/", "/srv", true},
		{"/srv", "/srv/../etc", false},
		{"/srv", "/srvs", false},
		{"/srv/data", "/srv", false},
		{"srv", "srv", false},
		{"/srv", "srv", false},
		{"/var/run/app", "/run/app/x", true},
		{"/run", "/var/run", true},
		{"/", "/var/run/docker.sock", false},
		{"/run", "/run/docker.sock", false},
		{"/var/run/docker.sock", "/run/docker.sock", true},
		{"/", "/run", false},
		{"/run", "/run", true},
		{"/run", "/run/podman", false},
		{"/", "/", true},
		{"/run", "/run/docker.sock/x", false},
		{"/srv/../etc", "/etc/passwd", true},
		{"/var", "/var/run/docker.sock", false},
		{"/", "/var/lib", true},
	} {
		assert.Equal(t, c.want, Covers(c.allowed, c.to), "%s covers %s", c.allowed, c.to)
	}
}

func FuzzCovers(f *testing.F) {
	f.Add("/srv", "/srv/../etc")
	f.Add("/", "/run/docker.sock")
	f.Add("/var/run", "/run/x")
	f.Fuzz(func(t *testing.T, allowed, to string) {
		if Covers(allowed, to) {
			assert.True(t, strings.HasPrefix(realRun(to)+"/", strings.TrimSuffix(realRun(allowed), "/")+"/"))
		}
	})
}
