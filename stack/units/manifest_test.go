package units_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/squadronctl/squadron/controller"
	"github.com/squadronctl/squadron/stack"
	"github.com/squadronctl/squadron/stack/units"
)

func TestParseManifest(t *testing.T) {
	text := `# The shop's front.

slices: 3
max-growth: 1
min-alive:2
ready-secs:  30
wave: -2
-- web-app@.service --
[Service]
ExecStart=/bin/serve
-- web-log@.service --
[Service]
ExecStart=/bin/log`
	manifest, err := units.ParseManifest(text)
	require.NoError(t, err)
	assert.Equal(t, units.Manifest{
		Units: []controller.Unit{
			{Name: "web-app@.service", Content: "[Service]\nExecStart=/bin/serve\n"},
			{Name: "web-log@.service", Content: "[Service]\nExecStart=/bin/log\n"},
		},
		Slices: 3, MaxGrowth: new(1), MinAlive: new(2), ReadySecs: 30, Wave: -2,
	}, manifest)

	formatted, err := manifest.Format()
	require.NoError(t, err)
	again, err := units.ParseManifest(formatted)
	require.NoError(t, err)
	assert.Equal(t, manifest, again)

	plain, err := units.ParseManifest(file("db.service", service("v1")))
	require.NoError(t, err, "all before the first file is optional")
	assert.Zero(t, plain.Slices)
	assert.Nil(t, plain.MaxGrowth)
	assert.Nil(t, plain.MinAlive)
	assert.Zero(t, plain.Wave)
}

func TestBadManifestsNameFileAndLine(t *testing.T) {
	web := file("web-app@.service", service("v1"))
	tests := map[string]struct {
		text string
		file string
		line int
		says string
	}{
		"empty":                     {"", "", 0, "no unit file"},
		"no file":                   {"slices: 3\n", "", 0, "no unit file"},
		"unknown key":               {"\n# x\nslice: 3\n" + web, "", 3, `no key "slice"`},
		"repeated key":              {"slices: 3\nmin-alive: 1\nslices: 3\n" + web, "", 3, "second time, after line 1"},
		"no key":                    {"slices\n" + web, "", 1, "neither"},
		"no number":                 {"slices: three\n" + web, "", 1, `"three"`},
		"half a number":             {"slices: 3 # three\n" + web, "", 1, "must be a number"},
		"a sign":                    {"slices: +3\n" + web, "", 1, "must be a number"},
		"no slice":                  {"slices: 0\n" + web, "", 1, "from 1 to"},
		"too many":                  {"slices: 99999999999999999999\n" + web, "", 1, "from 1 to"},
		"negative":                  {"\nmin-alive: -1\n" + web, "", 2, "from 0 to"},
		"a year and more":           {"ready-secs: 99999999\n" + web, "", 1, "ready-secs"},
		"a wave that is none":       {"wave: first\n" + web, "", 1, "from -1000000 to 1000000"},
		"a wave too far":            {"wave: -1000001\n" + web, "", 1, "from -1000000 to"},
		"more alive than there are": {"slices: 2\nmin-alive: 3\n" + web, "", 2, "of 2 slices"},
		"bounds that allow nothing": {"slices: 2\nmin-alive: 2\nmax-growth: 0\n" + web, "", 2, "none could ever be replaced"},
		"slices of no slices":       {"slices: 2\n" + file("web.service", service("v1")), "", 1, "slices is 2"},
		"growth of no slices":       {"max-growth: 1\n" + file("web.service", service("v1")), "", 1, "can't grow"},
		"min-alive of no slices":    {"min-alive: 1\n" + file("web.service", service("v1")), "", 1, "in place"},
		"bad name":                  {web + file("web app@.service", service("v1")), "", 7, "web app@"},
		"a directory":               {web + file("x/web@.service", service("v1")), "", 7, "x/web@"},
		"no suffix":                 {file("web", service("v1")), "", 1, "suffix"},
		"what no agent runs":        {file("web.busname", service("v1")), "", 1, "web.busname"},
		"one slice":                 {file("web@1.service", service("v1")), "", 1, "of one slice"},
		"two @":                     {file("web@a@.service", service("v1")), "", 1, "@"},
		"repeated file":             {web + web, "", 7, "second time, after line 1"},
		"mixed":                     {web + file("web.service", service("v1")), "", 7, "one is of a slice"},
		"empty file":                {file("web@.service", ""), "web@.service", 0, "empty"},
		"C1":                        {web + file("web@.service", "[Service]\n# bad \\\nExecStart=/bin/x\n"), "web@.service", 2, "backslash"},
		"C2":                        {file("web@.service", ".include /etc/x\n[Unit]\nAfter=x.service\n"), "web@.service", 1, "include"},
		"C3":                        {file("web@.service", "[Service]\nExecStart="+strings.Repeat("x", 2100)+"\n"), "web@.service", 2, "2,048"},
		"stamp":                     {file("web@.service", service("v1")+"\n[X-Squadron]\nOwner=me\n"), "web@.service", 8, "X-Squadron"},
		"marker lost":               {web + "-- web-log@.service -\n[Service]\n", "web-app@.service", 6, "neither"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := units.ParseManifest(test.text)
			var fault *stack.ManifestError
			require.ErrorAs(t, err, &fault)
			assert.Equal(t, test.file, fault.File)
			assert.Equal(t, test.line, fault.Line)
			assert.ErrorContains(t, fault.Err, test.says)
		})
	}
}

func TestCheckName(t *testing.T) {
	manifest, err := units.ParseManifest(file("web-app@.service", service("v1")) + file("webhook@.service", service("v1")))
	require.NoError(t, err)
	for name, fileAtFault := range map[string]string{"web": "webhook@.service", "api": "web-app@.service", "": "", "w@b": "", "a b": ""} {
		var fault *stack.ManifestError
		require.ErrorAs(t, manifest.CheckName(name), &fault, name)
		assert.Equal(t, fileAtFault, fault.File, name)
	}
	assert.True(t, controller.IsBadUnitPrefix(manifest.CheckName("api")))
}

func TestFormatRefusesWhatWouldNotComeBack(t *testing.T) {
	tests := map[string]units.Manifest{
		"nothing": {},
		"a line that begins a file": {Units: []controller.Unit{{Name: "web.service",
			Content: "[Service]\nExecStart=/bin/x \\\n-- web-x.service --\n"}}},
		"no unit file":    {Units: []controller.Unit{{Name: "web.service", Content: "text"}}},
		"negative slices": {Slices: -1, Units: []controller.Unit{{Name: "web@.service", Content: service("v1")}}},
		"a wave too far":  {Wave: 1_000_001, Units: []controller.Unit{{Name: "web.service", Content: service("v1")}}},
		"negative bound":  {MinAlive: new(-1), Units: []controller.Unit{{Name: "web@.service", Content: service("v1")}}},
	}
	for name, manifest := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := manifest.Format()
			var fault *stack.ManifestError
			require.ErrorAs(t, err, &fault)
		})
	}
}

func TestManifestOf(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	_, err := units.ManifestOf(dir)
	var fault *stack.ManifestError
	require.ErrorAs(t, err, &fault, "no unit file")
	_, err = units.ManifestOf(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)

	write("web-log@.service", service("log"))
	write("web-app@.service", service("v1"))
	write("README.md", "Not a unit.")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "old.service"), 0o700))
	manifest, err := units.ManifestOf(dir)
	require.NoError(t, err)
	assert.Equal(t, units.Manifest{Units: []controller.Unit{
		{Name: "web-app@.service", Content: service("v1")}, {Name: "web-log@.service", Content: service("log")},
	}}, manifest)

	write("web-app@.service", "[Service]\nExec\n")
	_, err = units.ManifestOf(dir)
	require.ErrorAs(t, err, &fault)
	assert.Equal(t, "web-app@.service", fault.File)
	assert.Equal(t, 2, fault.Line)

	require.NoError(t, os.Symlink("/dev/null", filepath.Join(dir, "web-null@.service")))
	write("web-app@.service", service("v1"))
	_, err = units.ManifestOf(dir)
	require.ErrorAs(t, err, &fault, "a file that is none")
	assert.Equal(t, "web-null@.service", fault.File)
}

func FuzzManifest(f *testing.F) {
	f.Add(webManifest("slices: 3\nmax-growth: 1\nmin-alive: 2\nready-secs: 30\nwave: -1\n", "v1"))
	f.Add("# comment\n\n" + file("db.service", service("v1")) + file("db-log.service", "[Service]\nExecStart=/bin/x \\\n  -- y --\n"))
	f.Add("-- a.service --\r\n[Service]\r\nExecStart=x\r\n-- a.service --")
	f.Add("slices: 1\n-- -- --\n")
	f.Fuzz(func(t *testing.T, text string) {
		manifest, err := units.ParseManifest(text)
		if err != nil {
			var fault *stack.ManifestError
			require.True(t, errors.As(err, &fault))
			assert.LessOrEqual(t, fault.Line, strings.Count(text, "\n")+1)
			return
		}
		formatted, err := manifest.Format()
		require.NoError(t, err)
		again, err := units.ParseManifest(formatted)
		require.NoError(t, err)
		assert.Equal(t, manifest, again)
		final, err := again.Format()
		require.NoError(t, err)
		assert.Equal(t, formatted, final)
	})
}
