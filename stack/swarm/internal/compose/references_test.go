package compose

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhatAServiceUsesOfTheWorldIsNamed goes through all ways to refer to what the manifest does not make.
func TestWhatAServiceUsesOfTheWorldIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		manifest string
		want     []Reference
	}{
		"nothing": {in("volumes: [\"data:/a\", /b, {type: tmpfs, target: /c}]\nnetworks: [front]\nconfigs: [a]",
			"volumes: {data: {name: shop_other}}\nnetworks: {front: {name: f}}\nconfigs: {a: {content: a}}\n"), nil},
		"binds": {in("volumes:\n  - /var/run/docker.sock:/s\n  - type: bind\n    source: /etc//x/\n    target: /t", ""),
			[]Reference{{KindHostPath, "/var/run/docker.sock", 5}, {KindHostPath, "/etc/x", 7}}},
		"volumes": {in("volumes:\n  - aa:/a\n  - bb:/b\n  - cc:/c",
			"volumes: {aa: {external: true}, bb: {name: others_b}, cc: {external: {name: c}}}\n"),
			[]Reference{{KindVolume, "aa", 5}, {KindVolume, "others_b", 6}, {KindVolume, "c", 7}}},
		"a local volume's path": {in("volumes: [\"disk:/d\", \"disk:/e\"]", "volumes:\n  disk:\n    driver: local\n    driver_opts:\n"+
			"      type: none\n      o: ro,bind\n      device: /etc/\n"), []Reference{{KindHostPath, "/etc", 11}}},
		"a bind that says that it is something else": {in("volumes: [\"disk:/d\"]", "volumes:\n  disk:\n    driver_opts:\n"+
			"      type: nfs\n      o: addr=1.2.3.4,rbind\n      device: /etc\n"), []Reference{{KindHostPath, "/etc", 10}}},
		"a local volume's disk": {in("volumes: [\"disk:/d\"]", "volumes:\n  disk:\n    driver_opts:\n"+
			"      type: ext4\n      device: /dev/sda1\n"), []Reference{{KindHostPath, "/dev/sda1", 9}}},
		"another machine's path": {in("volumes: [\"disk:/d\"]", "volumes:\n  disk:\n    driver_opts:\n"+
			"      type: nfs\n      o: addr=1.2.3.4\n      device: \":/export\"\n"), nil},
		"another driver's path": {in("volumes: [\"disk:/d\"]", "volumes:\n  disk:\n    driver: persist\n    driver_opts:\n"+
			"      size: 10g\n      mountpoint: /data\n"), []Reference{{KindHostPath, "/data", 10}}},
		"logs": {in("logging:\n  driver: syslog\n  options:\n    tag: a\n    syslog-address: unixgram:///dev/log\n    syslog-tls-key: /etc/key", ""),
			[]Reference{{KindHostPath, "/dev/log", 8}, {KindHostPath, "/etc/key", 9}}},
		"networks": {in("networks:\n  front:\n  node:", "networks: {front: {external: true}, node: {external: true, name: host}}\n"),
			[]Reference{{KindNetwork, "front", 5}, {KindNetwork, "host", 6}}},
		"the default network": {in("", "networks: {default: {external: true, name: proxy}}\n"), []Reference{{KindNetwork, "proxy", 2}}},
		"configs and secrets": {in("configs:\n  - a\nsecrets:\n  - source: b",
			"configs: {a: {external: true}}\nsecrets: {b: {external: true, name: theirs}}\n"),
			[]Reference{{KindSecret, "theirs", 7}, {KindConfig, "a", 5}}},
	} {
		made, err := Load(inputOf(c.manifest))
		require.NoError(t, err, name)
		assert.ElementsMatch(t, c.want, made.Services[0].References, name)
	}
}
