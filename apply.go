package storagesim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/trace"
)

// Apply creates or changes the objects of YAML (or JSON) manifests as `kubectl
// apply` does: fields that the manifest sets are set, fields that the manifest
// applied before set and this one does not are removed, all others stay. If
// anything is wrong with the text, nothing of it is applied, and the error says
// file, line, object, field and what was expected. Objects that the API server
// refuses do not keep the others from being applied; the error has the line of each field that it names. A manifest may have snapshots without
// their definitions: see Lab.InstallSnapshots.
func (c *Cluster) Apply(manifests ...string) error {
	sources := make([]manifest.Source, len(manifests))
	for i, text := range manifests {
		sources[i] = manifest.Source{Name: "manifest", Data: []byte(text)}
		if len(manifests) > 1 {
			sources[i].Name = fmt.Sprintf("manifest %d", i+1)
		}
	}
	return c.applyAll(manifest.ParseSet(c.server().Registry(), sources...))
}

// ApplyFile applies files, and the .yaml, .yml and .json files in directories, as Apply does.
func (c *Cluster) ApplyFile(paths ...string) error {
	return c.applyAll(manifest.ParseFiles(c.server().Registry(), paths...))
}

func (c *Cluster) applyAll(objects []manifest.Object, err error) error {
	if err != nil {
		return err
	}
	var errs []error
	for _, obj := range objects {
		meta := obj.Meta()
		if !c.acts("apply", manifest.Ref{Resource: obj.Resource, Namespace: meta.GetNamespace(), Name: meta.GetName()}) {
			continue
		}
		if err := c.apply(obj); err != nil {
			errs = append(errs, obj.Refused(err))
		}
	}
	return errors.Join(errs...)
}

// apply creates the object, or patches it by a three-way merge of the manifest applied last, the
// manifest now, and the object.
func (c *Cluster) apply(obj manifest.Object) error {
	if group := obj.Resource.Group; group == snapshots.Group || group == snapshots.GroupsGroup {
		if err := c.installSnapshots(); err != nil {
			return err
		}
	}
	if c.annotates {
		annotated, err := annotated(obj)
		if err != nil {
			return err
		}
		obj = annotated
	}
	gvr, meta := obj.Resource.GroupVersionResource(), obj.Meta()
	key := appliedKey(gvr, meta.GetNamespace(), meta.GetName())
	req := api.Request{Resource: gvr, Namespace: meta.GetNamespace(), Name: meta.GetName(), Track: c.annotates}
	req.Write.FieldManager = fieldManager
	req.Verb = "get"
	current, err := c.do(req)
	if meta.GetName() == "" || apierrors.IsNotFound(err) {
		req.Verb, req.Object = "create", obj.Unversioned()
		_, err := c.do(req)
		if err == nil {
			c.applied[key] = obj.JSON
		}
		return err
	}
	if err != nil {
		return err
	}
	current = current.DeepCopyObject()
	current.GetObjectKind().SetGroupVersionKind(obj.Resource.GroupVersionKind) // as a client has it: a patch need not set the kind
	is, err := json.Marshal(current)
	if err != nil {
		return err
	}
	applied := c.applied[key]
	if c.annotates {
		applied = c.lastApplied(obj, current.(metav1.Object))
	}
	req.PatchType, req.Patch, err = threeWay(obj, applied, is)
	if err != nil {
		return err
	}
	if string(req.Patch) != "{}" {
		req.Verb = "patch"
		_, err = c.do(req)
	}
	if err == nil {
		c.applied[key] = obj.JSON
	}
	return err
}

// fieldManager is the name under which kubectl applies.
const fieldManager = "kubectl-client-side-apply"

// annotated returns the object with the annotation from which kubectl tells later what was applied.
// Upstream: kubectl pkg/util/apply.go GetModifiedConfiguration, v0.37.2.
func annotated(obj manifest.Object) (manifest.Object, error) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(obj.JSON); err != nil {
		return obj, err
	}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, v1.LastAppliedConfigAnnotation)
	u.SetAnnotations(annotations)
	applied, err := u.MarshalJSON()
	if err != nil {
		return obj, err
	}
	annotations[v1.LastAppliedConfigAnnotation] = string(applied)
	u.SetAnnotations(annotations)
	obj.Object = obj.Object.DeepCopyObject()
	obj.Meta().SetAnnotations(annotations)
	obj.JSON, err = u.MarshalJSON()
	return obj, err
}

// lastApplied returns what the object's annotation says was applied; if there is none, the client is warned, as by kubectl.
// Upstream: kubectl pkg/cmd/apply/apply.go applyOneObject, v0.37.2.
func (c *Cluster) lastApplied(obj manifest.Object, current metav1.Object) []byte {
	applied, ok := current.GetAnnotations()[v1.LastAppliedConfigAnnotation]
	if warn := c.onWarning; warn != nil && !ok {
		warn(fmt.Sprintf("resource %s/%s is missing the %s annotation which is required by kubectl apply. kubectl apply should only be used on "+
			"resources created declaratively by either kubectl create --save-config or kubectl apply. The missing annotation will be patched automatically.",
			obj.Resource.GroupVersionResource().Resource, current.GetName(), v1.LastAppliedConfigAnnotation))
	}
	return []byte(applied)
}

// threeWay returns the patch that makes the object what the manifest says: a strategic one
// for the kinds of Kubernetes, a JSON merge patch for others.
func threeWay(obj manifest.Object, applied, is []byte) (types.PatchType, []byte, error) {
	if !scheme.Scheme.Recognizes(obj.Resource.GroupVersionKind) {
		patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(applied, obj.JSON, is)
		return types.MergePatchType, patch, err
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(obj.Object)
	if err != nil {
		return "", nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(applied, obj.JSON, is, schema, true)
	return types.StrategicMergePatchType, patch, err
}

// Delete deletes objects as `kubectl delete --wait=false` does: pods get their
// grace period, and the objects' dependents are deleted after them, in the background. For
// other options, use the client's Delete. A ref is "pod/default/web", "pvc/data" (in the namespace
// default) or "pv/pv-1".
func (c *Cluster) Delete(refs ...string) error {
	var errs []error
	for _, ref := range refs {
		at, err := manifest.ParseRef(c.server().Registry(), "", ref)
		if err == nil && c.acts("delete", at) {
			background := metav1.DeletePropagationBackground
			_, err = c.do(api.Request{
				Verb: "delete", Resource: at.Resource.GroupVersionResource(), Namespace: at.Namespace, Name: at.Name,
				Delete: metav1.DeleteOptions{PropagationPolicy: &background},
			})
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("delete %s: %w", ref, err))
		}
	}
	return errors.Join(errs...)
}

// acts reports whether the user's act is to be carried out.
func (c *Cluster) acts(verb string, at manifest.Ref) bool {
	if c.onAct == nil {
		return true
	}
	return c.onAct(verb, trace.Ref{Kind: at.Resource.Kind, Namespace: at.Namespace, Name: at.Name}.Path())
}

// do carries out a request as the user, through the clientset of Client.
func (c *Cluster) do(req api.Request) (runtime.Object, error) {
	if warn := c.onWarning; warn != nil {
		req.Warn = warn
		if k, ok := c.server().Registry().Lookup(req.Resource); ok && k.Deprecated != "" {
			warn(k.Deprecated) // over HTTP the handler does that
		}
	}
	return c.client.Do(context.Background(), req)
}

// LastApplied returns the JSON that Apply applied last to an object; nil if it never did.
func (l Lab) LastApplied(resource schema.GroupVersionResource, namespace, name string) []byte {
	return l.c.applied[appliedKey(resource, namespace, name)]
}

// appliedKey identifies an object among those that were applied.
func appliedKey(resource schema.GroupVersionResource, namespace, name string) string {
	return strings.Join([]string{resource.String(), namespace, name}, "/")
}
