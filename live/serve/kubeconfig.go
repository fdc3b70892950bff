package serve

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// mark is the first line of a kubeconfig that a server has written. It may be replaced.
const mark = "# Written by storagesim serve, and removed when it ends.\n"

// kubeconfig is the file by which clients find a server.
type kubeconfig struct {
	file, url, token string
	certificate      []byte
	text             []byte // what was written
}

func newKubeconfig(file string, at net.Addr, certificate []byte) kubeconfig {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // it never fails: see its documentation
	return kubeconfig{file: file, url: "https://" + reachable(at), token: hex.EncodeToString(secret), certificate: certificate}
}

// reachable returns an address as clients on this machine reach it.
func reachable(at net.Addr) string {
	host, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return at.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// checkFile says why a kubeconfig cannot be written, as far as that can be seen before.
func checkFile(file string, force bool) error {
	if file == "" {
		return errors.New("a server needs a kubeconfig to write")
	}
	dir := filepath.Dir(file)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("cannot write the kubeconfig %s: there is no directory %s", file, dir)
	}
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot write the kubeconfig: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("will not write the kubeconfig %s: there is something that is no file", file)
	case force:
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read the kubeconfig that is there: %w", err)
	}
	if len(text) > 0 && !bytes.HasPrefix(text, []byte(mark)) {
		return fmt.Errorf("will not replace %s: storagesim serve has not written it. Name another file, or use --force", file)
	}
	return nil
}

// write writes the file with mode 0600, whole or not at all.
func (k *kubeconfig) write(force bool) (err error) {
	if err := checkFile(k.file, force); err != nil {
		return err
	}
	const name = "storagesim"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: k.url, CertificateAuthorityData: k.certificate}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: k.token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name
	text, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	k.text = append([]byte(mark), text...)
	f, err := os.CreateTemp(filepath.Dir(k.file), ".storagesim-*") // mode 0600
	if err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(k.text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), k.file)
	}
	if err != nil {
		return fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return nil
}

// remove removes the file, unless another program has written it since.
func (k *kubeconfig) remove() error {
	text, err := os.ReadFile(k.file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(text, k.text) {
		return nil
	}
	return errors.Join(err, os.Remove(k.file))
}
