package storagesim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	restclient "k8s.io/client-go/rest"

	"github.com/storagesim/storagesim/api/rest"
	"github.com/storagesim/storagesim/machine"
)

// KubeletRequest is an HTTP request to the kubelet of a node that is under way.
type KubeletRequest struct {
	cluster *Cluster
	node    string
	answer  http.Response
	body    bytes.Buffer
	done    bool
	lost    func() bool // another life of the kubelet has begun
}

// BeginRequest sends an HTTP request to the kubelet of a node, Machine("node/name"), for a caller that lets time pass itself. The path is that of the
// kubelet: /stats/summary or /metrics. The error is that of the connection. Clients of RESTConfig, of a Program and of a cluster that is served use
// nodes/NAME/proxy instead.
func (m Machine) BeginRequest(r *http.Request) (*KubeletRequest, error) {
	node, ok := strings.CutPrefix(m.name, string(machine.Node)+"/")
	if !ok {
		return nil, fmt.Errorf("%q is not a node, and kubelets are on nodes; expected node/name", m.name)
	}
	config, ok := m.c.kubelets[node]
	if !ok {
		return nil, m.c.refused(node)
	}
	if err := m.c.dial(node); err != nil {
		return nil, err
	}
	x := &KubeletRequest{cluster: m.c, node: node, answer: http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r}}
	var err error
	x.lost, err = config.Server.Handle((*kubeletAnswer)(x), r, func() { x.done = true })
	return x, err
}

// Answer returns the answer, nil as long as there is none. The error says that the kubelet has crashed.
func (x *KubeletRequest) Answer() (*http.Response, error) {
	switch {
	case !x.done && (x.lost() || x.cluster.dial(x.node) != nil):
		return nil, errors.New("EOF")
	case !x.done:
		return nil, nil
	}
	answer := x.answer
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(x.body.Bytes())), int64(x.body.Len())
	return &answer, nil
}

// kubeletAnswer takes the answer of a kubelet.
type kubeletAnswer KubeletRequest

// Header implements http.ResponseWriter.
func (a *kubeletAnswer) Header() http.Header { return a.answer.Header }

// WriteHeader implements http.ResponseWriter.
func (a *kubeletAnswer) WriteHeader(code int) { a.answer.StatusCode = code }

// Write implements http.ResponseWriter.
func (a *kubeletAnswer) Write(p []byte) (int, error) { return a.body.Write(p) }

// RESTConfig returns the configuration of a client that calls as actor. It works with
// kubernetes.NewForConfig, dynamic and metadata clients and all else that takes a
// *rest.Config. No port is opened: requests are served in the goroutine that
// makes them, and only a watch has a goroutine of its own. A GET of nodes/NAME/proxy lets
// virtual time pass until the kubelet has answered.
func (c *Cluster) RESTConfig(actor string) *restclient.Config {
	return rest.New(c.server(), c.server().Registry(), c.Now).WithNodes(nodesOfCaller{c}).Config(actor)
}

// nodesOfCaller is the way of a client of RESTConfig to what runs on the nodes: while a kubelet answers it lets time pass.
type nodesOfCaller struct{ c *Cluster }

var _ rest.Nodes = nodesOfCaller{}

// Log implements rest.Nodes.
func (nodesOfCaller) Log(context.Context, types.NamespacedName, string, bool) (text, running string, err error) {
	return "", "", rest.NoConnection("log")
}

// Exec implements rest.Nodes.
func (nodesOfCaller) Exec(context.Context, types.NamespacedName, *v1.PodExecOptions, func() (*rest.Streams, error)) (int32, error) {
	return 0, rest.NoConnection("exec")
}

// Proxy implements rest.Nodes. What drives the engine beside the caller would be in its way.
func (n nodesOfCaller) Proxy(_ context.Context, node string, r *http.Request) (look func() (*http.Response, error), err error) {
	if n.c.engine.Driven() {
		return nil, rest.NoProxy()
	}
	x, err := n.c.Machine("node/" + node).BeginRequest(r)
	if err != nil {
		return nil, err
	}
	return func() (answer *http.Response, err error) {
		ended := func() bool { answer, err = x.Answer(); return answer != nil || err != nil }
		if failure := n.c.engine.RunUntil(maxStats, ended); failure != nil {
			return nil, failure
		}
		return answer, err
	}, nil
}

// Proxy implements rest.Nodes.
func (n nodesOfProgram) Proxy(ctx context.Context, node string, r *http.Request) (look func() (*http.Response, error), err error) {
	var x *KubeletRequest
	if !n.c.engine.Between(ctx, func() { x, err = n.c.Machine("node/" + node).BeginRequest(r) }) {
		return nil, ctx.Err()
	}
	return func() (answer *http.Response, err error) {
		if !n.c.engine.Between(ctx, func() { answer, err = x.Answer() }) {
			return nil, ctx.Err()
		}
		return answer, err
	}, err
}
