package compose

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const withFilesAndVariables = `services:
  web:
    image: web:${TAG}
    env_file: files/web.env
    configs: [app, page]
    secrets: [password]
    networks: [front, theirs]
networks:
  front: {name: "${NET:-front}"}
  theirs: {external: true}
configs:
  app: {file: files/app.conf}
  page: {content: "hello ${USER_NAME}"}
secrets:
  password: {file: files/password.txt}
`

// TestPackWritesWhatTheManifestRefersTo shows the lines: no content is among them.
func TestPackWritesWhatTheManifestRefersTo(t *testing.T) {
	packed, err := Pack(withFilesAndVariables, readTestdata, surroundings)
	require.NoError(t, err)
	text, found := strings.CutPrefix(packed, withFilesAndVariables)
	require.True(t, found)
	assert.NotContains(t, text, "hunter2")
	assert.NotContains(t, text, "alice")
	var lines []string
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "sha256:")
		lines = append(lines, line)
	}
	assert.Equal(t, []string{
		"# squadron: declares config app _app_0083dacc561d",
		"# squadron: declares config page _page_f6e9ab60e41d",
		"# squadron: declares network front front",
		"# squadron: declares secret password _password_46a9d5bde718",
		"# squadron: file files/app.conf ",
		"# squadron: file files/password.txt ",
		"# squadron: file files/web.env ",
		"# squadron: uses network theirs theirs",
		"# squadron: variable NET unset",
		"# squadron: variable NOT_SET unset",
		"# squadron: variable TAG ",
		"# squadron: variable USER_NAME ",
		"",
	}, lines)

	again, err := Pack(packed, readTestdata, surroundings)
	require.NoError(t, err)
	assert.Equal(t, packed, again, "packing twice is packing once")
	windows, err := Pack(strings.ReplaceAll(packed, "\n", "\r\n"), readTestdata, surroundings)
	require.NoError(t, err)
	assert.True(t, strings.HasSuffix(windows, text))
}

// TestAManifestThatRefersToNothingIsPackedAsItIs, but for the newline that it lacks at its end.
func TestAManifestThatRefersToNothingIsPackedAsItIs(t *testing.T) {
	packed, err := Pack("services: {web: {image: a}}", nil, nil)
	require.NoError(t, err)
	assert.Equal(t, "services: {web: {image: a}}\n", packed)
}

// TestTheNewlineAtTheEndChangesNoContent has a text that ends without one.
func TestTheNewlineAtTheEndChangesNoContent(t *testing.T) {
	text := in("configs: [a]", "configs:\n  a:\n    content: |\n      b")
	made, err := Load(inputOf(text))
	require.NoError(t, err)
	packed, err := Pack(text, nil, nil)
	require.NoError(t, err)
	again, err := Load(inputOf(packed))
	require.NoError(t, err)
	assert.Equal(t, made, again)
	assert.Equal(t, "b\n", string(made.Configs[0].Data))
}

// TestWhatHasChangedSinceIsRefused changes one thing after the other that was packed.
func TestWhatHasChangedSinceIsRefused(t *testing.T) {
	packed, err := Pack(withFilesAndVariables, readTestdata, surroundings)
	require.NoError(t, err)
	other := func(path string) func(string) ([]byte, error) {
		return func(asked string) ([]byte, error) {
			if asked == path {
				return []byte("other\n"), nil
			}
			return readTestdata(asked)
		}
	}
	changed := func(name, value string, set bool) func(string) (string, bool) {
		return func(asked string) (string, bool) {
			if asked == name {
				return value, set
			}
			return surroundings(asked)
		}
	}
	for _, c := range []struct {
		name     string
		manifest string
		readFile func(string) ([]byte, error)
		lookup   func(string) (string, bool)
		line     int
		want     string
	}{
		{"a config", packed, other("files/app.conf"), surroundings, 12, "files/app.conf has changed since"},
		{"a secret", packed, other("files/password.txt"), surroundings, 15, "files/password.txt has changed since"},
		{"a file of variables", packed, other("files/web.env"), surroundings, 4, "files/web.env has changed since"},
		{"a variable", packed, readTestdata, changed("TAG", "2", true), 3, "variable TAG has changed since"},
		{"a variable that is gone", packed, readTestdata, changed("TAG", "", false), 3, "variable TAG has changed since"},
		{"a variable that is new", packed, readTestdata, changed("NET", "n", true), 9, "variable NET has changed since"},
		{"a file that was not packed", strings.Replace(packed, "files/app.conf}", "files/web.env}", 1), readTestdata, surroundings,
			16, "pack it again"},
		{"a text with another file", strings.Replace(packed, "files/app.conf}", "files/other}", 1), other("files/other"), surroundings,
			12, "not among those"},
		{"a text with another variable", strings.Replace(packed, "web:${TAG}", "web:${REPLICAS}", 1), readTestdata, surroundings,
			3, "not among those"},
		{"a text with another name", strings.Replace(packed, "  theirs: {external: true}", "  theirs: {external: true, name: n}", 1),
			readTestdata, surroundings, 16, "pack it again"},
		{"a line of no kind", packed + "# squadron: volume a\n", readTestdata, surroundings, 28, "none that was packed"},
		{"a line that is there already", packed + "# squadron: variable NET unset\n", readTestdata, surroundings, 28, "none that was packed"},
		{"a digest that is none", strings.Replace(packed, "NET unset", "NET sha256:12", 1), readTestdata, surroundings, 24, "none that was packed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(Input{Stack: "shop", Manifest: c.manifest, ReadFile: c.readFile, Lookup: c.lookup})
			faults := faultsOf(t, err)
			require.NotEmpty(t, faults)
			assert.Equal(t, c.line, faults[0].Line, "%v", err)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// TestDeclaredNeedsNothingOfThePast tells names from a packed manifest when its files and variables are gone, and from one that is
// not packed as far as it can.
func TestDeclaredNeedsNothingOfThePast(t *testing.T) {
	made, err := Load(inputOf(withFilesAndVariables))
	require.NoError(t, err)
	packed, err := Pack(withFilesAndVariables, readTestdata, surroundings)
	require.NoError(t, err)
	assertDeclares(t, made, packed)

	_, err = Declared("shop", withFilesAndVariables, surroundings)
	assert.ErrorContains(t, err, "manifest:12: the file files/app.conf is needed")

	filesAlone := strings.NewReplacer("${TAG}", "1", "${NET:-front}", "front", " ${USER_NAME}", "", "web.env", "app.conf").
		Replace(withFilesAndVariables)
	filesAlone = strings.Replace(filesAlone, "    env_file: files/app.conf\n", "", 1)
	made, err = Load(inputOf(filesAlone))
	require.NoError(t, err)
	packed, err = Pack(filesAlone, readTestdata, nil)
	require.NoError(t, err)
	assert.NotContains(t, packed, "declares", "the names are in the text")
	assertDeclares(t, made, packed)

	inline := in("configs: [page]", "configs:\n  page: {content: \"hello ${USER_NAME}\"}\n")
	made, err = Load(inputOf(inline))
	require.NoError(t, err)
	declared, err := Declared("shop", inline, surroundings)
	require.NoError(t, err)
	assert.Equal(t, made.Configs[0].Name, declared.Configs[0].Name)
}

// TestAnotherContentIsAnotherName holds that of a config against its name, own and chosen.
func TestAnotherContentIsAnotherName(t *testing.T) {
	name := func(definition string) string {
		made, err := Load(inputOf(in("configs: [a]", "configs: {a: "+definition+"}\n")))
		require.NoError(t, err)
		return made.Configs[0].Name
	}
	assert.Equal(t, "shop_a_2e7d2c03a950", name("{content: c}"))
	assert.Equal(t, "shop_a_18ac3e7343f0", name("{content: d}"))
	assert.Equal(t, "own_18ac3e7343f0", name("{content: d, name: own}"))
	assert.Equal(t, "own", name("{external: true, name: own}"))
	assert.Equal(t, "a", name("{external: true}"))
}

// TestEachFileIsReadOnce even where many name it, and none that no service uses.
func TestEachFileIsReadOnce(t *testing.T) {
	read := map[string]int{}
	input := inputOf(in("configs: [a, b]\nsecrets: [c]",
		"configs: {a: {file: f}, b: {file: f, name: b}, unused: {file: g}}\nsecrets: {c: {file: f}}\n"))
	input.ReadFile = func(path string) ([]byte, error) { read[path]++; return []byte("content"), nil }
	made, err := Load(input)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"f": 1}, read)
	assert.Len(t, made.Configs, 2)
}

// TestTheCauseOfAFileThatCannotBeReadIsKept for whoever asks what went wrong.
func TestTheCauseOfAFileThatCannotBeReadIsKept(t *testing.T) {
	_, err := Load(inputOf(in("env_file: nowhere", "")))
	assert.True(t, errors.Is(err, os.ErrNotExist))
	_, err = Load(Input{Stack: "shop", Manifest: in("env_file: nowhere", "")})
	assert.ErrorContains(t, err, "nothing to read files with")
	_, err = Load(inputOf(in("env_file: \"a\\nb\"", "")))
	assert.ErrorContains(t, err, "no path of a file")
}
