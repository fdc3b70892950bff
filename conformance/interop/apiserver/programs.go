package apiserver

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Build builds upstream's programs once, into the user's cache; later it takes a moment to see that they are there. It returns their folder.
var Build = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "storagesim", "apiserver")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator), "tool")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", build, err, text)
	}
	return dir, nil
})

// Real is a running kube-apiserver with an etcd of its own.
type Real struct {
	// URL is its address.
	URL string

	token string
	dir   string
	etcd  *exec.Cmd
	api   *exec.Cmd
	said  map[string]*output
}

// token is the bearer token of the only user.
const token = "interop"

// Start builds the programs, starts them and waits until the server is ready.
// As where package requests' recordings were made, no pod needs a service account and no new node has a taint.
func Start() (r *Real, err error) {
	programs, err := Build()
	if err != nil {
		return nil, err
	}
	r = &Real{token: token, said: map[string]*output{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if r.dir, err = os.MkdirTemp("", "apiserver"); err != nil {
		return r, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return r, err
	}
	client, peer := "http://"+ports[0], "http://"+ports[1]
	if r.etcd, err = r.run(programs, "server", // etcd's
		"--data-dir="+filepath.Join(r.dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer,
	); err != nil {
		return r, err
	}
	key, public, err := r.keys()
	if err != nil {
		return r, err
	}
	tokens := filepath.Join(r.dir, "tokens.csv")
	if err = os.WriteFile(tokens, []byte(token+",admin,1,system:masters\n"), 0o600); err != nil {
		return r, err
	}
	_, port, _ := net.SplitHostPort(ports[2])
	if r.api, err = r.run(programs, "kube-apiserver",
		"--etcd-servers="+client, "--bind-address=127.0.0.1", "--advertise-address=10.0.0.1", "--secure-port="+port,
		"--cert-dir="+filepath.Join(r.dir, "certificates"), "--service-cluster-ip-range=10.96.0.0/12", "--allow-privileged",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-signing-key-file="+key, "--service-account-key-file="+public,
		"--token-auth-file="+tokens, "--authorization-mode=AlwaysAllow", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
	); err != nil {
		return r, err
	}
	r.URL = "https://127.0.0.1:" + port
	return r, r.ready()
}

// keys writes the key with which tokens of service accounts are signed, and the public one.
func (r *Real) keys() (private, public string, err error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return "", "", err
	}
	data, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return "", "", err
	}
	private, public = filepath.Join(r.dir, "accounts.key"), filepath.Join(r.dir, "accounts.pub")
	return private, public, errors.Join(
		os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600),
		os.WriteFile(public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: data}), 0o600))
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

// run starts a program.
func (r *Real) run(dir, name string, flags ...string) (*exec.Cmd, error) {
	cmd := exec.Command(filepath.Join(dir, name), flags...)
	r.said[name] = &output{}
	cmd.Stdout, cmd.Stderr = r.said[name], r.said[name]
	return cmd, cmd.Start()
}

// patience is the time the server may take until it is ready.
const patience = time.Minute

// ready waits until the server has made what it makes for itself.
func (r *Real) ready() error {
	client := &http.Client{Transport: r.Transport()}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if r.has(client, "/readyz") && r.has(client, "/api/v1/namespaces/default/services/kubernetes") && r.has(client, "/api/v1/namespaces/kube-node-lease") {
			return nil
		}
	}
	var text strings.Builder
	for name, said := range r.said {
		fmt.Fprintf(&text, "%s said:\n%s\n", name, said.last())
	}
	return fmt.Errorf("kube-apiserver is not ready after %s\n%s", patience, &text)
}

func (r *Real) has(client *http.Client, path string) bool {
	res, err := client.Get(r.URL + path)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode == http.StatusOK
}

// Transport sends requests to the server in the name of its user.
func (r *Real) Transport() http.RoundTripper {
	return authorized{&http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, r.token} //nolint:gosec // its certificate is its own
}

// authorized adds the user's token to each request.
type authorized struct {
	http.RoundTripper
	token string
}

// RoundTrip implements http.RoundTripper.
func (a authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+a.token)
	return a.RoundTripper.RoundTrip(req)
}

// Close ends the programs and removes what they wrote.
func (r *Real) Close() error {
	for _, cmd := range []*exec.Cmd{r.api, r.etcd} {
		if cmd != nil && cmd.Process != nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	return os.RemoveAll(r.dir)
}

// output holds what a program says.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

// last returns the end of it.
func (o *output) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := o.text.String()
	return text[max(0, len(text)-4000):]
}
