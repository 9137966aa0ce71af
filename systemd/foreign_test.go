package systemd

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/fleet"
)

// A name that the host has from elsewhere is refused, with the place, and what is there stays as it is.
func TestForeignUnitsAreRefused(t *testing.T) {
	for _, place := range [][]string{
		{"lib", "web@1.service"}, {"etc", "web@1.service"}, {"lib", "web@.service"}, {"units", "web@1.service"},
	} {
		s := newSite(t, Config{})
		path := s.put(service("theirs"), place...)
		for call, err := range map[string]error{
			"submit":   s.host.Submit(t.Context(), "web@1.service", service("a")),
			"launched": s.host.SubmitLaunched(t.Context(), "web@1.service", service("a")),
		} {
			assert.True(t, IsForeignUnit(err), "%s: %v", call, err)
			assert.True(t, fleet.IsConflict(err), "%s: %v", call, err)
			assert.ErrorContains(t, err, path, call)
		}
		assert.True(t, fleet.IsUnitNotFound(s.host.Start(t.Context(), "web@1.service")))
		assert.True(t, fleet.IsUnitNotFound(s.host.Stop(t.Context(), "web@1.service")))
		assert.True(t, fleet.IsUnitNotFound(s.host.Destroy(t.Context(), "web@1.service")))
		_, err := s.host.GetStatus(t.Context(), "web@1.service")
		assert.True(t, fleet.IsUnitNotFound(err))
		assert.Equal(t, []string{filepath.Join(place...)}, s.left())
	}
}

// A unit that comes from no file, and one that runs though its file is gone, are somebody else's as well.
func TestForeignUnitsWithoutFile(t *testing.T) {
	for _, state := range []unitState{
		{Load: "loaded", Active: "active", Sub: "mounted"}, {Load: loadNotFound, Active: "active", Sub: "running"},
		{Load: "masked", Active: "inactive", Sub: "dead"},
	} {
		s := newSite(t, Config{})
		s.fake.keeps = true
		s.fake.memory["data.mount"] = &fakeUnit{state: state}
		if state.Load == loadNotFound {
			assert.Error(t, s.host.refuseForeign(t.Context(), "data.mount", state, false, nil))
			continue
		}
		assert.True(t, IsForeignUnit(s.host.Submit(t.Context(), "data.mount", "[Mount]\nWhat=a\n")), "%+v", state)
		assert.Empty(t, s.left())
	}
}

// Where somebody has put a unit of his in the place of our link, ours is no longer systemd's, and theirs is left alone.
func TestLinkReplacedByOthers(t *testing.T) {
	s := newSite(t, Config{})
	require.NoError(t, s.host.SubmitLaunched(t.Context(), "web@1.service", service("ours")))
	require.NoError(t, os.Remove(s.disk.link("web@1.service")))
	path := s.put(service("theirs"), "etc", "web@1.service")
	status, err := s.host.GetStatus(t.Context(), "web@1.service")
	require.NoError(t, err)
	assert.Equal(t, "inactive", status.Current)
	for call, err := range map[string]error{
		"submit": s.host.Submit(t.Context(), "web@1.service", service("b")),
		"start":  s.host.Start(t.Context(), "web@1.service"), "stop": s.host.Stop(t.Context(), "web@1.service"),
	} {
		assert.True(t, IsForeignUnit(err), "%s: %v", call, err)
	}
	assert.Equal(t, "active", s.fake.state("web@1.service").Active, "nothing was stopped")
	require.NoError(t, s.host.Destroy(t.Context(), "web@1.service"))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, service("theirs"), string(text))
	assert.Equal(t, "active", s.fake.state("web@1.service").Active)
}

// A link that was removed by hand (systemctl disable does so) is made again by the next change.
func TestLinkRemovedByHand(t *testing.T) {
	s := newSite(t, Config{})
	s.fake.keeps = true
	require.NoError(t, s.host.SubmitLaunched(t.Context(), "web@1.service", service("a")))
	require.NoError(t, os.Remove(s.disk.link("web@1.service")))
	require.NoError(t, s.fake.Reload(t.Context()))
	listing, err := s.host.ReadUnits(t.Context(), fleet.Selector{})
	require.NoError(t, err)
	assert.Equal(t, loadNotFound, listing.Units[0].LoadError)
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", service("a")))
	assert.True(t, s.disk.linked("web@1.service"))
	assert.Equal(t, unitState{Load: "loaded", Active: "inactive", Sub: "dead"}, s.fake.state("web@1.service"))
}

// A file that goes missing by hand takes the unit with it; Destroy cleans up, and Submit begins anew.
func TestFileRemovedByHand(t *testing.T) {
	s := newSite(t, Config{})
	for _, then := range []func(string) error{
		func(name string) error { return s.host.Destroy(t.Context(), name) },
		func(name string) error { return s.host.Submit(t.Context(), name, service("b")) },
	} {
		require.NoError(t, s.host.SubmitLaunched(t.Context(), "web@1.service", service("a")))
		require.NoError(t, os.Remove(s.disk.file("web@1.service")))
		_, err := s.host.GetStatus(t.Context(), "web@1.service")
		assert.True(t, fleet.IsUnitNotFound(err))
		require.NoError(t, then("web@1.service"))
		assert.Equal(t, "inactive", s.fake.state("web@1.service").Active)
	}
}

// A target of that name which is somebody else's keeps units from being launched, and is left as it is.
func TestForeignTarget(t *testing.T) {
	s := newSite(t, Config{})
	s.put("[Unit]\nDescription=theirs\n", "etc", targetName)
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", service("a")))
	assert.True(t, IsForeignUnit(s.host.Start(t.Context(), "web@1.service")))
	assert.Equal(t, "inactive", s.fake.state("web@1.service").Active)
}

// A file changed by hand is told by its hash before, and by a warning when it is replaced; systemd's hash is not
// claimed before systemd has the text.
func TestFileChangedByHand(t *testing.T) {
	for how, text := range map[string]string{
		"edited":   sign(service("a")) + "Restart=always\n",
		"replaced": service("by hand"),
		"spoilt":   "no unit file at all",
	} {
		s := newSite(t, Config{})
		s.fake.keeps = true
		require.NoError(t, s.host.SubmitLaunched(t.Context(), "web@1.service", service("a")))
		before, err := fleet.UnitHash(service("a"))
		require.NoError(t, err)
		s.put(text, "units", "web@1.service")
		listing, err := s.host.ReadUnits(t.Context(), fleet.Selector{})
		require.NoError(t, err)
		require.Len(t, listing.Units, 1, how)
		unit := listing.Units[0]
		assert.NotEqual(t, before, unit.Hash, how)
		assert.NotEmpty(t, unit.Hash, how)
		assert.Empty(t, unit.Machine[0].UnitHash, "%s: systemd has not loaded it", how)
		require.NoError(t, s.fake.Reload(t.Context()))
		status, err := s.host.GetStatus(t.Context(), "web@1.service")
		require.NoError(t, err)
		assert.Equal(t, unit.Hash, status.Machine[0].UnitHash, how)
		assert.Empty(t, s.log.all())
		require.NoError(t, s.host.Submit(t.Context(), "web@1.service", service("a")))
		require.Len(t, s.log.all(), 1, how)
		assert.Contains(t, s.log.all()[0], s.disk.file("web@1.service"))
		status, err = s.host.GetStatus(t.Context(), "web@1.service")
		require.NoError(t, err)
		assert.Equal(t, before, status.Machine[0].UnitHash, how)
	}
}

// Drop-ins are left alone all along.
func TestDropInsAreLeftAlone(t *testing.T) {
	s := newSite(t, Config{})
	s.put("[Service]\nNice=5\n", "etc", "web@1.service.d", "nice.conf")
	require.NoError(t, s.host.SubmitLaunched(t.Context(), "web@1.service", service("a")))
	require.NoError(t, s.host.Destroy(t.Context(), "web@1.service"))
	assert.Equal(t, []string{"etc/web@1.service.d/nice.conf"}, s.left())
}

// What lies about in the directory is no unit, and old leftovers of ours go.
func TestOtherFilesInTheDirectory(t *testing.T) {
	s := newSite(t, Config{})
	require.NoError(t, s.host.Submit(t.Context(), "web@1.service", service("a")))
	s.put("x", "units", "README")
	s.put("x", "units", temporaryPrefix+"1"+temporarySuffix)
	s.put(service("a"), "units", "theirs.service")
	require.NoError(t, os.Mkdir(s.disk.file("dir.service"), 0o755))
	require.NoError(t, os.Symlink("/dev/null", s.disk.file("null.service")))
	listing, err := s.host.ReadUnits(t.Context(), fleet.Selector{})
	require.NoError(t, err)
	require.Len(t, listing.Units, 1)
	s.restart()
	assert.Contains(t, s.left(), "units/"+temporaryPrefix+"1"+temporarySuffix, "it may be in use")
	s.age()
	s.restart()
	assert.NotContains(t, s.left(), "units/"+temporaryPrefix+"1"+temporarySuffix)
	assert.Contains(t, s.left(), "units/README")
}

// What a program that was killed was writing goes soon; what one that lives is writing stays.
func TestLeftoversOfTheDead(t *testing.T) {
	s := newSite(t, Config{})
	dead := s.put("x", "units", temporaryPrefix+"dead"+temporarySuffix)
	alive := s.put("x", "units", temporaryPrefix+"alive"+temporarySuffix)
	young := s.put("x", "units", temporaryPrefix+"young"+temporarySuffix)
	file, err := os.Open(alive)
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	then := time.Now().Add(-2 * lockTime)
	require.NoError(t, os.Chtimes(dead, then, then))
	require.NoError(t, os.Chtimes(alive, then, then))
	s.restart()
	assert.NoFileExists(t, dead)
	assert.FileExists(t, alive)
	assert.FileExists(t, young, "it may not have its lock yet")
}
