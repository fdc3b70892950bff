package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// subresource is all that a server knows about one subresource of a kind, besides status.
type subresource struct {
	// gvk is the kind of object that is sent and answered; the kind's own if it is empty.
	gvk schema.GroupVersionKind
	// verbs lists the verbs that it supports.
	verbs metav1.Verbs
	// post answers create, and an update where there is no view.
	post post
	// view is the subresource as another form of the object, which is read and written, and
	// part one that is the object itself, of which only a part is written.
	view *view
	part *part
}

// view is an object in another form. show makes the form; set changes the object, which is
// a copy, as a form says.
type view struct {
	show func(obj object) (runtime.Object, error)
	set  func(obj object, form runtime.Object) error
	// base returns the object to which a patch is applied, if that is not the shown one.
	base func(obj object) (runtime.Object, error)
}

// proxy returns the subresource by which a real server passes requests on. Here nothing answers them.
func proxy(kind string) subresource {
	return subresource{gvk: v1.SchemeGroupVersion.WithKind(kind), verbs: metav1.Verbs{"create", "delete", "get", "patch", "update"}}
}

// podSubresources returns those of pods. log, exec and their like are served by what knows the nodes.
func podSubresources() map[string]subresource {
	connect := func(kind string) subresource {
		return subresource{gvk: v1.SchemeGroupVersion.WithKind(kind), verbs: metav1.Verbs{"create", "get"}}
	}
	return map[string]subresource{
		"binding":  {gvk: v1.SchemeGroupVersion.WithKind("Binding"), verbs: metav1.Verbs{"create"}, post: (*Server).bindPod},
		"eviction": {gvk: policyv1.SchemeGroupVersion.WithKind("Eviction"), verbs: metav1.Verbs{"create"}, post: (*Server).evictPod},
		"exec":     connect("PodExecOptions"),
		"log":      {verbs: metav1.Verbs{"get"}},

		"attach":      connect("PodAttachOptions"),
		"portforward": connect("PodPortForwardOptions"),
		"proxy":       proxy("PodProxyOptions"),

		"resize": resize(),

		"ephemeralcontainers": ephemeralContainers(),
	}
}

// Subresource returns what discovery tells of a subresource, such as "status": its kind is that
// of the object that is sent and answered.
func (r *Registry) Subresource(gvr schema.GroupVersionResource, name string) (metav1.APIResource, bool) {
	k, ok := r.at(gvr)
	if !ok {
		return metav1.APIResource{}, false
	}
	if name == "status" && k.status >= 0 {
		return k.part(name, statusPart), true
	}
	sub, ok := k.subresources[name]
	if !ok {
		return metav1.APIResource{}, false
	}
	return k.part(name, sub), true
}

// statusPart is the subresource that most kinds have.
var statusPart = subresource{verbs: metav1.Verbs{"get", "patch", "update"}}

// part returns a subresource as discovery tells of it.
func (k *kind) part(name string, sub subresource) metav1.APIResource {
	gvk := sub.gvk
	if gvk.Empty() {
		gvk = k.gvk
	}
	return metav1.APIResource{
		Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Name: k.gvr.Resource + "/" + name, Namespaced: k.namespaced, Verbs: sub.verbs,
	}
}

// subresourceList returns those of the kind as discovery tells of them.
func (k *kind) subresourceList() []metav1.APIResource {
	var list []metav1.APIResource
	if k.status >= 0 {
		list = append(list, k.part("status", statusPart))
	}
	for _, name := range slices.Sorted(maps.Keys(k.subresources)) {
		list = append(list, k.part(name, k.subresources[name]))
	}
	return list
}

// hasPart reports whether a subresource can be read and written: status, a view, or a part.
func (k *kind) hasPart(sub string) bool {
	known := k.subresources[sub]
	return sub == "status" && k.status >= 0 || known.view != nil || known.part != nil
}

// writeView updates or patches the form of an object that a view is.
func (s *Server) writeView(r *request, v *view, req Request) (runtime.Object, error) {
	answer, err := s.change(r, func(r *request, old object) (object, error) {
		if old = r.asShown(old); old == nil {
			return nil, r.notFound()
		}
		form := req.Object
		if req.Verb == "patch" {
			before := v.show
			if v.base != nil {
				before = v.base
			}
			is, err := before(old)
			if err != nil {
				return nil, err
			}
			if form, err = patchedForm(is, req.PatchType, req.Patch); err != nil {
				return nil, err
			}
		}
		obj := old.DeepCopyObject().(object)
		m, ok := form.(metav1.Object)
		if !ok || form.GetObjectKind() == nil {
			return nil, apierrors.NewBadRequest("there is no object in the request")
		}
		if version := m.GetResourceVersion(); version != "" {
			obj.SetResourceVersion(version)
		}
		if uid := m.GetUID(); uid != "" {
			obj.SetUID(uid)
		}
		return obj, v.set(obj, form)
	})
	if err != nil {
		return nil, err
	}
	return v.show(answer.(object))
}

// patchedForm applies a patch to a form. A form has no lists with keys, so that a strategic
// merge is a merge.
func patchedForm(form runtime.Object, pt types.PatchType, data []byte) (runtime.Object, error) {
	apply := mergePatch
	switch pt {
	case types.JSONPatchType:
		apply = jsonPatch
	case types.MergePatchType, types.StrategicMergePatchType:
	default:
		return nil, unknownPatch(pt)
	}
	before, err := json.Marshal(form)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	after, _, err := apply(before, data)
	if err != nil {
		return nil, asStatus(err)
	}
	out := form.DeepCopyObject()
	clearForm(out)
	if err := json.Unmarshal(after, out); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return out, nil
}

func accountSubresources() map[string]subresource {
	return map[string]subresource{"token": {
		gvk: authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"), verbs: metav1.Verbs{"create"}, post: (*Server).requestToken,
	}}
}

// How long a token may last, in seconds.
// Upstream: pkg/apis/authentication validation, v1.37.
const (
	defaultTokenLife = 3600
	leastTokenLife   = 10 * 60
)

// requestToken answers with a token for a service account. Nothing here accepts it: who
// gets in is the business of what listens on a port.
// Upstream: pkg/registry/core/serviceaccount/storage TokenREST.Create, v1.37.
func (s *Server) requestToken(r *request, in runtime.Object) (runtime.Object, error) {
	tr, ok := in.(*authenticationv1.TokenRequest)
	if !ok {
		return nil, s.refuse(r, apierrors.NewBadRequest("a TokenRequest is expected"))
	}
	account := s.stored(r)
	if account == nil {
		return nil, s.refuse(r, r.notFound())
	}
	life := int64(defaultTokenLife)
	if tr.Spec.ExpirationSeconds != nil {
		life = *tr.Spec.ExpirationSeconds
	}
	if life < leastTokenLife || life > 1<<32 {
		gk := schema.GroupKind{Group: authenticationv1.GroupName, Kind: "TokenRequest"}
		return nil, s.refuse(r, apierrors.NewInvalid(gk, r.name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "expirationSeconds"), life, "may not specify a duration less than 10 minutes, or more than 2^32 seconds"),
		}))
	}
	out := tr.DeepCopy()
	out.Name, out.Namespace, out.CreationTimestamp = r.name, r.namespace, s.now()
	out.Spec.ExpirationSeconds = &life
	ends := metav1.NewTime(s.now().Add(time.Duration(life) * time.Second))
	sum := s.digest(uint64(ends.Unix()), "token", string(account.GetUID()))
	out.Status = authenticationv1.TokenRequestStatus{Token: tokenPrefix + hex.EncodeToString(sum[:]), ExpirationTimestamp: ends}
	return out, nil
}

// tokenPrefix begins the tokens of service accounts; the rest is a digest.
const tokenPrefix = "storagesim."

// isToken reports whether a text has the form of a token of a service account. It is not kept which of them were given out.
func isToken(text string) bool {
	digest, ok := strings.CutPrefix(text, tokenPrefix)
	sum, err := hex.DecodeString(digest)
	return ok && err == nil && len(sum) == sha256.Size
}
