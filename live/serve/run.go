package serve

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api/rest"
	"github.com/storagesim/storagesim/live"
)

// run is a cluster while it is offered.
type run struct {
	cluster *storagesim.Cluster
	driver  *live.Driver
	handler http.Handler
	ctx     context.Context // ends when another cluster takes its place
	end     context.CancelCauseFunc
	// changed has the first request that may have changed the cluster; the server's mu guards it.
	changed string
}

// start begins to offer a cluster.
func (s *Server) start(cluster *storagesim.Cluster, afterWrite func()) *run {
	r := &run{cluster: cluster}
	r.ctx, r.end = context.WithCancelCause(context.Background())
	handler := rest.New(cluster.Engine().Server(), cluster.Engine().Server().Registry(), cluster.Now).WithNodes(nodes{r})
	r.handler = r.withControl(r.withSnapshots(r.withAfterWrite(afterWrite, r.withAges(handler))))
	r.driver = live.StartAt(cluster.Engine(), s.speed)
	return r
}

// Do calls f between two steps of this cluster, as Server.Do.
func (s *run) Do(f func()) bool { return s.driver.Do(f) }

// current returns the cluster that is offered now.
func (s *Server) current() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// ServeHTTP hands a request to the cluster that is offered when it comes. The request's context ends with the cluster.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := s.handling(r)
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	defer context.AfterFunc(now.ctx, func() { end(context.Cause(now.ctx)) })()
	now.handler.ServeHTTP(w, r.WithContext(ctx))
}

// handling returns the cluster for a request, and notes a request that may change it.
func (s *Server) handling(r *http.Request) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.changed == "" && mayChange(r) {
		s.now.changed = r.Method + " " + r.URL.Path
	}
	return s.now
}

// mayChange reports whether a request may change the cluster. A command in a container begins with a GET if it comes over a WebSocket.
func mayChange(r *http.Request) bool {
	path := r.URL.Path
	switch {
	case r.Method == http.MethodGet, r.Method == http.MethodHead, r.Method == http.MethodOptions:
		return strings.HasSuffix(path, "/exec") || strings.HasSuffix(path, "/attach") || strings.HasSuffix(path, "/portforward")
	case strings.HasPrefix(path, "/apis/authorization.k8s.io/"), strings.HasPrefix(path, "/apis/authentication.k8s.io/"):
		return false // reviews, which store nothing
	}
	return true
}

// Changed returns the method and the path of the first request by which a client may have changed the cluster that is offered
// now. It is "" if there was none. Calls of Do do not count.
func (s *Server) Changed() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.changed
}

// Prepare writes into a cluster what each one that is offered has: what an API server makes itself (see api.Server.Furnish), and
// its certificate in every namespace. Start does that. A cluster for Replace needs it before anything else is done with it.
func (s *Server) Prepare(cluster *storagesim.Cluster) error {
	return cluster.Engine().Server().Furnish(s.config.certificate)
}

// Replace offers another cluster in place of the one that is offered, which is the caller's again. Watches end with 410 Expired,
// so that their clients list again; followed logs end. Nothing happens, and the error says why, if a client may have changed the
// cluster (see Changed), or after Close.
func (s *Server) Replace(cluster *storagesim.Cluster, afterWrite func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errGone
	case s.now.changed != "":
		return fmt.Errorf("another client may have changed the cluster: %s", s.now.changed)
	}
	old := s.now
	if err := old.driver.Stop(); err != nil {
		return err
	}
	s.now = s.start(cluster, afterWrite)
	old.end(apierrors.NewResourceExpired("too old resource version: the cluster went back to an earlier step, and goes on differently"))
	return nil
}
