package systemd

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/squadronctl/squadron/internal/errmask"
)

// hostFacts is what the backend asks about the host itself.
type hostFacts struct {
	machineID func() (string, error)
	address   func() net.IP
	// lingers says whether the user's manager runs without a session, and who the user is.
	lingers func() (name string, lingers bool)
}

var thisHost = hostFacts{
	machineID: func() (string, error) { return readMachineID("/etc/machine-id") },
	address:   hostAddress,
	lingers:   func() (string, bool) { return userLingers("/var/lib/systemd/linger") },
}

func readMachineID(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", errmask.Maskf(err, "read this host's machine ID")
	}
	id := strings.TrimSpace(string(text))
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		return "", fmt.Errorf("read this host's machine ID: %s has none: systemd-machine-id-setup makes one", path)
	}
	return id, nil
}

// hostAddress gives the address that others reach the host by: the first global one, before others one of IPv4. A host
// without any has loopback's.
func hostAddress() net.IP {
	addresses, _ := net.InterfaceAddrs()
	return firstGlobal(addresses)
}

func firstGlobal(addresses []net.Addr) net.IP {
	found := net.IPv4(127, 0, 0, 1)
	for _, address := range addresses {
		network, ok := address.(*net.IPNet)
		switch {
		case !ok || !network.IP.IsGlobalUnicast():
		case network.IP.To4() != nil:
			return network.IP
		case found.IsLoopback():
			found = network.IP
		}
	}
	return found
}

func userLingers(dir string) (name string, lingers bool) {
	current, err := user.Current()
	if err != nil {
		return fmt.Sprint(os.Getuid()), true // nothing can be told
	}
	_, err = os.Lstat(filepath.Join(dir, current.Username))
	return current.Username, err == nil
}
