package dockerhost

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// put writes files, by path below a directory.
func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// id is the name of a context's directories.
func id(name string) string {
	hash := sha256.Sum256([]byte(name))
	return hex.EncodeToString(hash[:])
}

// contextFile is the file of a context for this address.
func contextFile(name, host string) map[string]string {
	text, _ := json.Marshal(map[string]any{ // nothing in it can't be encoded
		"Name": name, "Metadata": map[string]any{"Description": "a test's"},
		"Endpoints": map[string]any{"docker": map[string]any{"Host": host, "SkipTLSVerify": false}, "other": map[string]any{"Host": 1}},
	})
	return map[string]string{"contexts/meta/" + id(name) + "/meta.json": string(text)}
}

// TestPrecedence holds the order of what names an engine.
func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"config.json": `{"auths": {}, "currentContext": "current"}`})
	put(t, dir, contextFile("current", "tcp://current:1"))
	put(t, dir, contextFile("named", "ssh://root@named:2222/run/docker.sock"))
	home := t.TempDir()
	put(t, filepath.Join(home, ".docker"), map[string]string{"config.json": `{"currentContext": "mine"}`})
	put(t, filepath.Join(home, ".docker"), contextFile("mine", "unix:///run/mine.sock"))

	for name, test := range map[string]struct {
		env         map[string]string
		source, url string
	}{
		"a host": {
			map[string]string{"DOCKER_CONFIG": dir, "DOCKER_CONTEXT": "named", "DOCKER_HOST": "tcp://host:7"}, "DOCKER_HOST", "tcp://host:7",
		},
		"a context's name": {
			map[string]string{"DOCKER_CONFIG": dir, "DOCKER_CONTEXT": "named"},
			`docker context "named" (DOCKER_CONTEXT)`, "ssh://root@named:2222/run/docker.sock",
		},
		"the current context": {
			map[string]string{"DOCKER_CONFIG": dir, "DOCKER_HOST": "", "DOCKER_CONTEXT": ""},
			`docker context "current" (currentContext of ` + dir + `/config.json)`, "tcp://current:1",
		},
		"the home's": {
			map[string]string{"HOME": home}, `docker context "mine" (currentContext of ` + home + `/.docker/config.json)`, "unix:///run/mine.sock",
		},
		"default by name": {
			map[string]string{"DOCKER_CONFIG": dir, "DOCKER_CONTEXT": "default"}, "the default", "unix:///var/run/docker.sock",
		},
		"no files":  {map[string]string{"HOME": t.TempDir()}, "the default", "unix:///var/run/docker.sock"},
		"no home":   {nil, "the default", "unix:///var/run/docker.sock"},
		"no socket": {map[string]string{"DOCKER_HOST": "unix://"}, "DOCKER_HOST", "unix:///var/run/docker.sock"},
	} {
		t.Run(name, func(t *testing.T) {
			host, err := Resolve(test.env, os.ReadFile)
			require.NoError(t, err)
			assert.Equal(t, test.source, host.Source)
			assert.Equal(t, test.url, host.URL.String())
			assert.Nil(t, host.TLS)
		})
	}
}

// TestAddresses reads what an engine's address can be.
func TestAddresses(t *testing.T) {
	for text, want := range map[string]url.URL{
		"unix:///run/a%20b.sock":   {Scheme: "unix", Path: "/run/a%20b.sock"},
		"tcp://manager":            {Scheme: "tcp", Host: "manager:2375"},
		"tcp://manager:99/below/":  {Scheme: "tcp", Host: "manager:99", Path: "/below"},
		"manager:99":               {Scheme: "tcp", Host: "manager:99"},
		"tcp://[::1]":              {Scheme: "tcp", Host: "[::1]:2375"},
		"ssh://manager":            {Scheme: "ssh", Host: "manager", Path: "/var/run/docker.sock"},
		"ssh://me@manager/":        {Scheme: "ssh", User: url.User("me"), Host: "manager", Path: "/var/run/docker.sock"},
		"ssh://me@[::1]:22/a.sock": {Scheme: "ssh", User: url.User("me"), Host: "[::1]:22", Path: "/a.sock"},
	} {
		got, err := Resolve(map[string]string{"DOCKER_HOST": text}, os.ReadFile)
		require.NoError(t, err, text)
		assert.Equal(t, want, got.URL, text)
	}
	got, err := Resolve(map[string]string{"DOCKER_HOST": "tcp://manager", "DOCKER_TLS_VERIFY": "1"}, os.ReadFile)
	require.NoError(t, err)
	assert.Equal(t, "manager:2376", got.URL.Host)
	require.NotNil(t, got.TLS)
	assert.False(t, got.TLS.InsecureSkipVerify)
	got, err = Resolve(map[string]string{"DOCKER_HOST": "unix:///a.sock", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": "/nowhere"}, os.ReadFile)
	require.NoError(t, err)
	assert.Nil(t, got.TLS, "a socket is spoken to without")
}

// TestFaults tells what is at fault, and what to do.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, contextFile("pipe", "npipe:////./pipe/docker_engine"))
	put(t, dir, map[string]string{
		"contexts/meta/" + id("broken") + "/meta.json": `{"Endpoints": [`,
		"contexts/meta/" + id("other") + "/meta.json":  `{"Endpoints": {"kubernetes": {}}}`,
		"contexts/meta/" + id("number") + "/meta.json": `{"Endpoints": {"docker": {"Host": 1}}}`,
		"certs/cert.pem":     "x",
		"ca/ca.pem":          "no certificate",
		"pair/cert.pem":      "x",
		"pair/key.pem":       "x",
		"odd/config.json":    `[]`,
		"unlike/config.json": `{"currentContext": "gone"}`,
		"empty/.keep":        "",
	})
	tcp := func(certificates string) map[string]string {
		return map[string]string{"DOCKER_HOST": "tcp://m:1", "DOCKER_TLS_VERIFY": "1", "DOCKER_CERT_PATH": filepath.Join(dir, certificates)}
	}
	address := func(text string) map[string]string { return map[string]string{"DOCKER_HOST": text} }
	named := func(name string) map[string]string {
		return map[string]string{"DOCKER_CONTEXT": name, "DOCKER_CONFIG": dir}
	}
	for name, test := range map[string]struct {
		env  map[string]string
		want string
	}{
		"a path":              {address("/var/run/docker.sock"), "DOCKER_HOST=/var/run/docker.sock: write unix:///var/run/docker.sock"},
		"a relative socket":   {address("unix://docker.sock"), "absolute path"},
		"a directory":         {address("unix:///run/"), "absolute path"},
		"a long path":         {address("unix:///" + string(make([]byte, 200))), "control character"},
		"http":                {address("http://m:2375"), "an address is unix:///path, tcp://host:port or ssh://user@host"},
		"an unknown scheme":   {address("fd://"), `the scheme "fd" has no meaning`},
		"no host":             {address("tcp://:2375"), "there is no host in it"},
		"a list of hosts":     {address("tcp://a,b:2375"), `"a,b" is neither a host's name nor an address`},
		"a port":              {address("tcp://m:99999"), "port 99999 is no port number"},
		"a user of tcp":       {address("tcp://me@m:1"), "a tcp address has no user"},
		"a query":             {address("ssh://me@m?x=1"), "neither a ? nor a #"},
		"a password":          {address("ssh://me:secret@m"), "DOCKER_HOST=ssh://me:xxxxx@m: a password has no place"},
		"a password, garbled": {address("ssh://me:secret@m:%zz"), "DOCKER_HOST=xxxxx@m:%zz: "},
		"no user":             {address("ssh://@m"), "there is no user before the @"},
		"any TLS":             {map[string]string{"DOCKER_HOST": "tcp://m:1", "DOCKER_TLS": "1"}, "set DOCKER_TLS_VERIFY=1"},
		"no certificates":     {tcp("empty"), "DOCKER_CERT_PATH=" + filepath.Join(dir, "empty") + ": there is no ca.pem"},
		"half a pair":         {tcp("certs"), "cert.pem and key.pem go together"},
		"no pair":             {tcp("pair"), "cert.pem and key.pem: tls: "},
		"no authority":        {tcp("ca"), "there is no certificate in it"},
		"a version":           {map[string]string{"DOCKER_API_VERSION": "latest"}, "DOCKER_API_VERSION=latest: a version is like 1.41"},
		"a context's pipe":    {named("pipe"), `docker context "pipe" (DOCKER_CONTEXT): `},
		"a lost context":      {named("gone"), `there is none in ` + dir + `; "docker context ls" lists those that there are`},
		"a broken context":    {named("broken"), "meta.json: it is no context: "},
		"a foreign context":   {named("other"), "the context has no docker endpoint"},
		"a context's number":  {named("number"), "its docker endpoint: "},
		"a context, no home":  {map[string]string{"DOCKER_CONTEXT": "x"}, "neither DOCKER_CONFIG nor HOME is set"},
		"a configuration":     {map[string]string{"DOCKER_CONFIG": filepath.Join(dir, "odd")}, "config.json: it is not the docker command's configuration: "},
		"a current context":   {map[string]string{"DOCKER_CONFIG": filepath.Join(dir, "unlike")}, `docker context "gone" (currentContext of `},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Resolve(test.env, os.ReadFile)
			require.ErrorContains(t, err, test.want)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}

// TestUnreadable tells files that can't be read from those that are not there.
func TestUnreadable(t *testing.T) {
	denied := &os.PathError{Op: "open", Path: "it", Err: syscall.EACCES}
	for _, env := range []map[string]string{
		{"DOCKER_CONFIG": "/c"},
		{"DOCKER_CONFIG": "/c", "DOCKER_CONTEXT": "x"},
		{"DOCKER_CONFIG": "/c", "DOCKER_HOST": "tcp://m:1", "DOCKER_TLS_VERIFY": "1"},
	} {
		_, err := Resolve(env, func(string) ([]byte, error) { return nil, denied })
		assert.ErrorIs(t, err, syscall.EACCES)
	}
}

// FuzzMeta reads what stands in a context's file.
func FuzzMeta(f *testing.F) {
	for _, seed := range []string{
		`{"Name":"x","Endpoints":{"docker":{"Host":"tcp://m:2376","SkipTLSVerify":true}}}`, `{"Endpoints":{"docker":{}}}`,
		`{"Endpoints":{"docker":{"Host":"ssh://me@m:22/run/d.sock"}}}`, `{}`, `null`, `[`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		host, err := Resolve(map[string]string{"DOCKER_CONFIG": "/c", "DOCKER_CONTEXT": "x"}, func(path string) ([]byte, error) {
			if filepath.Base(path) == "meta.json" {
				return text, nil
			}
			return nil, os.ErrNotExist
		})
		if err != nil {
			return
		}
		again, err := parseAddress(host.URL.String(), host.TLS != nil)
		if host.URL.Scheme == "unix" { // whose path is not escaped
			again, err = parseAddress("unix://"+host.URL.Path, false)
		}
		require.NoError(t, err)
		assert.Equal(t, host.URL, again)
		made, closer, err := host.Client(anyLogin)
		if err == nil {
			require.NotNil(t, made)
			require.NoError(t, closer.Close())
		}
	})
}

// FuzzAddress reads addresses. What is read once is read as the same again.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{
		"unix:///run/a%20b.sock", "tcp://manager:99/below/", "manager", "tcp://[fe80::1%25eth0]:1", "ssh://me@[::1]:22/a.sock", "ssh://a%40b@m:", "npipe://x", "://",
	} {
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, withTLS bool) {
		address, err := parseAddress(text, withTLS)
		if err != nil {
			return
		}
		written := address.String()
		if address.Scheme == "unix" { // whose path is not escaped
			written = "unix://" + address.Path
		}
		again, err := parseAddress(written, withTLS)
		require.NoError(t, err, written)
		assert.Equal(t, address, again)
		_, hasPassword := address.User.Password()
		assert.False(t, hasPassword)
		assert.NotEmpty(t, address.Host+address.Path)
	})
}
