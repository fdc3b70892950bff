package live

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	restclient "k8s.io/client-go/rest"

	"github.com/storagesim/storagesim/machine/workdir"
)

// Command returns the Run of a storagesim.Program that is a child process: an executable in any
// language. build returns the command. It is given the path of a kubeconfig that is there while the
// process runs; the environment variable KUBECONFIG, which Command sets, names it too.
// The end of the context kills the process. Child processes live in real time: not in a
// bubble.
//
// The kubeconfig leads to a port of 127.0.0.1, which is open while the process runs and
// answers only below a random path. What goes through it are calls of the program as any others:
// they bear its name, and faults strike them.
func Command(build func(ctx context.Context, kubeconfig string) *exec.Cmd) func(ctx context.Context, cfg *restclient.Config) error {
	return func(ctx context.Context, cfg *restclient.Config) (err error) {
		dir, err := workdir.Make()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, dir.Remove()) }()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		token, kubeconfig := rand.Text(), filepath.Join(dir.Path(), "kubeconfig")
		server := &http.Server{Handler: forward(cfg, token), ReadHeaderTimeout: 10 * time.Second}
		served := serving(server, listener)
		defer func() {
			_ = server.Close()
			<-served
		}()
		if err := os.WriteFile(kubeconfig, fmt.Appendf(nil, kubeconfigFormat, listener.Addr(), token), 0o600); err != nil {
			return err
		}
		cmd := build(ctx, kubeconfig)
		if cmd.Env == nil {
			cmd.Env = os.Environ()
		}
		cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig)
		if err = cmd.Run(); ctx.Err() != nil {
			return nil // it was killed
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err)
		}
		return nil
	}
}

// serving serves until the server is closed.
func serving(server *http.Server, listener net.Listener) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	return done
}

// forward hands requests for paths below /token to the transport of cfg.
func forward(cfg *restclient.Config, token string) http.Handler {
	target, _ := url.Parse(cfg.Host)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     cfg.Transport,
		FlushInterval: -1, // watches
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	return http.StripPrefix("/"+token, proxy) // 404 without it
}

const kubeconfigFormat = `apiVersion: v1
kind: Config
current-context: storagesim
contexts: [{name: storagesim, context: {cluster: storagesim}}]
clusters: [{name: storagesim, cluster: {server: "http://%s/%s"}}]
`
