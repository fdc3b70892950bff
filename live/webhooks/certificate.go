package webhooks

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/storagesim/storagesim/internal/selfsigned"
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
	var hosts []string
	for _, service := range services {
		namespace, name, _ := strings.Cut(service, "/")
		hosts = append(hosts, name+"."+namespace+".svc")
	}
	certificate, err := selfsigned.New(hosts...)
	if err != nil {
		return nil, err
	}
	key, err := certificate.KeyPEM()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := writeNew(filepath.Join(dir, CertificateFile), certificate.PEM()); err != nil {
		return nil, err
	}
	if err := writeNew(filepath.Join(dir, KeyFile), key); err != nil {
		return nil, errors.Join(err, os.Remove(filepath.Join(dir, CertificateFile)))
	}
	return certificate.PEM(), nil
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
