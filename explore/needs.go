package explore

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/trace"
)

// needs returns what the objects of a run name, and what was not created in it: "pod/default/web needs
// pvc/default/data". A run that is made smaller must have no such line that it did not have before, since a pod
// without its claim fails for another reason.
func needs(c *storagesim.Cluster) (missing []string) {
	there := map[string]bool{}
	last := map[string]trace.Write{} // the last version of each object: controllers add what it names, such as a default class
	for _, entry := range c.Trace().Records() {
		w, ok := entry.Record.(trace.Write)
		if !ok || w.Err != nil || w.New == nil {
			continue
		}
		path := w.About().Path()
		there[path] = there[path] || w.Old == nil
		last[path] = w
	}
	for path, w := range last {
		if !there[path] {
			continue // it was there before the run
		}
		for _, object := range namesOf(w, last) {
			if !there[object] {
				missing = append(missing, withoutIDs(stable(path, w.New)+" needs "+object))
			}
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// stable returns the path of an object without the end that the API server has chosen by chance.
func stable(path string, obj runtime.Object) string {
	if at, err := meta.Accessor(obj); err == nil && at.GetGenerateName() != "" {
		return strings.TrimSuffix(path, strings.TrimPrefix(at.GetName(), at.GetGenerateName()))
	}
	return path
}

// namingFields are fields that name an object, in pods and their templates, claims, volumes, snapshots and classes, and its kind.
var namingFields = map[string]string{
	"claimName": "PersistentVolumeClaim", "persistentVolumeClaimName": "PersistentVolumeClaim", "volumeName": "PersistentVolume",
	"storageClassName": "StorageClass", "volumeAttributesClassName": "VolumeAttributesClass", "secretName": "Secret",
	"volumeSnapshotClassName": "VolumeSnapshotClass", "volumeSnapshotContentName": "VolumeSnapshotContent",
	"driver": "CSIDriver", "driverName": "CSIDriver", "provisioner": "CSIDriver",
	"serviceAccountName": "ServiceAccount", "priorityClassName": "PriorityClass", "runtimeClassName": "RuntimeClass",
}

// namingRefs are fields with a name, and perhaps a namespace, that name an object, and its kind.
var namingRefs = map[string]string{
	"configMap": "ConfigMap", "configMapRef": "ConfigMap", "configMapKeyRef": "ConfigMap", "secret": "Secret", "secretRef": "Secret", "secretKeyRef": "Secret",
	"nodePublishSecretRef": "Secret", "nodeStageSecretRef": "Secret", "nodeExpandSecretRef": "Secret", "controllerPublishSecretRef": "Secret",
	"controllerExpandSecretRef": "Secret",
}

// inNamespaces has the kinds of those whose objects have a namespace.
var inNamespaces = map[string]bool{"PersistentVolumeClaim": true, "Secret": true, "ConfigMap": true, "ServiceAccount": true}

// namesOf returns the paths of the objects that an object names, as far as it cannot do without them; all has the objects of the run.
func namesOf(w trace.Write, all map[string]trace.Write) []string {
	content := contentOf(w)
	var n naming
	n.namespace, n.kind = w.Namespace, w.Kind
	for field, value := range content {
		if field != "metadata" && field != "status" {
			n.see(field, value)
		}
	}
	spec, _ := content["spec"].(map[string]any)
	source, _ := spec["source"].(map[string]any)
	switch {
	case w.Kind == "PersistentVolumeClaim":
		n.ofClass("StorageClass", spec["storageClassName"], all, claimTokens(w))
	case w.Kind == snapshots.SnapshotKind && source["persistentVolumeClaimName"] != nil:
		n.ofClass("VolumeSnapshotClass", spec["volumeSnapshotClassName"], all, strings.NewReplacer("${volumesnapshot.name}", w.Name,
			"${volumesnapshot.namespace}", w.Namespace, "${volumesnapshotcontent.name}", "snapcontent-"+string(uidOf(w))))
	}
	return n.found
}

// claimTokens replaces what may stand in a class for parts of a claim, and for the name of the volume that a CSI provisioner makes for it.
// Upstream: external-provisioner pkg/controller/controller.go getSecretReference, v6.4.
func claimTokens(w trace.Write) *strings.Replacer {
	pairs := []string{"${pvc.name}", w.Name, "${pvc.namespace}", w.Namespace, "${pv.name}", "pvc-" + string(uidOf(w))}
	if claim, err := meta.Accessor(w.New); err == nil {
		for key, value := range claim.GetAnnotations() {
			pairs = append(pairs, "${pvc.annotations['"+key+"']}", value)
		}
	}
	return strings.NewReplacer(pairs...)
}

// uidOf returns the UID of the object that was written.
func uidOf(w trace.Write) types.UID {
	obj, err := meta.Accessor(w.New)
	if err != nil {
		return ""
	}
	return obj.GetUID()
}

// contentOf returns the fields of an object.
func contentOf(w trace.Write) map[string]any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w.New)
	if err != nil {
		return nil
	}
	return content
}

// naming collects what the fields of an object of a kind name.
type naming struct {
	namespace, kind string
	found           []string
}

func (n *naming) add(kind, namespace, name string) {
	if name != "" {
		n.found = append(n.found, trace.Ref{Kind: kind, Namespace: namespace, Name: name}.Path())
	}
}

// ofClass adds what an object needs of its class: the Secrets whose names have parts of the object's; the default class if it has none.
func (n *naming) ofClass(kind string, class any, all map[string]trace.Write, tokens *strings.Replacer) {
	name, ok := class.(string)
	if !ok {
		n.add(kind, "", "that is the default")
		return
	}
	if w, ok := all[trace.Ref{Kind: kind, Name: name}.Path()]; ok {
		parameters, _ := contentOf(w)["parameters"].(map[string]any)
		n.secrets(parameters, tokens)
	}
}

// secrets adds the Secrets that the parameters of a class name. Of those with tokens that are not replaced nothing is known.
func (n *naming) secrets(parameters map[string]any, tokens *strings.Replacer) {
	text := func(key string) string {
		s, _ := parameters[key].(string)
		return tokens.Replace(s)
	}
	for key := range parameters {
		for _, suffix := range []struct{ name, namespace string }{{"secret-name", "secret-namespace"}, {"SecretName", "SecretNamespace"}} {
			prefix, ok := strings.CutSuffix(key, suffix.name)
			if namespace := text(prefix + suffix.namespace); ok && !strings.Contains(text(key)+namespace, "${") {
				n.add("Secret", namespace, text(key))
			}
		}
	}
}

// see looks at a field and at all in it.
func (n *naming) see(field string, value any) {
	switch v := value.(type) {
	case string:
		kind := namingFields[field]
		if kind == "" || field == "storageClassName" && n.kind == "PersistentVolume" { // for which no class need exist
			return
		}
		n.add(kind, n.of(kind), v)
	case []any:
		for _, one := range v {
			n.see(field, one)
		}
	case map[string]any:
		if v["optional"] == true {
			return
		}
		n.ref(field, v)
		for name, one := range v {
			n.see(name, one)
		}
	}
}

// of returns the namespace of an object of a kind that a name alone names.
func (n *naming) of(kind string) string {
	if inNamespaces[kind] {
		return n.namespace
	}
	return ""
}

// ref looks at a field that may be a reference, or the parameters of a class with the names of its Secrets.
func (n *naming) ref(field string, v map[string]any) {
	text := func(key string) string {
		s, _ := v[key].(string)
		return s
	}
	switch kind := namingRefs[field]; {
	case kind != "":
		n.add(kind, cmp.Or(text("namespace"), n.namespace), text("name"))
	case field == "dataSource" || field == "dataSourceRef":
		n.add(text("kind"), cmp.Or(text("namespace"), n.namespace), text("name"))
	case field == "parameters":
		n.secrets(v, strings.NewReplacer())
	}
}
