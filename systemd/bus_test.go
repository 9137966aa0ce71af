package systemd

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	godbus "github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
)

// R34, R35: what is missing is told in so many words, and with what helps.
func TestBusMissing(t *testing.T) {
	dir := t.TempDir()
	absent := filepath.Join(dir, "absent")
	for _, test := range []struct {
		place busPlace
		want  string
	}{
		{busPlace{booted: absent, running: dir, socket: dir}, "systemd does not run this host"},
		{busPlace{user: true, booted: dir, running: absent, socket: dir}, "loginctl enable-linger"},
		{busPlace{user: true, booted: dir, running: dir, socket: absent}, "there is no D-Bus"},
	} {
		b := busAt(test.place, time.Second)
		err := b.Reload(t.Context())
		assert.True(t, IsUnavailable(err), "%v", err)
		assert.False(t, fleet.IsTemporary(err))
		assert.ErrorContains(t, err, test.want)
		_, err = b.Watch(t.Context(), func(string) {})
		assert.True(t, IsUnavailable(err), "%v", err)
	}
}

// A bus that accepts and says nothing holds nobody for ever; one that refuses or hangs up is one to try again.
func TestBusSilentOrDead(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "bus")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	accepted := make(chan net.Conn, 16)
	go func() {
		defer close(accepted)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	b := busAt(busPlace{user: true, booted: dir, running: dir, socket: socket}, 50*time.Millisecond)
	err = b.Reload(t.Context())
	assert.True(t, fleet.IsTemporary(err), "%v", err)
	assert.ErrorContains(t, err, "50ms")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, b.Reload(ctx), context.Canceled)

	b.timeout = time.Minute
	connecting, give := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- b.Reload(connecting) }()
	require.Eventually(t, func() bool { return len(b.turn) == 1 }, 10*time.Second, time.Millisecond)
	ctx, cancel = context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, b.Reload(ctx), context.DeadlineExceeded, "while another call connects")
	give()
	assert.ErrorIs(t, <-first, context.Canceled)
	go func() {
		for conn := range accepted {
			_ = conn.Close()
		}
	}()
	err = b.Reload(t.Context())
	assert.True(t, fleet.IsTemporary(err), "%v", err)
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, listener.Close())
	err = b.Reload(t.Context())
	assert.True(t, fleet.IsTemporary(err), "%v", err)
	require.NoError(t, b.Close())
	assert.ErrorIs(t, b.Reload(t.Context()), errClosed)
	_, err = b.Watch(t.Context(), func(string) {})
	assert.ErrorIs(t, err, errClosed)
}

// R34: the bus that the environment names is the one that the error names.
func TestBusOfTheEnvironment(t *testing.T) {
	address := "unix:path=" + filepath.Join(t.TempDir(), "elsewhere")
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", address)
	err := busAt(systemBus(), time.Second).Reload(t.Context())
	assert.True(t, IsUnavailable(err), "%v", err)
	assert.ErrorContains(t, err, address)
}

// R35: each kind of answer is in its class.
func TestExplainCall(t *testing.T) {
	const temporary, denied, other = "temporary", "denied", "other"
	for name, want := range map[string]string{
		"org.freedesktop.DBus.Error.AccessDenied":                     denied,
		"org.freedesktop.DBus.Error.InteractiveAuthorizationRequired": denied,
		"org.freedesktop.DBus.Error.NoReply":                          temporary,
		"org.freedesktop.DBus.Error.ServiceUnknown":                   temporary,
		"org.freedesktop.systemd1.TransactionIsDestructive":           temporary,
		"org.freedesktop.systemd1.ShuttingDown":                       temporary,
		"System.Error.EAGAIN":                                         temporary,
		"org.freedesktop.systemd1.BadUnitSetting":                     other,
		noSuchUnit: other,
		"EAGAIN":   other,
	} {
		err := explainCall(godbus.Error{Name: name, Body: []any{"Its text."}})
		assert.Equal(t, want == temporary, fleet.IsTemporary(err), "%v", err)
		assert.Equal(t, want == denied, IsNotPermitted(err), "%v", err)
		assert.Equal(t, name == noSuchUnit, isNoSuchUnit(err), "%v", err)
		assert.ErrorContains(t, err, "Its text (")
		assert.ErrorContains(t, err, name)
	}
	assert.True(t, fleet.IsTemporary(explainCall(godbus.ErrClosed)))
	odd := errors.New("odd")
	assert.ErrorIs(t, explainCall(odd), odd)
	for _, predicate := range []func(error) bool{IsForeignUnit, IsUnmetRequirement, IsUnavailable, IsNotPermitted} {
		assert.False(t, predicate(nil))
		assert.False(t, predicate(odd))
	}
}

// Signals mean what they say, whatever their bodies hold.
func TestReadSignal(t *testing.T) {
	for _, test := range []struct {
		signal godbus.Signal
		name   string
		kind   signalKind
	}{
		{godbus.Signal{Name: busProperty + ".PropertiesChanged", Path: busObject + "/unit/web_401_2eservice"}, "web@1.service", signalUnit},
		{godbus.Signal{Name: busProperty + ".PropertiesChanged", Path: busObject}, "", signalOther},
		{godbus.Signal{Name: busManager + ".JobRemoved", Body: []any{uint32(1), busObject, "a.service", "done"}}, "a.service", signalUnit},
		{godbus.Signal{Name: busManager + ".JobRemoved", Body: []any{1, 2, 3}}, "", signalOther},
		{godbus.Signal{Name: busManager + ".JobRemoved"}, "", signalOther},
		{godbus.Signal{Name: busManager + ".Reloading", Body: []any{false}}, "", signalAny},
		{godbus.Signal{Name: "org.freedesktop.DBus.NameOwnerChanged", Body: []any{busName, "a", "b"}}, "", signalEnd},
		{godbus.Signal{Name: "org.freedesktop.DBus.NameOwnerChanged", Body: []any{"other"}}, "", signalOther},
		{godbus.Signal{Name: busManager + ".UnitNew"}, "", signalOther},
	} {
		name, kind := readSignal(&test.signal)
		assert.Equal(t, test.name, name)
		assert.Equal(t, test.kind, kind, test.signal.Name)
	}
}
