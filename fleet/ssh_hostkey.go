package fleet

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/squadronctl/squadron/internal/errmask"
)

// hostKeyChecker reads the known hosts, anew for each connection so that they can be mended.
func (t *sshTunnel) hostKeyChecker() (ssh.HostKeyCallback, error) {
	if !t.config.StrictHostKeyChecking {
		return ssh.InsecureIgnoreHostKey(), nil
	}
	path, err := expandHome(t.config.KnownHostsFile)
	if err != nil {
		return nil, errmask.Maskf(err, "known hosts %q", t.config.KnownHostsFile)
	}
	check, err := knownhosts.New(path)
	if err != nil {
		return nil, errmask.Maskf(err, "known hosts")
	}
	authorities, err := authorityLines(path)
	if err != nil {
		return nil, errmask.Maskf(err, "known hosts")
	}
	return func(host string, remote net.Addr, key ssh.PublicKey) error {
		err := check(host, remote, key)
		if refused, ok := errors.AsType[*knownhosts.KeyError](err); ok {
			refused.Want = slices.DeleteFunc(refused.Want, func(known knownhosts.KnownKey) bool { return authorities[known.Line] })
		}
		return hostKeyError(err, path, host, key)
	}, nil
}

// authorityLines gives the numbers of the lines that name certificate authorities. The knownhosts package takes their keys
// for the hosts' own, for which the server would then be asked.
func authorityLines(path string) (map[int]bool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	lines, number := map[int]bool{}, 0
	for line := range strings.Lines(string(text)) {
		number++
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == "@cert-authority" {
			lines[number] = true
		}
	}
	return lines, nil
}

// hostKeyError says of a key that was refused where the file stands against it, and what to do about it.
func hostKeyError(err error, path, host string, key ssh.PublicKey) error {
	if err == nil {
		return nil
	}
	shown := fmt.Sprintf("host key of %s (%s %s)", host, key.Type(), ssh.FingerprintSHA256(key))
	if revoked, ok := errors.AsType[*knownhosts.RevokedError](err); ok {
		return errmask.Maskf(err, "%s: %s:%d forbids it for every host, so this is not to be trusted", shown, path, revoked.Revoked.Line)
	}
	unknown, ok := errors.AsType[*knownhosts.KeyError](err)
	if !ok {
		return errmask.Maskf(err, "%s in %s", shown, path)
	}
	if len(unknown.Want) == 0 {
		return errmask.Maskf(err, "%s: %s has no key of that host. Compare the fingerprint with the one that ssh-keygen -lf shows of the "+
			"host's own key file, then add the key: %s", shown, path, keyscan(host, path))
	}
	var lines []string
	for _, known := range unknown.Want {
		lines = append(lines, fmt.Sprintf("%s:%d (%s)", path, known.Line, known.Key.Type()))
	}
	return errmask.Maskf(err, "%s is not the one known from %s. Where the host was set up anew, forget the old key by "+
		"ssh-keygen -f %s -R %s and add the new one. Where it was not, this is not that host", shown, strings.Join(lines, ", "),
		shellQuote(path), shellQuote(knownhosts.Normalize(host)))
}

// keyKindError explains a handshake that failed because the host has no key of the kinds asked for.
func (t *sshTunnel) keyKindError(err error) error {
	failed, ok := errors.AsType[*ssh.AlgorithmNegotiationError](err)
	if !ok || failed.What != "host key" || !t.config.StrictHostKeyChecking {
		return err
	}
	return errmask.Maskf(err, "host key of %s: the host has none of the kinds that %s knows of it, so it was set up anew or is another "+
		"host. See which keys it has now, and whether to trust them, before adding them: ssh-keyscan %s", t.address, t.config.KnownHostsFile,
		scanArguments(t.address))
}

// keyscan is the command that adds a host's key to a file.
func keyscan(address, path string) string {
	return "ssh-keyscan -H " + scanArguments(address) + " >>" + shellQuote(path)
}

func scanArguments(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return "-p " + port + " " + host
}

// hostKeyAlgorithms lists the algorithms of the keys that are known of a host, so that the server shows one of these and
// not another that it has too. It is empty, which asks for any, where no key is known or keys are not checked.
func hostKeyAlgorithms(check ssh.HostKeyCallback, host string, remote net.Addr) []string {
	// There is no asking for the keys but to show one that can't be right: all zeros.
	nobody, err := ssh.NewPublicKey(ed25519.PublicKey(make([]byte, ed25519.PublicKeySize)))
	if err != nil {
		return nil
	}
	mismatch, ok := errors.AsType[*knownhosts.KeyError](check(host, remote, nobody))
	if !ok {
		return nil
	}
	var algorithms []string
	for _, known := range mismatch.Want {
		kinds := []string{known.Key.Type()}
		if kinds[0] == ssh.KeyAlgoRSA {
			kinds = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
		}
		if !slices.Contains(algorithms, kinds[0]) {
			algorithms = append(algorithms, kinds...)
		}
	}
	return algorithms
}
