package serve

import (
	"net"
	"os"

	"github.com/storagesim/storagesim/internal/selfsigned"
)

// newCertificate makes a certificate for this machine and for the host that the server
// listens on; for all names of this machine if that is every address. Its key is nowhere but in memory.
func newCertificate(host string) (selfsigned.Certificate, error) {
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return selfsigned.New(host)
	}
	if name, err := os.Hostname(); err == nil {
		return selfsigned.New(name)
	}
	return selfsigned.New()
}
