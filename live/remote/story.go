package remote

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"net/url"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/api/rest"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// memory holds the last version of each object that an actor's feeds and the answers to its
// writes have delivered. A story needs it to say what a write changes.
type memory map[memoryKey]control.Object

type memoryKey struct {
	resource schema.GroupResource
	key      string
}

// heard takes in what a feed has heard of. An answer to a write may have come first.
func (m memory) heard(resource schema.GroupVersionResource, obj control.Object, gone bool) {
	k := memoryKey{resource.GroupResource(), control.Key(obj)}
	known := m[k]
	switch {
	case known != nil && versionOf(known) > versionOf(obj):
	case gone:
		delete(m, k)
	default:
		m[k] = obj
	}
}

// writeOf returns the record of a request for a path of the API; nil if it does not
// write, or writes objects that stories leave out: events, heartbeats and reviews.
func (p *process) writeOf(req *http.Request, path string) *trace.Write {
	asked, ok := rest.RequestOf(&http.Request{Method: req.Method, URL: &url.URL{Path: path, RawQuery: req.URL.RawQuery}})
	if !ok || p.run.cfg.Tell == nil {
		return nil
	}
	switch asked.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
	default:
		return nil
	}
	if asked.Resource.Resource == "events" || asked.Resource.Resource == "leases" {
		return nil
	}
	w := &trace.Write{
		Actor: p.name, Verb: asked.Verb, Resource: asked.Resource, Subresource: asked.Subresource, Namespace: asked.Namespace, Name: asked.Name,
	}
	if old := p.known[memoryKey{w.Resource.GroupResource(), keyOf(w.Namespace, w.Name)}]; old != nil && w.Verb != "create" {
		w.Old = old
	}
	if asked.Subresource == "binding" {
		w.New = p.bound(req, asked.Namespace, asked.Name)
	}
	return w
}

// bound returns the pod as a binding makes it, of which the answer says nothing.
func (p *process) bound(req *http.Request, namespace, name string) runtime.Object {
	if req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	binding, ok := obj.(*v1.Binding)
	if err != nil || !ok {
		return nil
	}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1.PodSpec{NodeName: binding.Target.Name}}
}

// wrote tells of a write and its answer.
func (p *process) wrote(w *trace.Write, answer *http.Response) {
	if w == nil {
		return
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return // the body is in memory: it cannot fail
	}
	obj, kind, err := decode(body)
	if err != nil {
		return
	}
	w.Time, w.Code, w.Kind = time.Now().UTC(), answer.StatusCode, kind.Kind
	if status, ok := obj.(*metav1.Status); ok {
		p.answered(w, status)
	} else if obj, ok := obj.(control.Object); ok {
		p.wroteObject(w, obj)
	}
	p.run.tell(p.name, *w)
}

// decode reads an object, also one of a kind without a Go type.
func decode(body []byte) (runtime.Object, *schema.GroupVersionKind, error) {
	obj, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		return unstructured.UnstructuredJSONScheme.Decode(body, nil, nil)
	}
	return obj, kind, err
}

// answered takes in an answer that is no object: a refusal, or a deletion or binding that
// was carried out.
func (p *process) answered(w *trace.Write, status *metav1.Status) {
	w.Kind = kindNamed(w.Resource, p.known[memoryKey{w.Resource.GroupResource(), keyOf(w.Namespace, w.Name)}])
	if status.Status == metav1.StatusFailure {
		w.Err = &apierrors.StatusError{ErrStatus: *status}
	}
}

// wroteObject takes in the object that was written.
func (p *process) wroteObject(w *trace.Write, obj control.Object) {
	w.Name, w.RV = cmp.Or(w.Name, obj.GetName()), versionOf(obj)
	if _, partial := obj.(*metav1.PartialObjectMetadata); partial { // what has changed is not known
		w.Kind, w.Old = kindNamed(w.Resource, w.Old), nil
		return
	}
	if w.Verb == "delete" && obj.GetDeletionTimestamp() == nil { // as it was when it went
		w.Old = obj
		return
	}
	p.known.heard(w.Resource, obj, false)
	w.New = obj
	if old, ok := w.Old.(control.Object); ok && old.GetResourceVersion() == obj.GetResourceVersion() {
		w.New = w.Old // the same pointer: nothing has changed
	}
}

func keyOf(namespace, name string) string {
	return control.Key(&metav1.ObjectMeta{Namespace: namespace, Name: name})
}

// kindNamed returns the kind of an object of a resource, by the object if there is one.
func kindNamed(resource schema.GroupVersionResource, obj runtime.Object) string {
	if obj != nil {
		if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil {
			return kinds[0].Kind
		}
	}
	return resource.Resource
}
