package fleettest

import (
	"strings"
	"time"
)

// setSystemd is every change of a systemd state.
func (c *Cluster) setSystemd(i *instance, active, sub string) {
	i.active, i.sub = active, sub
	c.emitInstance(SystemdChanged, i)
	c.publishSoon(i)
}

// stopped says that there is nothing to stop.
func (i *instance) stopped() bool {
	return i.active == "inactive" || i.active == "failed"
}

// then goes on with a unit after a while, unless something else was asked of systemd by then.
func (c *Cluster) then(i *instance, after time.Duration, run func()) {
	step := i.step
	c.after(after, func() {
		if i.step == step && i.machine.loaded[i.name] == i {
			run()
		}
	})
}

// systemdStart starts a unit that isn't active, after its stop where it is just stopping.
func (c *Cluster) systemdStart(i *instance) {
	switch i.active {
	case "deactivating":
		i.startAgain = true
	case "inactive", "failed":
		i.step++
		c.then(i, c.config.Timing.Activate, func() { c.activate(i) })
	}
}

// activate is one attempt to start a unit. Only services are seen activating.
func (c *Cluster) activate(i *instance) {
	i.attempt++
	i.behavior = c.config.Behave(Start{
		Name: i.name, Content: i.file.content, Machine: i.machine.ID, Attempt: i.attempt, At: c.now,
	})
	delay := max(i.behavior.StartDelay, 0)
	if unitType(i.name) == "service" {
		c.setSystemd(i, "activating", "start")
		delay += max(c.config.Timing.Start, 0)
	}
	c.then(i, delay, func() { c.activated(i) })
}

// activated is the end of an attempt.
func (c *Cluster) activated(i *instance) {
	switch {
	case i.behavior.Fail:
		c.fail(i)
	case i.isOneshot() && isTrue(i.file.option("Service", "RemainAfterExit")):
		c.setSystemd(i, "active", "exited")
	case i.isOneshot():
		c.setSystemd(i, "inactive", "dead")
	default:
		c.setSystemd(i, "active", activeSub(unitType(i.name)))
		if i.behavior.FailAfter > 0 {
			c.then(i, i.behavior.FailAfter, func() { c.fail(i) })
		}
		if i.behavior.EndAfter > 0 {
			c.then(i, i.behavior.EndAfter, func() { c.end(i) })
		}
	}
}

func (i *instance) isOneshot() bool {
	return unitType(i.name) == "service" && strings.TrimSpace(i.file.option("Service", "Type")) == "oneshot"
}

// fail is a unit's own failure: systemd restarts it or leaves it failed.
func (c *Cluster) fail(i *instance) {
	if !i.behavior.Restart {
		c.setSystemd(i, "failed", "failed")
		return
	}
	c.restartLater(i)
}

// end is a unit's own end, without failure.
func (c *Cluster) end(i *instance) {
	if !i.behavior.Restart {
		c.setSystemd(i, "inactive", "dead")
		return
	}
	c.restartLater(i)
}

func (c *Cluster) restartLater(i *instance) {
	c.setSystemd(i, "activating", "auto-restart")
	delay := i.behavior.RestartDelay
	if delay <= 0 {
		delay = defaultRestartDelay
	}
	c.then(i, delay, func() { c.activate(i) })
}

// systemdStop stops a unit. Only services take their time; a failed unit stays failed.
func (c *Cluster) systemdStop(i *instance) {
	i.startAgain = false
	switch {
	case i.active == "deactivating":
		return
	case i.stopped():
		i.step++
	case unitType(i.name) == "service" && i.sub != "auto-restart" && i.sub != "exited":
		i.step++
		c.setSystemd(i, "deactivating", "stop-sigterm")
		c.then(i, c.config.Timing.Stop, func() { c.stopEnded(i) })
	default:
		i.step++
		c.setSystemd(i, "inactive", "dead")
	}
}

// stopEnded is the end of a stop that took its time.
func (c *Cluster) stopEnded(i *instance) {
	c.setSystemd(i, "inactive", "dead")
	switch {
	case i.unloading:
		c.unloadStopped(i)
	case i.startAgain:
		i.startAgain = false
		c.systemdStart(i)
	}
}
