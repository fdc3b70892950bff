package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"
)

// validity is the longest time that a run can last.
const validity = 365 * 24 * time.Hour

// certificate is the server's own, made for a run. Its key is nowhere but in memory.
type certificate struct {
	der []byte
	key *ecdsa.PrivateKey
}

// newCertificate makes a certificate for this machine and for the host that the server
// listens on; for all names of this machine if that is every address.
func newCertificate(host string) (certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certificate{}, fmt.Errorf("making a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return certificate{}, fmt.Errorf("making a certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "storagesim"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	switch ip := net.ParseIP(host); {
	case ip == nil && host != "":
		template.DNSNames = append(template.DNSNames, host)
	case ip != nil && !ip.IsUnspecified():
		template.IPAddresses = append(template.IPAddresses, ip)
	default:
		if name, err := os.Hostname(); err == nil {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return certificate{}, fmt.Errorf("making a certificate: %w", err)
	}
	return certificate{der, key}, nil
}

func (c certificate) tls() *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS12,
		Certificates: []tls.Certificate{{Certificate: [][]byte{c.der}, PrivateKey: c.key}},
	}
}

// pem returns the certificate as a kubeconfig has it.
func (c certificate) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.der})
}
