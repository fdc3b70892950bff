package rest

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/storagesim/storagesim/api"
)

var nodeResource = corev1.SchemeGroupVersion.WithResource("nodes")

// kubeletPort is the port of all kubelets.
const kubeletPort = "10250"

// proxyNode hands a request on to the kubelet of a node, and its answer back.
//
// Upstream: pkg/registry/core/node/rest ProxyREST.Connect, pkg/registry/core/node/strategy.go ResourceLocation, apimachinery pkg/util/proxy
// UpgradeAwareHandler.ServeHTTP and Transport.RoundTrip, v1.37.2. A node has no other port than the kubelet's.
func (c *call) proxyNode() error {
	_, node, port, valid := utilnet.SplitSchemeNamePort(c.t.name)
	if !valid {
		return badRequest("invalid node request %q", c.t.name)
	}
	_, err := c.h.server.Do(c.r.Context(), api.Request{Actor: actorOf(c.r), Verb: "get", Resource: nodeResource, Name: node, Shared: true})
	if err != nil {
		return err
	}
	path := "/" + c.t.rest
	if strings.HasSuffix(c.r.URL.Path, "/") && c.t.rest != "" {
		path += "/"
	}
	switch {
	case c.t.rest == "" && !strings.HasSuffix(c.r.URL.Path, "/") && (c.r.Method == http.MethodGet || c.r.Method == http.MethodHead):
		to := *c.r.URL
		to.Scheme, to.Host, to.Path = "", "", to.Path+"/"
		c.w.Header().Set("Location", to.String())
		c.w.WriteHeader(http.StatusMovedPermanently)
		return nil
	case port != "" && port != kubeletPort:
		return unreachable(errors.New("nothing listens at port " + port + " of the node"))
	case c.h.nodes == nil:
		return NoProxy()
	}
	r := c.r.Clone(c.r.Context())
	r.URL.Path, r.URL.RawPath = path, ""
	answer, err := c.proxied(node, r)
	if err != nil {
		return unreachable(err)
	}
	defer answer.Body.Close()
	maps.Copy(c.w.Header(), answer.Header)
	c.w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(c.w, answer.Body) // the client has gone
	return nil
}

// proxied waits for the answer of a kubelet.
func (c *call) proxied(node string, r *http.Request) (*http.Response, error) {
	look, err := c.h.nodes.Proxy(r.Context(), node, r)
	for err == nil {
		var answer *http.Response
		if answer, err = look(); answer != nil {
			return answer, nil
		}
		if err == nil && !sleep(r.Context(), lookEvery) {
			err = r.Context().Err()
		}
	}
	return nil, err
}

// unreachable makes the answer of an error of a connection to a kubelet, unless that is an answer already.
func unreachable(err error) error {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		return err
	}
	return apierrors.NewServiceUnavailable("error trying to reach service: " + err.Error())
}

// NoProxy refuses nodes/proxy where there is no way to the nodes.
func NoProxy() error {
	return statusError(http.StatusNotImplemented, metav1.StatusReasonMethodNotAllowed,
		"nodes/proxy is served by storagesim serve, to clients of RESTConfig if no driver runs beside them, and to programs of AddProgram")
}
