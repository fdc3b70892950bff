package rest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metascheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api"
)

// call is one request about objects, and what is known of it.
type call struct {
	h    *Handler
	w    http.ResponseWriter
	r    *http.Request
	t    target
	kind kind
	out  output
	warned
}

// maxBody is the size of a request in bytes beyond which it is refused.
// Upstream: apiserver server.Config MaxRequestBodyBytes, v1.37.
const maxBody = 3 << 20

// v1 is the version in which options are written.
var v1 = schema.GroupVersion{Version: "v1"}

// request returns the call in the server's words, without its body and options.
func (c *call) request(verb string) api.Request {
	return api.Request{
		Actor: actorOf(c.r), Verb: verb, Resource: c.t.gvr(), Subresource: c.t.sub,
		Namespace: c.t.namespace, Name: c.t.name, Shared: true, Track: true,
	}
}

// actorOf returns the actor of a request: the one of the client's configuration, else the
// program's name in the user agent.
// Upstream: apiserver handlers prefixFromUserAgent, v1.37.
func actorOf(r *http.Request) string {
	if actor, ok := r.Context().Value(actorKey{}).(string); ok {
		return actor
	}
	name, _, _ := strings.Cut(r.UserAgent(), "/")
	return name
}

// actorKey is the key under which a context holds the name of an actor.
type actorKey struct{}

// options reads the parameters of the URL into into.
func (c *call) options(into runtime.Object) error {
	if c.r.URL.RawQuery == "" {
		return nil
	}
	if err := scheme.ParameterCodec.DecodeParameters(c.r.URL.Query(), v1, into); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

// body reads the body of the request.
// Upstream: apiserver handlers limitedReadBody, v1.37.
func (c *call) body() ([]byte, error) {
	if c.r.Body == nil {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(c.r.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxBody {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	return data, nil
}

// read serves get and list.
func (c *call) read(verb string) error {
	req := c.request(verb)
	if c.r.URL.RawQuery != "" {
		if verb == "get" && c.t.sub == "" && isTrue(c.r.URL.Query()["export"]) { // Upstream: apiserver endpoints/handlers GetResource, v1.37.2
			return badRequest("the export parameter, deprecated since v1.14, is no longer supported")
		}
		var get metav1.GetOptions
		var list metav1.ListOptions
		var into runtime.Object = &get
		if verb == "list" {
			into = &list
		}
		if err := c.options(into); err != nil {
			return err
		}
		req.Get, req.List = get, list
	}
	obj, err := c.h.server.Do(c.r.Context(), req)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, obj)
}

// patch serves the four kinds of patches.
// Upstream: apiserver handlers PatchResource, v1.37.
func (c *call) patch() error {
	req := c.request("patch")
	req.PatchType = types.PatchType(c.contentType())
	if accepted := c.patchTypes(); !slices.Contains(accepted, c.contentType()) {
		return unsupportedMediaType(strings.Join(accepted, ", "))
	}
	var err error
	if req.Patch, err = c.body(); err != nil {
		return err
	}
	if err := c.options(&req.Write); err != nil {
		return err
	}
	req.Warn = c.warn
	return c.do(req)
}

// patchTypes returns the kinds of patches there are: a strategic merge needs a Go type.
// Upstream: apiserver endpoints APIInstaller.registerResourceHandlers, v1.37.
func (c *call) patchTypes() []string {
	list := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if c.kind.typed {
		list = append(list, string(types.StrategicMergePatchType))
	}
	return append(list, string(types.ApplyYAMLPatchType))
}

// do carries out a write and answers with the object: 201 if it is new.
func (c *call) do(req api.Request) error {
	created := req.Verb == "create"
	if req.PatchType == types.ApplyYAMLPatchType || req.Verb == "update" {
		req.Created = &created
	}
	obj, err := c.h.server.Do(c.r.Context(), req)
	if err != nil {
		return err
	}
	if req.PatchType == types.ApplyYAMLPatchType && req.Write.FieldValidation != metav1.FieldValidationIgnore {
		c.warnOfRepeats(req.Patch)
	}
	if status, ok := obj.(*metav1.Status); ok && created && status.Code == 0 {
		status.Code = http.StatusCreated
	}
	if created {
		return c.answer(http.StatusCreated, obj)
	}
	return c.answer(http.StatusOK, obj)
}

// warnOfRepeats warns of each field that is there twice in what was applied.
// Upstream: apiserver handlers addStrictDecodingWarnings, v1.37.
func (c *call) warnOfRepeats(applied []byte) {
	err := yaml.UnmarshalStrict(applied, &map[string]any{})
	if err == nil {
		return
	}
	c.warnOfFields(err)
}

// warnOfFields warns of a strict decoding error, of one of YAML for each field.
// Upstream: apiserver handlers addStrictDecodingWarnings and parseYAMLWarnings, v1.37.2.
func (c *call) warnOfFields(err error) {
	text, long := strings.CutPrefix(err.Error(), "error converting YAML to JSON: yaml: unmarshal errors:\n")
	if !long {
		text = strings.TrimPrefix(text, "yaml: unmarshal errors:\n")
	}
	for line := range strings.SplitSeq(text, "\n") {
		c.warn(strings.TrimSpace(line))
	}
}

// listOptions reads the options of a list or a watch into opts. A name in the path of a watch stands
// for a field selector.
// Upstream: apiserver handlers listOpts, v1.37.
func (c *call) listOptions(opts *metav1.ListOptions) error {
	if err := c.options(opts); err != nil {
		return err
	}
	if c.t.name == "" {
		return nil
	}
	selector, err := fields.ParseSelector(opts.FieldSelector)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if name, ok := selector.RequiresExactMatch(metav1.ObjectNameField); !selector.Empty() && (!ok || name != c.t.name) {
		return badRequest("fieldSelector metadata.name doesn't match requested name")
	}
	if selector.Empty() {
		opts.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, c.t.name).String()
	}
	return nil
}

// remove serves delete and deletecollection.
// Upstream: apiserver handlers DeleteResource and DeleteCollection, v1.37.
func (c *call) remove(verb string) error {
	req := c.request(verb)
	req.Warn = c.warn
	if verb == "deletecollection" {
		if err := c.listOptions(&req.List); err != nil {
			return err
		}
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	if len(body) == 0 {
		err = c.options(&req.Delete)
	} else {
		err = c.decodeDeleteOptions(body, &req.Delete)
	}
	if err != nil && verb == "deletecollection" { // what is wrong with the options of the list comes first
		one := c.request("list")
		one.List = req.List
		one.List.Continue = "" // which is looked at last
		if _, wrong := c.h.server.Do(c.r.Context(), one); wrong != nil {
			return wrong
		}
	}
	if err != nil {
		return err
	}
	obj, err := c.h.server.Do(c.r.Context(), req)
	if err != nil {
		return err
	}
	code := http.StatusOK
	//nolint:staticcheck // clients may still use the deprecated field
	if orphan := req.Delete.OrphanDependents; orphan != nil && !*orphan && isGoing(obj) {
		code = http.StatusAccepted // not deleted at once, as was asked for
	}
	if obj == nil {
		obj = &metav1.Status{Status: metav1.StatusSuccess, Code: int32(code), Details: &metav1.StatusDetails{Name: c.t.name, Kind: c.kind.gvk.Kind}}
	}
	return c.answer(code, obj)
}

// isGoing reports whether an object that was to be deleted is still there.
func isGoing(obj runtime.Object) bool {
	m, ok := obj.(metav1.Object)
	return ok && m.GetDeletionTimestamp() != nil
}

// decodeDeleteOptions takes options of any group and version: clients send them in that of
// the kind, which may be a custom one.
// Upstream: apiserver handlers DeleteResource, v1.37.
func (c *call) decodeDeleteOptions(body []byte, into *metav1.DeleteOptions) error {
	info, err := negotiateInput(c.r, metascheme.Codecs.SupportedMediaTypes())
	if err != nil {
		return err
	}
	gvk := metav1.SchemeGroupVersion.WithKind("DeleteOptions")
	obj, _, err := metascheme.Codecs.DecoderToVersion(info.Serializer, gvk.GroupVersion()).Decode(body, &gvk, into)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if obj != runtime.Object(into) {
		return badRequest("decoded object cannot be converted to DeleteOptions")
	}
	return nil
}
