package main

import (
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
	"time"
)

// plane is a control plane of real programs.
type plane struct {
	api, audit string
	client     *http.Client
	commands   []*exec.Cmd
}

const token = "recorder"

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

// authorized adds the token to each request.
type authorized struct{ http.RoundTripper }

func (a authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+token)
	return a.RoundTripper.RoundTrip(req)
}

// controllers lists those of kube-controller-manager whose writes a recording has.
var controllers = []string{"persistentvolume-attach-detach-controller", "persistentvolume-binder-controller", "persistentvolume-expander-controller",
	"persistentvolume-protection-controller", "persistentvolumeclaim-protection-controller", "ephemeral-volume-controller",
	"statefulset-controller", "pod-garbage-collector-controller"}

// ourControllers lists the same, and the scheduler, as `storagesim control` names them.
var ourControllers = []string{"attach-detach", "pv-binder", "expand", "pv-protection", "pvc-protection",
	"ephemeral-volume", "statefulset", "pod-gc", "scheduler"}

// start starts a control plane with its files in dir. The programs are searched in folders: etcd as "server", as its module calls it,
// kube-apiserver, kube-controller-manager and kube-scheduler. The program ours, if there is one, takes the place of the last two.
func start(ctx context.Context, folders []string, ours, dir string) (_ *plane, err error) {
	ports, err := free(3)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	p := &plane{api: fmt.Sprintf("https://127.0.0.1:%d", ports[2]), audit: filepath.Join(dir, "audit.log"), client: &http.Client{Transport: authorized{transport}}}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	etcd := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	peer := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	files := map[string]string{
		"sa.key":     string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		"tokens.csv": token + ",admin,admin,system:masters\n",
		"audit.yaml": auditPolicy,
		"kubeconfig": fmt.Sprintf(kubeconfig, p.api, token),
		"audit.log":  "",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	defer func() {
		if err != nil {
			p.stop()
		}
	}()
	err = p.run(folders, dir, "server", "--data-dir="+file("etcd"), "--unsafe-no-fsync", "--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer)
	if err == nil {
		err = p.run(folders, dir, "kube-apiserver", "--etcd-servers="+etcd, fmt.Sprintf("--secure-port=%d", ports[2]), "--bind-address=127.0.0.1",
			"--cert-dir="+file("certs"), "--service-cluster-ip-range=10.0.0.0/24", "--token-auth-file="+file("tokens.csv"), "--authorization-mode=RBAC",
			"--service-account-key-file="+file("sa.key"), "--service-account-signing-key-file="+file("sa.key"),
			"--service-account-issuer=https://kubernetes.default.svc", "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
			"--audit-policy-file="+file("audit.yaml"), "--audit-log-path="+p.audit, "--audit-log-mode=blocking")
	}
	if err == nil {
		err = p.ready(ctx)
	}
	if err == nil && ours != "" {
		err = p.run([]string{filepath.Dir(ours)}, dir, filepath.Base(ours), "control", "--kubeconfig", file("kubeconfig"), "--no-lease",
			"--only", strings.Join(ourControllers, ","))
	} else if err == nil {
		err = p.upstreams(folders, dir, file("kubeconfig"), file("flex"))
	}
	if err != nil {
		return nil, err
	}
	return p, pause(ctx, 5*time.Second) // the controllers' caches
}

// upstreams starts upstream's controllers and scheduler.
func (p *plane) upstreams(folders []string, dir, kubeconfig, flex string) error {
	common := []string{"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=500"}
	own := []string{"--controllers=" + strings.Join(controllers, ","), "--flex-volume-plugin-dir=" + flex}
	if err := p.run(folders, dir, "kube-controller-manager", append(own, common...)...); err != nil {
		return err
	}
	return p.run(folders, dir, "kube-scheduler", common...)
}

func (p *plane) run(folders []string, dir, name string, args ...string) error {
	program, err := find(folders, name)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	p.commands = append(p.commands, cmd)
	return nil
}

// find returns the file of a program in one of the folders.
func find(folders []string, name string) (string, error) {
	for _, folder := range folders {
		if path := filepath.Join(folder, name); isFile(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no program %s in %s", name, strings.Join(folders, ", "))
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func (p *plane) ready(ctx context.Context) error {
	for range 240 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.api+"/readyz", nil)
		if err != nil {
			return err
		}
		if resp, err := p.client.Do(req); err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("kube-apiserver does not get ready")
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// stop ends the programs, the last first.
func (p *plane) stop() {
	for _, cmd := range slices.Backward(p.commands) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// free returns so many free ports.
func free(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
