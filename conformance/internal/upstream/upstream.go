// Package upstream starts Kubernetes' own programs on this machine, built before into a folder: etcd and kube-apiserver,
// and beside them what a caller names. conformance/interop/apiserver compares our API server with that one, and the command record
// takes recordings of it and its controllers.
package upstream

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/storagesim/storagesim/machine/mount"
)

// Config says what is started.
type Config struct {
	// Folders are searched for the programs in this order: etcd under the name "server", which its module gives it, kube-apiserver, and those of Run.
	Folders []string
	// Audit keeps a log of all writes, with requests and answers.
	Audit bool
	// TaintNodes gives each new node the taint that it is not ready, as a real API server does. Where nodes are made by hand, no controller takes it away.
	TaintNodes bool
	// Flags are more flags of kube-apiserver.
	Flags []string
}

// Server is a running kube-apiserver with an etcd of its own, and one user, who may do everything.
type Server struct {
	// URL is its address.
	URL string

	folders  []string
	dir      string
	commands []*exec.Cmd
	said     []*Output
}

// token is the bearer token of the only user.
const token = "interop"

const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: RequestResponse
  verbs: [create, update, patch, delete]
- level: None
`

const kubeconfig = `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: %s}}]
`

// Start starts etcd and kube-apiserver and waits until the server has made what it makes for itself. As where the recordings of package conformance were made,
// no pod needs a service account.
func Start(ctx context.Context, cfg Config) (s *Server, err error) {
	s = &Server{folders: cfg.Folders}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "upstream"); err != nil {
		return s, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return s, err
	}
	s.URL = "https://" + ports[2]
	if err := s.writeFiles(); err != nil {
		return s, err
	}
	client, peer := "http://"+ports[0], "http://"+ports[1]
	if err := s.Run("server", "--data-dir="+s.File("etcd"), "--unsafe-no-fsync", "--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer); err != nil {
		return s, err
	}
	_, port, _ := net.SplitHostPort(ports[2])
	disabled := "ServiceAccount,TaintNodesByCondition"
	if cfg.TaintNodes {
		disabled = "ServiceAccount"
	}
	flags := []string{"--etcd-servers=" + client, "--bind-address=127.0.0.1", "--advertise-address=10.0.0.1", "--secure-port=" + port,
		"--cert-dir=" + s.File("certificates"), "--service-cluster-ip-range=10.96.0.0/12", "--token-auth-file=" + s.File("tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-signing-key-file=" + s.File("accounts.key"),
		"--service-account-key-file=" + s.File("accounts.key"), "--authorization-mode=AlwaysAllow",
		"--disable-admission-plugins=" + disabled}
	if cfg.Audit {
		flags = append(flags, "--audit-policy-file="+s.File("audit.yaml"), "--audit-log-path="+s.AuditLog(), "--audit-log-mode=blocking")
	}
	if err := s.Run("kube-apiserver", append(flags, cfg.Flags...)...); err != nil {
		return s, err
	}
	return s, s.ready(ctx)
}

// File returns the path of a file of the server's own, which Close removes.
func (s *Server) File(name string) string { return filepath.Join(s.dir, name) }

// AuditLog returns the path of the audit log.
func (s *Server) AuditLog() string { return s.File("audit.log") }

// Kubeconfig returns the path of a kubeconfig of the server's user.
func (s *Server) Kubeconfig() string { return s.File("kubeconfig") }

func (s *Server) writeFiles() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"accounts.key": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"tokens.csv":   token + ",admin,1,system:masters\n",
		"audit.yaml":   auditPolicy,
		"audit.log":    "",
		"kubeconfig":   fmt.Sprintf(kubeconfig, s.URL, token),
	} {
		err = errors.Join(err, os.WriteFile(s.File(name), []byte(text), 0o600))
	}
	return err
}

// freePorts returns addresses on which nothing listens.
func freePorts(n int) (addresses []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

// Run starts a program, which ends with the server.
func (s *Server) Run(name string, flags ...string) error {
	program, err := find(s.folders, name)
	if err != nil {
		return err
	}
	cmd, said := exec.Command(program, flags...), &Output{Name: name}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		return err
	}
	s.commands, s.said = append(s.commands, cmd), append(s.said, said)
	return nil
}

// find returns the file of a program in one of the folders.
func find(folders []string, name string) (string, error) {
	for _, folder := range folders {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no program %s in %s", name, strings.Join(folders, ", "))
}

// patience is the time that the server may take until it is ready.
const patience = 2 * time.Minute

// ready waits until the server has made what it makes for itself.
func (s *Server) ready(ctx context.Context) error {
	client := &http.Client{Transport: s.Transport()}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if s.has(ctx, client, "/readyz") && s.has(ctx, client, "/api/v1/namespaces/default/services/kubernetes") &&
			s.has(ctx, client, "/api/v1/namespaces/kube-node-lease") {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	var text strings.Builder
	for _, said := range s.said {
		fmt.Fprintf(&text, "%s said:\n%s\n", said.Name, said.Last())
	}
	return fmt.Errorf("kube-apiserver is not ready after %s\n%s", patience, &text)
}

func (s *Server) has(ctx context.Context, client *http.Client, path string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Transport sends requests to the server in the name of its user.
func (s *Server) Transport() http.RoundTripper {
	return authorized{&http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // its certificate is its own
}

// authorized adds the user's token to each request.
type authorized struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (a authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	return a.RoundTripper.RoundTrip(req)
}

// Close ends the programs, the last first, and removes what they wrote.
func (s *Server) Close() error {
	for _, cmd := range slices.Backward(s.commands) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if s.dir == "" {
		return nil
	}
	return mount.RemoveAll(s.dir)
}

// Output holds what a program says. It may be both of the program's outputs.
type Output struct {
	// Name is the program's.
	Name string
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

// Last returns the end of it, at most 4,000 bytes.
func (o *Output) Last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.text.String()
	return text[max(0, len(text)-4000):]
}
