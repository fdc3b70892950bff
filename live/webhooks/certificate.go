package webhooks

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/util/cert"
)

// Names of the files of WriteCertificate, where controller-runtime's manager looks for them (webhook.Options.CertDir).
const (
	CertificateFile = "tls.crt"
	KeyFile         = "tls.key"
)

// WriteCertificate makes a certificate for the Services (namespace/name) and for this machine, and writes it with its key into a
// directory. It returns what verifies it, for Config.CABundle or a caBundle: in a cluster that is work for cert-manager. No file is replaced: one
// that exists is an error.
func WriteCertificate(dir string, services []string) (caBundle []byte, err error) {
	hosts := []string{"localhost"}
	for _, service := range services {
		namespace, name, _ := strings.Cut(service, "/")
		hosts = append(hosts, name+"."+namespace+".svc")
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv6loopback}, hosts)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := writeNew(filepath.Join(dir, CertificateFile), certificate); err != nil {
		return nil, err
	}
	if err := writeNew(filepath.Join(dir, KeyFile), key); err != nil {
		return nil, errors.Join(err, os.Remove(filepath.Join(dir, CertificateFile)))
	}
	return certificate, nil
}

// writeNew writes a file that only its owner may read.
func writeNew(name string, text []byte) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(text); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
