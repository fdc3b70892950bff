package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/storagesim/storagesim"
)

// Config says how a cluster is offered.
type Config struct {
	// Listen is the address and port; default 127.0.0.1:0, which is any free port.
	Listen string
	// Remote allows an address that other machines can reach. A client there that has the token
	// may then do all that the API can do.
	Remote bool
	// Kubeconfig is the file that is written for clients, and removed by Close; required.
	Kubeconfig string
	// Force replaces a Kubeconfig that another program has written. One that a server of this
	// package wrote is replaced in any case.
	Force bool
	// Speed is the speed of virtual time: 60 means a minute in each second. With 0, the default,
	// time passes only on command.
	Speed float64
	// RequestTimeout ends a request that takes longer, except watches and others that last; default one minute, as kube-apiserver's
	// --request-timeout.
	RequestTimeout time.Duration
	// AfterWrite, if set, is called between two steps after each request that is not a GET, before its client makes another one. Replace sets another.
	AfterWrite func()
}

// Server is a cluster that is offered.
type Server struct {
	speed   float64
	http    *http.Server
	config  kubeconfig
	ended   chan struct{} // closed when it listens no longer
	failed  error         // why, once ended is closed
	close   sync.Once
	closing error

	mu     sync.Mutex
	now    *run // see current
	closed bool
}

// Start offers a cluster, which from then on is the server's until Close: call it through
// Do. What cannot work, such as a port in use or a file that exists, is an error before
// anything is written or driven.
func Start(cluster *storagesim.Cluster, cfg Config) (*Server, error) {
	listener, err := listen(cfg)
	if err != nil {
		return nil, err
	}
	certificate, err := newCertificate(cfg.host())
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s := &Server{speed: cfg.Speed, ended: make(chan struct{})}
	s.config = newKubeconfig(cfg.Kubeconfig, listener.Addr(), certificate.PEM())
	if err := s.config.write(cfg.Force); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	if err := s.Prepare(cluster); err != nil {
		return nil, errors.Join(err, s.config.remove(), listener.Close())
	}
	s.http = &http.Server{
		Handler: withStack(admit(s.config.token, limit(cmp.Or(cfg.RequestTimeout, time.Minute), s))), TLSConfig: certificate.TLS(),
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0), // clients that go away, and those that do not trust the certificate
	}
	s.now = s.start(cluster, cfg.AfterWrite)
	go func() {
		defer close(s.ended)
		s.failed = s.http.ServeTLS(listener, "", "")
	}()
	return s, nil
}

// Kubeconfig returns the file by which clients find the server.
func (s *Server) Kubeconfig() string { return s.config.file }

// URL returns the server's address: https://127.0.0.1:40123.
func (s *Server) URL() string { return s.config.url }

// Do calls f between two steps of the cluster, and waits for it. It says whether f was
// called; it is not after Close, or when the cluster has failed.
func (s *Server) Do(f func()) bool {
	for r := s.current(); ; {
		if r.Do(f) {
			return true
		}
		next := s.current()
		if next == r {
			return false
		}
		r = next // which has taken its place meanwhile
	}
}

// Wait waits until ctx ends, or the cluster or the listener fails: the error says why.
func (s *Server) Wait(ctx context.Context) error {
	for {
		r := s.current()
		select {
		case <-ctx.Done():
			return nil
		case <-r.driver.Done():
			if s.current() == r {
				return r.driver.Stop()
			}
		case <-s.ended:
			return fmt.Errorf("the server listens no longer: %w", s.failed)
		}
	}
}

// Close ends all requests and the driving, and removes the kubeconfig. The cluster is the
// caller's again. It may be called more than once.
func (s *Server) Close() error {
	s.close.Do(func() {
		err := s.http.Close()
		<-s.ended
		s.mu.Lock()
		defer s.mu.Unlock()
		s.closed = true
		s.closing = errors.Join(err, s.now.driver.Stop(), s.config.remove())
	})
	return s.closing
}

// host returns the name or address that the server is to be reached by.
func (cfg Config) host() string {
	host, _, err := net.SplitHostPort(cfg.listen())
	if err != nil {
		return ""
	}
	return host
}

func (cfg Config) listen() string {
	if cfg.Listen == "" {
		return "127.0.0.1:0"
	}
	return cfg.Listen
}

// listen opens the port, after all that can be said without it.
func listen(cfg Config) (net.Listener, error) {
	if cfg.Speed < 0 {
		return nil, fmt.Errorf("serve.Config.Speed: %g is negative; it must be positive, or 0 for time that passes only on command", cfg.Speed)
	}
	host, _, err := net.SplitHostPort(cfg.listen())
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: an address and a port are expected, such as 127.0.0.1:6443", cfg.Listen)
	}
	if ip := net.ParseIP(host); !cfg.Remote && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("will not listen on %q: other machines could reach it. Use 127.0.0.1, or --remote (Config.Remote)", cfg.Listen)
	}
	if err := checkFile(cfg.Kubeconfig, cfg.Force); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.listen())
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", cfg.listen(), err)
	}
	return listener, nil
}
