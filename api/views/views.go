package views

import (
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/internal/call"
)

// Subresource is all that a server knows about one subresource of a kind, besides status.
type Subresource struct {
	// GVK is the kind of object that is sent and answered; the kind's own if it is empty.
	GVK schema.GroupVersionKind
	// Verbs lists the verbs that it supports.
	Verbs metav1.Verbs
	// View is the subresource as another form of the object, which is read and written, and
	// part one that is the object itself, of which only a part is written.
	View *View
	Part *Part
}

// View is an object in another form. show makes the form; set changes the object, which is
// a copy, as a form says.
type View struct {
	Show func(obj call.Object) (runtime.Object, error)
	Set  func(obj call.Object, form runtime.Object) error
	// Base returns the object to which a patch is applied, if that is not the shown one.
	Base func(obj call.Object) (runtime.Object, error)
}

// proxy returns the subresource by which a real server passes requests on. Here kubelets answer them, where nodes are known, and nothing else.
func proxy(kind string) Subresource {
	return Subresource{GVK: v1.SchemeGroupVersion.WithKind(kind), Verbs: metav1.Verbs{"create", "delete", "get", "patch", "update"}}
}

// NodeSubresources returns the subresources of nodes.
func NodeSubresources() map[string]Subresource {
	return map[string]Subresource{"proxy": proxy("NodeProxyOptions")}
}

// ServiceSubresources returns the subresources of services.
func ServiceSubresources() map[string]Subresource {
	return map[string]Subresource{"proxy": proxy("ServiceProxyOptions")}
}

// PodSubresources returns the subresources of pods. Where nodes are known, log, exec and the like are served before they come here.
func PodSubresources() map[string]Subresource {
	connect := func(kind string) Subresource {
		return Subresource{GVK: v1.SchemeGroupVersion.WithKind(kind), Verbs: metav1.Verbs{"create", "get"}}
	}
	return map[string]Subresource{
		"binding":  {GVK: v1.SchemeGroupVersion.WithKind("Binding"), Verbs: metav1.Verbs{"create"}},
		"eviction": {GVK: policyv1.SchemeGroupVersion.WithKind("Eviction"), Verbs: metav1.Verbs{"create"}},
		"exec":     connect("PodExecOptions"),
		"log":      {Verbs: metav1.Verbs{"get"}},

		"attach":      connect("PodAttachOptions"),
		"portforward": connect("PodPortForwardOptions"),
		"proxy":       proxy("PodProxyOptions"),

		"resize": resize(),

		"ephemeralcontainers": ephemeralContainers(),
	}
}
