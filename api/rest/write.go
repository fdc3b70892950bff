package rest

import (
	"encoding/hex"
	"fmt"
	"strings"

	policyv1beta1 "k8s.io/api/policy/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/api"
	objects "github.com/storagesim/storagesim/api/internal/call"
)

// write serves create and update.
// Upstream: apiserver handlers createHandler and UpdateResource, v1.37.
func (c *call) write(verb string) error {
	req := c.request(verb)
	if err := c.receive(&req); err != nil {
		return err
	}
	req.Warn = c.warn
	if err := c.checkNamespace(req.Object); err != nil {
		return err
	}
	if obj, ok := req.Object.(metav1.Object); ok && verb == "update" && obj.GetName() != c.t.name {
		if obj.GetName() != "" {
			return badRequest("the name of the object (%s) does not match the name on the URL (%s)", obj.GetName(), c.t.name)
		}
		return badRequest("the name of the object (%s based on URL) was undeterminable: name must be provided", c.t.name)
	}
	return c.do(req)
}

// receive reads the options and the object of a create or an update, in upstream's order: only an update looks at the form of the body after the options.
// Upstream: apiserver handlers createHandler and UpdateResource, v1.37.2.
func (c *call) receive(req *api.Request) error {
	info, unreadable := negotiateInput(c.r, c.kind.mediaTypes())
	if unreadable != nil && req.Verb == "create" {
		return unreadable
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	switch req.Verb {
	case "create":
		var opts metav1.CreateOptions
		err = c.options(&opts)
		req.Write = metav1.PatchOptions{DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation}
	default:
		var opts metav1.UpdateOptions
		err = c.options(&opts)
		req.Write = metav1.PatchOptions{DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation}
	}
	if err == nil {
		err = objects.CheckWriteOptions(req)
	}
	if err != nil {
		return err
	}
	if unreadable != nil {
		return unreadable
	}
	req.Object, err = c.decode(info, body, req.Write.FieldValidation)
	return err
}

// checkNamespace gives an object the namespace of the path. Another one is refused.
// Upstream: apiserver registry/rest EnsureObjectNamespaceMatchesRequestNamespace, v1.37.
func (c *call) checkNamespace(obj runtime.Object) error {
	m, ok := obj.(metav1.Object)
	switch {
	case !ok: // it has no metadata
	case !c.kind.Namespaced || m.GetNamespace() == c.t.namespace:
	case m.GetNamespace() == "" && !c.kind.typed: // that of an unstructured object may be no text, which is refused later
	case m.GetNamespace() == "":
		m.SetNamespace(c.t.namespace)
	case c.t.namespace != "":
		return badRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// decode reads the object in a body of this form. Unknown and repeated fields are errors if
// validation is Strict, warnings if it is Warn, which is the default.
func (c *call) decode(info runtime.SerializerInfo, body []byte, validation string) (runtime.Object, error) {
	want := c.bodyOf()
	decoder := info.StrictSerializer
	if validation == metav1.FieldValidationIgnore {
		decoder = info.Serializer
	}
	into, err := c.h.registry.New(want)
	if err != nil {
		into = nil // a kind without a resource of its own, which the decoder knows
	}
	obj, got, err := decoder.Decode(body, &want, into)
	if k, ok := c.h.registry.Kind(want); ok && err == nil && k.Unknown != nil && validation != metav1.FieldValidationIgnore {
		err = unknownFields(k.Unknown(obj))
	}
	strict, isStrict := runtime.AsStrictDecodingError(err)
	isStrict = isStrict && obj != nil
	if err != nil && !isStrict {
		return nil, c.decodeError(err, want, got, body)
	}
	if got.Kind != want.Kind && c.kind.typed { // whatever else is wrong with it
		if !scheme.Scheme.IsVersionRegistered(want.GroupVersion()) { // real servers keep its kinds in a scheme of its own
			return nil, badRequest("%s in version %q cannot be handled as a %s: %v", got.Kind, got.Version, want.Kind,
				runtime.NewNotRegisteredErrForKind("pkg/runtime/scheme.go:111", *got))
		}
		return nil, badRequest("%s in version %q cannot be handled as a %s: converting (%s) to (%s): unknown conversion",
			got.Kind, got.Version, want.Kind, strings.TrimPrefix(fmt.Sprintf("%T", obj), "*"), internalName(want))
	}
	if isStrict {
		if validation == metav1.FieldValidationStrict {
			return nil, c.decodeError(err, want, got, body)
		}
		for _, e := range strict.Errors() {
			c.warnOfFields(e)
		}
	}
	if got.GroupVersion() != want.GroupVersion() {
		if want.Kind == "Eviction" && got.GroupVersion() == policyv1beta1.SchemeGroupVersion {
			return obj, nil // the one kind that clients may still send in an old version
		}
		return nil, badRequest("the API version in the data (%s) does not match the expected API version (%s)", got.GroupVersion(), want.GroupVersion())
	}
	if u, ok := obj.(*unstructured.Unstructured); ok { // it keeps the kind that it says: that is validated
		if _, err := objects.Metadata(u.Object); err != nil {
			return nil, c.decodeError(err, want, got, body)
		}
		return obj, nil
	}
	obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return obj, nil
}

// unknownFields returns the strict decoding error for fields that a kind does not have, nil if
// there are none.
func unknownFields(paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	errs := make([]error, len(paths))
	for i, path := range paths {
		errs[i] = fmt.Errorf("unknown field %q", path)
	}
	return runtime.NewStrictDecodingError(errs)
}

// decodeError returns what the client is told of a body that cannot be read.
// Upstream: apiserver handlers transformDecodeError, v1.37.
func (c *call) decodeError(err error, want schema.GroupVersionKind, got *schema.GroupVersionKind, body []byte) error {
	if !c.kind.typed && c.t.sub == "scale" { // which the scheme of custom kinds does not know
		return badRequest("no kind is registered for the type v1.Scale in scheme %q", "pkg/runtime/scheme.go:111")
	}
	if got != nil && got.Kind != "" {
		return badRequest("%s in version %q cannot be handled as a %s: %v", got.Kind, got.Version, want.Kind, err)
	}
	return badRequest("the object provided is unrecognized (must be of type %s): %v (%s)", want.Kind, err, summary(body))
}

// summary returns the beginning of a body that cannot be read.
// Upstream: apiserver handlers summarizeData, v1.37.
func summary(body []byte) string {
	const most = 30
	if len(body) == 0 {
		return "<empty>"
	}
	show := func(part []byte) string {
		if body[0] == '{' {
			return string(part)
		}
		return hex.EncodeToString(part)
	}
	if len(body) > most {
		return show(body[:most]) + " ..."
	}
	return show(body)
}

// internalName returns the name that a kind has inside a real server, in messages: core.ConfigMap.
func internalName(gvk schema.GroupVersionKind) string {
	group, _, _ := strings.Cut(gvk.Group, ".")
	switch group {
	case "", "events":
		group = "core"
	}
	return group + "." + gvk.Kind
}
