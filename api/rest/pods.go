package rest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api"
)

// Nodes is the way to what runs on the nodes, where an API server asks kubelets. Errors
// before anything was written or connected are the answer to the request.
type Nodes interface {
	// Log returns what a container has printed, or with previous the one before it, and the ID of the container that runs now and may print more
	// (Running). An empty name is that of the only container.
	Log(ctx context.Context, pod types.NamespacedName, container string, previous bool) (text, running string, err error)
	// Exec runs a command in a container. When it can be begun it calls connect, once, for
	// the streams.
	Exec(ctx context.Context, pod types.NamespacedName, opts *corev1.PodExecOptions, connect func() (*Streams, error)) (exitCode int32, err error)
	// Proxy sends a request to the kubelet of a node, whose path it has. look returns the answer, nil as long as there is none.
	Proxy(ctx context.Context, node string, r *http.Request) (look func() (*http.Response, error), err error)
}

// WithNodes has the handler serve what needs the nodes: logs of pods, commands in them, and what kubelets say of themselves.
func (h *Handler) WithNodes(nodes Nodes) *Handler {
	with := *h
	with.nodes = nodes
	return &with
}

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// behind returns what serves a subresource of a pod or a node that is no object; nil for others.
func (t *target) behind() func(*call) error {
	if t.gvr() == nodeResource && t.name != "" && t.sub == "proxy" {
		return (*call).proxyNode
	}
	if t.gvr() != podResource || t.name == "" {
		return nil
	}
	switch t.sub {
	case "log":
		return (*call).logs
	case "exec":
		return (*call).exec
	case "attach", "portforward", "proxy":
		return (*call).cannotConnect
	}
	return nil
}

// connects reports whether a request is for a connection to something behind an object.
// Upstream: apiserver endpoints/handlers ConnectResource, v1.37.2.
func (c *call) connects() bool {
	sub, ok := c.h.registry.Subresource(c.t.gvr(), c.t.sub)
	return ok && c.t.name != "" && slices.Contains([]string{"attach", "exec", "portforward", "proxy"}, c.t.sub) &&
		c.reaches(methodsOf(sub.Verbs, "get", "create", "update", "patch", "delete"))
}

// reaches reports whether the request's method is one of these, or one of those that a proxy hands on.
func (c *call) reaches(methods []string) bool {
	return slices.Contains(methods, c.r.Method) || c.t.sub == "proxy" && (c.r.Method == http.MethodHead || c.r.Method == http.MethodOptions)
}

// cannotConnect refuses what would need a process or a network behind a container.
func (c *call) cannotConnect() error {
	if err := c.findNode(); err != nil {
		return err
	}
	return statusError(http.StatusNotImplemented, metav1.StatusReasonMethodNotAllowed,
		fmt.Sprintf("pods/%s is not possible here: containers have no network, and their own standard input and output cannot be connected; use logs and exec",
			c.t.sub))
}

func (c *call) pod() types.NamespacedName {
	return types.NamespacedName{Namespace: c.t.namespace, Name: c.t.name}
}

// findNode finds the pod of a request, its container and its node, as a server does before it asks the node.
// Upstream: pkg/registry/core/pod strategy.go LogLocation, streamLocation, PortForwardLocation and ResourceLocation, v1.37; also for the
// refusal of a node that is not there, which is worded as that of a pod.
func (c *call) findNode() error {
	get := func(resource, namespace, name string) (runtime.Object, error) {
		return c.h.server.Do(c.r.Context(), api.Request{
			Actor: actorOf(c.r), Verb: "get", Resource: corev1.SchemeGroupVersion.WithResource(resource), Namespace: namespace, Name: name, Shared: true,
		})
	}
	obj, err := get("pods", c.t.namespace, c.t.name)
	if err != nil {
		return err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return unknownPath()
	}
	switch c.t.sub {
	case "proxy":
		if pod.Status.PodIP == "" {
			return badRequest("address not allowed")
		}
		return nil
	case "log", "exec", "attach":
		if err := namesContainer(pod, c.r.URL.Query().Get("container")); err != nil {
			return err
		}
	}
	if pod.Spec.NodeName == "" {
		if c.t.sub == "log" {
			return nil
		}
		return badRequest("pod %s does not have a host assigned", pod.Name)
	}
	if _, err := get("nodes", "", pod.Spec.NodeName); apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(podResource.GroupResource(), pod.Spec.NodeName)
	}
	return err
}

// namesContainer refuses a name that no container of the pod has, and no name where there are several.
// Upstream: pkg/registry/core/pod validateContainer, v1.37.
func namesContainer(pod *corev1.Pod, name string) error {
	var names []string
	for _, c := range pod.Spec.InitContainers {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		names = append(names, c.Name)
	}
	switch {
	case name == "" && len(pod.Spec.Containers) == 1, slices.Contains(names, name):
		return nil
	case name != "":
		return badRequest("container %s is not valid for pod %s", name, pod.Name)
	}
	return badRequest("a container name must be specified for pod %s, choose one of: %s", pod.Name, names)
}

// reachNodes refuses what needs the nodes where there is no way to them, or to the pod.
func (c *call) reachNodes() error {
	if err := c.findNode(); err != nil {
		return err
	}
	if c.h.nodes == nil {
		return NoConnection(c.t.sub)
	}
	return nil
}

// NoConnection refuses a subresource of pods that a handler has no way to serve.
func NoConnection(sub string) error {
	return statusError(http.StatusNotImplemented, metav1.StatusReasonMethodNotAllowed,
		fmt.Sprintf("pods/%s is served by storagesim serve; in the same process use Logs and Exec of Cluster.Machine", sub))
}

// logs serves what a container has printed.
// Upstream: pkg/registry/core/pod/rest LogREST, v1.37.
func (c *call) logs() error {
	if err := c.reachNodes(); err != nil {
		return err
	}
	if c.r.Method != http.MethodGet {
		return methodNotAllowed()
	}
	opts, err := c.logOptions()
	if err != nil {
		return err
	}
	if errs := validateLogOptions(opts); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "PodLogOptions"}, c.t.name, errs)
	}
	out := &textWriter{w: c.w}
	err = c.writeLog(opts, out)
	if err != nil && !out.begun {
		return err
	}
	out.begin()
	return nil // what fails later can only end the answer
}

// podParameters reads the parameters of a request to a pod's node, and keeps the first that
// cannot be read.
type podParameters struct {
	values url.Values
	err    error
}

func (p *podParameters) isSet(name string) bool { return isTrue(p.values[name]) }

func (p *podParameters) number(name string) *int64 {
	text := p.values.Get(name)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && p.err == nil {
		p.err = badRequest("the parameter %s is %q: it must be a whole number", name, text)
	}
	return &n
}

func (c *call) logOptions() (*corev1.PodLogOptions, error) {
	p := podParameters{values: c.r.URL.Query()}
	opts := &corev1.PodLogOptions{
		Container: p.values.Get("container"), Follow: p.isSet("follow"), Previous: p.isSet("previous"), Timestamps: p.isSet("timestamps"),
		TailLines: p.number("tailLines"), LimitBytes: p.number("limitBytes"), SinceSeconds: p.number("sinceSeconds"),
	}
	if p.values.Has("sinceTime") {
		opts.SinceTime = &metav1.Time{}
	}
	return opts, p.err
}

func (c *call) execOptions() *corev1.PodExecOptions {
	p := podParameters{values: c.r.URL.Query()}
	return &corev1.PodExecOptions{
		Container: p.values.Get("container"), Command: p.values["command"],
		Stdin: p.isSet("stdin"), Stdout: p.isSet("stdout"), Stderr: p.isSet("stderr"), TTY: p.isSet("tty"),
	}
}

// validateLogOptions also refuses what a container's log here does not have: times.
// Upstream: pkg/apis/core/validation ValidatePodLogOptions, v1.37.
func validateLogOptions(opts *corev1.PodLogOptions) field.ErrorList {
	var errs field.ErrorList
	if n := opts.TailLines; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(field.NewPath("tailLines"), *n, "must be greater than or equal to 0"))
	}
	if n := opts.LimitBytes; n != nil && *n < 1 {
		errs = append(errs, field.Invalid(field.NewPath("limitBytes"), *n, "must be greater than 0"))
	}
	refuse := func(name string, asked bool) {
		if asked {
			errs = append(errs, field.Forbidden(field.NewPath(name), "the simulation does not keep the times of the lines of a log"))
		}
	}
	refuse("sinceSeconds", opts.SinceSeconds != nil)
	refuse("sinceTime", opts.SinceTime != nil)
	refuse("timestamps", opts.Timestamps)
	return errs
}

// textWriter is an answer that is text, sent as it is written.
type textWriter struct {
	w     http.ResponseWriter
	begun bool
}

func (t *textWriter) begin() {
	if !t.begun {
		t.begun = true
		t.w.Header().Set("Content-Type", "text/plain")
		t.w.Header().Set("Cache-Control", "no-cache, private")
		t.w.WriteHeader(http.StatusOK)
	}
}

// Write implements io.Writer.
func (t *textWriter) Write(p []byte) (int, error) {
	t.begin()
	n, err := t.w.Write(p)
	_ = http.NewResponseController(t.w).Flush() // a writer that cannot be flushed sends at the end
	return n, err
}
