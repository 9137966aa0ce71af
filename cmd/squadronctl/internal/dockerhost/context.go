package dockerhost

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// contextName gives the name of the context to use, and where it stands; none where nothing names one.
func (f files) contextName() (name, source string, err error) {
	if name := f.env["DOCKER_CONTEXT"]; name != "" {
		return name, "DOCKER_CONTEXT", nil
	}
	directory := f.directory()
	if directory == "" {
		return "", "", nil
	}
	path := filepath.Join(directory, "config.json")
	text, err := f.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read the docker command's configuration: %w", err)
	}
	var config struct{ CurrentContext string }
	if err := json.Unmarshal(text, &config); err != nil {
		return "", "", fmt.Errorf("%s: it is not the docker command's configuration: %w", path, err)
	}
	return config.CurrentContext, "currentContext of " + path, nil
}

// fromContext makes a host of a context, without Source.
func (f files) fromContext(name string) (Host, error) {
	directory := f.directory()
	if directory == "" {
		return Host{}, errors.New("it can't be looked up: neither DOCKER_CONFIG nor HOME is set")
	}
	hash := sha256.Sum256([]byte(name))
	id := hex.EncodeToString(hash[:])
	path := filepath.Join(directory, "contexts", "meta", id, "meta.json")
	text, err := f.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Host{}, fmt.Errorf(`there is none in %s; "docker context ls" lists those that there are`, directory)
	}
	if err != nil {
		return Host{}, fmt.Errorf("read the context: %w", err)
	}
	meta, err := parseMeta(text)
	if err != nil {
		return Host{}, fmt.Errorf("%s: %w", path, err)
	}
	found, err := f.certificates(filepath.Join(directory, "contexts", "tls", id, "docker"))
	if err != nil {
		return Host{}, err
	}
	if found == nil && meta.SkipTLSVerify {
		found = newTLS()
	}
	address, err := parseAddress(meta.Host, found != nil)
	if err != nil {
		return Host{}, fmt.Errorf("%s: address %s: %w", path, redacted(meta.Host), err)
	}
	host := Host{URL: address}
	if address.Scheme == "tcp" && found != nil {
		found.InsecureSkipVerify = meta.SkipTLSVerify // as whoever made the context asked for
		host.TLS = found
	}
	return host, nil
}

// meta is what a context says of its engine.
type meta struct {
	Host          string
	SkipTLSVerify bool
}

// parseMeta reads a context's meta.json. There may be endpoints of other programs in it.
func parseMeta(text []byte) (meta, error) {
	var whole struct {
		Endpoints map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		return meta{}, fmt.Errorf("it is no context: %w", err)
	}
	endpoint, there := whole.Endpoints["docker"]
	if !there {
		return meta{}, errors.New("the context has no docker endpoint")
	}
	var m meta
	if err := json.Unmarshal(endpoint, &m); err != nil {
		return meta{}, fmt.Errorf("its docker endpoint: %w", err)
	}
	return m, nil
}
