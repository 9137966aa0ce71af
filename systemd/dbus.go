package systemd

import (
	"context"
	"fmt"

	systemdbus "github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

const (
	busName     = "org.freedesktop.systemd1"
	busObject   = godbus.ObjectPath("/org/freedesktop/systemd1")
	busManager  = busName + ".Manager"
	busUnit     = busName + ".Unit"
	busProperty = "org.freedesktop.DBus.Properties"
)

var _ manager = (*bus)(nil)

func (b *bus) States(ctx context.Context, names []string) (map[string]unitState, error) {
	var listed []systemdbus.UnitStatus
	err := b.do(ctx, func(ctx context.Context, c *connection) (err error) {
		listed, err = c.systemd.ListUnitsByNamesContext(ctx, names)
		return err
	})
	if err == nil && len(listed) != len(names) {
		err = fmt.Errorf("systemd was asked about %d units and told of %d", len(names), len(listed))
	}
	if err != nil {
		return nil, err
	}
	states := make(map[string]unitState, len(names))
	for i, unit := range listed {
		// By its place, since a unit can have another name than the one asked for.
		states[names[i]] = stateOf(unit)
	}
	return states, nil
}

// fewNames is for how many names systemd picks the units; it compares each unit with each name, so of more it is asked
// for all units.
const fewNames = 16

// Known has names that can be no patterns: those that checkName lets through.
func (b *bus) Known(ctx context.Context, names []string) (map[string]unitState, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var patterns []string
	if len(names) <= fewNames {
		patterns = names
	}
	var listed []systemdbus.UnitStatus
	err := b.do(ctx, func(ctx context.Context, c *connection) (err error) {
		listed, err = c.systemd.ListUnitsByPatternsContext(ctx, nil, patterns)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := make(map[string]unitState, len(listed))
	for _, unit := range listed {
		all[unit.Name] = stateOf(unit)
	}
	known := make(map[string]unitState, len(names))
	for _, name := range names {
		if state, ok := all[name]; ok {
			known[name] = state
		}
	}
	return known, nil
}

func stateOf(unit systemdbus.UnitStatus) unitState {
	return unitState{Load: unit.LoadState, Active: unit.ActiveState, Sub: unit.SubState, Queued: unit.JobId != 0}
}

func (b *bus) Outdated(ctx context.Context, name string) (outdated bool, err error) {
	err = b.do(ctx, func(ctx context.Context, c *connection) error {
		property, err := c.systemd.GetUnitPropertyContext(ctx, name, "NeedDaemonReload")
		if err == nil {
			err = godbus.Store([]any{property.Value}, &outdated)
		}
		return err
	})
	return outdated, err
}

func (b *bus) SearchPath(ctx context.Context) (dirs []string, err error) {
	err = b.do(ctx, func(ctx context.Context, c *connection) error {
		var value godbus.Variant
		err := c.calls.Object(busName, busObject).
			CallWithContext(ctx, busProperty+".Get", 0, busManager, "UnitPath").Store(&value)
		if err == nil {
			err = value.Store(&dirs)
		}
		return err
	})
	return dirs, err
}

func (b *bus) Reload(ctx context.Context) error {
	return b.do(ctx, func(ctx context.Context, c *connection) error { return c.systemd.ReloadContext(ctx) })
}

func (b *bus) Start(ctx context.Context, name string) (<-chan string, error) {
	return b.job(ctx, func(ctx context.Context, c *connection, result chan<- string) error {
		_, err := c.systemd.StartUnitContext(ctx, name, "replace", result)
		return err
	})
}

func (b *bus) Stop(ctx context.Context, name string) (<-chan string, error) {
	result, err := b.job(ctx, func(ctx context.Context, c *connection, result chan<- string) error {
		_, err := c.systemd.StopUnitContext(ctx, name, "replace", result)
		return err
	})
	if isNoSuchUnit(err) {
		return nil, nil
	}
	return result, err
}

// job queues a job. Its result comes on the channel, which is closed without one when the connection breaks.
func (b *bus) job(ctx context.Context, queue func(context.Context, *connection, chan<- string) error) (<-chan string, error) {
	var used *connection
	var told chan string
	err := b.do(ctx, func(ctx context.Context, c *connection) error {
		used, told = c, make(chan string, 1)
		return queue(ctx, c, told)
	})
	if err != nil {
		return nil, err
	}
	result := make(chan string, 1)
	go func() {
		defer close(result)
		select {
		case text := <-told:
			result <- text
		case <-used.signals.Context().Done():
		}
	}()
	return result, nil
}

func (b *bus) ResetFailed(ctx context.Context, name string) error {
	err := b.do(ctx, func(ctx context.Context, c *connection) error {
		return c.systemd.ResetFailedUnitContext(ctx, name)
	})
	if isNoSuchUnit(err) {
		return nil
	}
	return err
}

// Watch has a connection of its own, so that a flood of signals holds up no call.
//
// What systemd tells of units that it loads and drops is not listened to: it loads a unit to tell its state and drops
// it afterwards, so whoever looks after each value would never rest.
func (b *bus) Watch(ctx context.Context, changed func(name string)) (<-chan struct{}, error) {
	callCtx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	conn, err := b.dialWatch(callCtx)
	if err != nil {
		return nil, b.explain(ctx, callCtx, err)
	}
	signals := make(chan *godbus.Signal, 1024)
	conn.Signal(signals)
	if err := subscribe(callCtx, conn); err != nil {
		_ = conn.Close()
		return nil, b.explain(ctx, callCtx, err)
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	go func() {
		defer close(ended)
		defer conn.Close()
		defer stop()
		for signal := range signals {
			name, what := readSignal(signal)
			switch what {
			case signalUnit:
				changed(name)
			case signalAny:
				changed("")
			case signalEnd:
				return
			}
		}
	}()
	return ended, nil
}

// dialWatch makes a connection that Close does not end: the watch's own context does.
func (b *bus) dialWatch(ctx context.Context) (*godbus.Conn, error) {
	leave, err := enter(ctx, b.turn)
	if err != nil {
		return nil, err
	}
	closed := b.closed
	leave()
	if closed {
		return nil, errClosed
	}
	return b.dial(ctx)
}

// subscribe asks for the signals that Watch reads.
func subscribe(ctx context.Context, conn *godbus.Conn) error {
	from := godbus.WithMatchSender(busName)
	for _, rule := range [][]godbus.MatchOption{
		{from, godbus.WithMatchInterface(busProperty), godbus.WithMatchMember("PropertiesChanged"),
			godbus.WithMatchPathNamespace(busObject + "/unit"), godbus.WithMatchArg(0, busUnit)},
		{from, godbus.WithMatchInterface(busManager), godbus.WithMatchMember("JobRemoved")},
		{from, godbus.WithMatchInterface(busManager), godbus.WithMatchMember("Reloading")},
		{godbus.WithMatchSender("org.freedesktop.DBus"), godbus.WithMatchInterface("org.freedesktop.DBus"),
			godbus.WithMatchMember("NameOwnerChanged"), godbus.WithMatchArg(0, busName)},
	} {
		if err := conn.AddMatchSignalContext(ctx, rule...); err != nil {
			return err
		}
	}
	return conn.Object(busName, busObject).CallWithContext(ctx, busManager+".Subscribe", 0).Err
}

// signalKind is what a signal means to a watch.
type signalKind int

const (
	signalOther signalKind = iota
	signalUnit             // a unit has changed
	signalAny              // any unit may have
	signalEnd              // systemd no longer tells
)

// readSignal gives a signal's meaning, and the unit's name.
func readSignal(signal *godbus.Signal) (name string, kind signalKind) {
	switch signal.Name {
	case busProperty + ".PropertiesChanged":
		if name, ok := unitOf(string(signal.Path)); ok {
			return name, signalUnit
		}
	case busManager + ".JobRemoved":
		if len(signal.Body) > 2 {
			if name, ok := signal.Body[2].(string); ok {
				return name, signalUnit
			}
		}
	case busManager + ".Reloading":
		return "", signalAny
	case "org.freedesktop.DBus.NameOwnerChanged":
		if len(signal.Body) > 0 && signal.Body[0] == busName {
			return "", signalEnd
		}
	}
	return "", signalOther
}
