package parity

import "time"

const (
	sleepA = "Service.ExecStart=/bin/sleep 100000"
	sleepB = "Service.ExecStart=/bin/sleep 200000"
)

// lives are units and what becomes of them, each life on a name of its own.
func lives() map[string][]act {
	return map[string][]act{
		"life@1.service": {
			put("submit", putUnit("loaded", sleepA), is("loaded/loaded", "inactive/dead"), time.Second),
			put("start", desire("launched"), is("active/running"), 2*time.Second),
			put("stop", desire("loaded"), is("loaded/loaded", "inactive/dead"), 2*time.Second),
			put("start again", desire("launched"), is("active/running"), 2*time.Second),
			put("unload", desire("inactive"), stateless, time.Second),
			put("start from inactive", desire("launched"), is("active/running"), 2*time.Second),
			destroy(gone, time.Second),
		},
		"launched@1.service": {
			put("submit launched", putUnit("launched", sleepA), is("active/running"), 2*time.Second),
			destroy(gone, time.Second),
		},
		"recreated@1.service": {
			put("submit launched", putUnit("launched", sleepA, "X-Fleet.MachineMetadata=name=m2"), is("active/running"), 2*time.Second),
			destroy(anything, 0),
			put("submit another content", putUnit("launched", sleepB, "X-Fleet.MachineMetadata=name=m2"), is("active/running of B"), 2*time.Second),
			destroy(gone, time.Second),
		},
		"replaced@1.service": {
			put("submit launched", putUnit("launched", sleepA), is("active/running"), 2*time.Second),
			put("replace", putUnit("launched", sleepB), is("active/running of B"), 2*time.Second),
			destroy(gone, time.Second),
		},
		"replaced-loaded@1.service": {
			put("submit", putUnit("loaded", sleepA), is("inactive/dead"), 2*time.Second),
			put("replace", putUnit("loaded", sleepB), is("inactive/dead of B"), 2*time.Second),
			destroy(gone, time.Second),
		},
		"false@1.service": {
			put("submit launched", putUnit("launched", "Service.ExecStart=/bin/false"), is("failed/failed"), 2*time.Second),
			put("stop", desire("loaded"), is("loaded/loaded"), 2*time.Second),
			put("start again", desire("launched"), is("launched/launched", "failed/failed"), 3*time.Second),
			destroy(gone, time.Second),
		},
		"restarts@1.service": {
			put("submit launched", putUnit("launched", "Service.ExecStart=/bin/false", "Service.Restart=always", "Service.RestartSec=600"), is("auto-restart"), 2*time.Second),
			put("stop", desire("loaded"), is("loaded/loaded", "inactive/dead"), 2*time.Second),
			destroy(gone, time.Second),
		},
		"slow@1.service": {
			put("submit launched", putUnit("launched", "Service.Type=forking", "Service.ExecStart=/bin/sh -c 'sleep 12; sleep 1000 &'"), is("active/running"), 2*time.Second),
			destroy(gone, time.Second),
		},
		"once@1.service": {
			put("submit launched", putUnit("launched", "Service.Type=oneshot", "Service.ExecStart=/bin/sleep 12"), is("activating"), time.Second),
			put("nothing", desire("launched"), is("inactive/dead"), 2*time.Second),
			destroy(gone, time.Second),
		},
		"ends@1.service": {
			put("submit launched", putUnit("launched", "Service.ExecStart=/bin/true"), is("launched/launched", "inactive/dead"), 4*time.Second),
			destroy(gone, time.Second),
		},
		"every@1.timer": {
			put("submit launched", putUnit("launched", "Timer.OnActiveSec=1h", "Timer.Unit=basic.target"), is("active/waiting"), 2*time.Second),
			put("stop", desire("loaded"), is("loaded/loaded", "inactive/dead"), 2*time.Second),
			destroy(gone, time.Second),
		},
		"port@1.socket": {
			beside("port@1.service", "the service, loaded on m3", putUnit("loaded", sleepA, "X-Fleet.MachineMetadata=name=m3")),
			put("submit launched", putUnit("launched", "Socket.ListenStream=/run/port.sock", "X-Fleet.MachineMetadata=name=m3"), is("active/listening"), 2*time.Second),
			destroy(gone, time.Second),
		},
		"moved@1.service": {
			put("submit launched on m1", putUnit("launched", sleepA, "X-Fleet.MachineMetadata=name=m1"), is("active/running"), 2*time.Second),
			destroy(anything, time.Second),
			put("submit launched on m2", putUnit("launched", sleepB, "X-Fleet.MachineMetadata=name=m2"), is("launched/launched", "active/running of B"), 8*time.Second),
			destroy(gone, time.Second),
		},
		"target.target": {
			put("submit launched", putUnit("launched", "Unit.Description=x"), is("active/active"), 2*time.Second),
			put("stop", desire("loaded"), anything, 8*time.Second),
		},
		"unreadable@1.service": {
			put("submit launched", putUnit("launched", sleepA), is("active/running"), 2*time.Second),
			put("replace by what can't be read", putUnit("launched", "Service.ExecStart=a\nb"), func(f frame) bool { return f == "no answer" }, time.Second),
		},
		"global.service": { // seen on one machine: the others come when they come
			put("submit launched", putUnit("launched", sleepA, "X-Fleet.Global=true"), is("active/running"), 2*time.Second),
			destroy(gone, time.Second),
		},
		"nobody@1.service": {
			put("submit launched", putUnit("launched", sleepA, "X-Fleet.MachineMetadata=zone=nowhere"), anything, 6*time.Second),
			destroy(gone, time.Second),
		},
	}
}
