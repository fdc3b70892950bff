package validation

import (
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Paths that many rules start from. A path is extended only when something is
// wrong, so that a good object costs no allocations.
var (
	metadataPath = field.NewPath("metadata")
	specPath     = field.NewPath("spec")
	statusPath   = field.NewPath("status")
)

// problems collects what is wrong with one object, in the order the rules run.
// Paths and wording are those of kube-apiserver v1.36, oddities included:
// people search for them.
type problems struct{ list field.ErrorList }

func (p *problems) add(errs ...*field.Error) { p.list = append(p.list, errs...) }

func (p *problems) required(path *field.Path, detail string) {
	p.list = append(p.list, field.Required(path, detail))
}

func (p *problems) invalid(path *field.Path, value any, detail string) {
	p.list = append(p.list, field.Invalid(path, value, detail))
}

func (p *problems) forbidden(path *field.Path, detail string) {
	p.list = append(p.list, field.Forbidden(path, detail))
}

func (p *problems) duplicate(path *field.Path, value any) {
	p.list = append(p.list, field.Duplicate(path, value))
}

// need refuses an empty required field below path.
func (p *problems) need(path *field.Path, name, value string) {
	if value == "" {
		p.required(path.Child(name), "")
	}
}

// messages adds one invalid-value problem for each message about the value.
func (p *problems) messages(path *field.Path, value string, msgs []string) {
	for _, msg := range msgs {
		p.invalid(path, value, msg)
	}
}

// Create says what is wrong with a new object, defaults applied. An
// empty list means it may be stored.
func Create(obj runtime.Object) field.ErrorList {
	p := &problems{}
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		p.newMeta(&o.ObjectMeta, true, dnsSubdomain)
		p.claimSpec(&o.Spec, specPath, nil)
	case *v1.PersistentVolume:
		p.newMeta(&o.ObjectMeta, false, dnsSubdomain)
		p.volume(o)
	case *v1.Pod:
		p.newMeta(&o.ObjectMeta, true, dnsSubdomain)
		p.newPod(o)
	case *v1.Event:
		p.newMeta(&o.ObjectMeta, true, dnsSubdomain)
		p.event(o)
	case *storagev1.StorageClass:
		p.newMeta(&o.ObjectMeta, false, dnsSubdomain)
		p.storageClass(o)
	case *storagev1.VolumeAttributesClass:
		p.newMeta(&o.ObjectMeta, false, dnsSubdomain)
		p.attributesClass(o)
	case *storagev1.VolumeAttachment:
		p.newMeta(&o.ObjectMeta, false, dnsSubdomain)
		p.attachment(o)
	case *storagev1.CSIDriver:
		p.newMeta(&o.ObjectMeta, false, dnsSubdomain)
		p.csiDriver(&o.Spec)
	case *storagev1.CSINode:
		p.newMeta(&o.ObjectMeta, false, dnsSubdomain)
		p.csiNode(o)
	case *storagev1.CSIStorageCapacity:
		p.newMeta(&o.ObjectMeta, true, dnsSubdomain)
		p.storageCapacity(o)
	default:
		p.createOther(obj)
	}
	return p.list
}

// createOther validates new objects of the kinds the storage plane meets less often.
func (p *problems) createOther(obj runtime.Object) {
	switch o := obj.(type) {
	case *v1.Node:
		p.newMeta(&o.ObjectMeta, false, dnsSubdomain)
		p.node(o)
	case *v1.Namespace:
		p.newMeta(&o.ObjectMeta, false, dnsLabel)
		p.namespaceFinalizers(o.Spec.Finalizers)
	case *v1.Service:
		p.newMeta(&o.ObjectMeta, true, dns1035Label)
	case *v1.ConfigMap:
		p.newMeta(&o.ObjectMeta, true, dnsSubdomain)
		p.configMap(o)
	case *v1.Secret:
		p.newMeta(&o.ObjectMeta, true, dnsSubdomain)
		p.secret(o)
	case *appsv1.StatefulSet:
		p.newMeta(&o.ObjectMeta, true, dnsLabel)
		p.statefulSet(o, nil)
	case *appsv1.Deployment:
		p.newMeta(&o.ObjectMeta, true, dnsSubdomain)
		p.deployment(o)
	case *appsv1.DaemonSet:
		p.newMeta(&o.ObjectMeta, true, dnsSubdomain)
		p.daemonSet(o)
	case *appsv1.ReplicaSet:
		p.newMeta(&o.ObjectMeta, true, dnsSubdomain)
		p.replicaSet(o)
	case *batchv1.Job:
		p.newMeta(&o.ObjectMeta, true, dnsSubdomain)
		p.job(o)
	default:
		p.newAnyMeta(obj)
	}
}

// Update says what is wrong with obj as the successor of old. Status,
// unset metadata and defaults are expected to be filled in already.
func Update(obj, old runtime.Object) field.ErrorList {
	p := &problems{}
	if !sameKind(obj, old) {
		p.invalid(field.NewPath("kind"), kindName(obj), "must be "+kindName(old))
		return p.list
	}
	p.anyMetaUpdate(obj, old)
	p.generateNameUpdate(obj)
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		p.claimUpdate(o, old.(*v1.PersistentVolumeClaim))
	case *v1.PersistentVolume:
		p.volumeUpdate(o, old.(*v1.PersistentVolume))
	case *v1.Pod:
		p.podUpdate(o, old.(*v1.Pod))
	case *storagev1.StorageClass:
		p.storageClassUpdate(o, old.(*storagev1.StorageClass))
	case *storagev1.VolumeAttributesClass:
		p.attributesClassUpdate(o, old.(*storagev1.VolumeAttributesClass))
	case *storagev1.VolumeAttachment:
		p.attachmentUpdate(o, old.(*storagev1.VolumeAttachment))
	case *storagev1.CSIDriver:
		p.csiDriverUpdate(o, old.(*storagev1.CSIDriver))
	case *storagev1.CSINode:
		p.csiNodeUpdate(o, old.(*storagev1.CSINode))
	case *storagev1.CSIStorageCapacity:
		p.storageCapacityUpdate(o, old.(*storagev1.CSIStorageCapacity))
	case *v1.Node:
		p.node(o)
		p.nodeUpdate(o, old.(*v1.Node))
	case *v1.ConfigMap:
		p.configMapUpdate(o, old.(*v1.ConfigMap))
	case *v1.Secret:
		p.secretUpdate(o, old.(*v1.Secret))
	case *appsv1.StatefulSet:
		p.statefulSetUpdate(o, old.(*appsv1.StatefulSet))
	case *appsv1.Deployment:
		p.deployment(o)
		p.immutable(o.Spec.Selector, old.(*appsv1.Deployment).Spec.Selector, specPath.Child("selector"))
	case *appsv1.DaemonSet:
		p.daemonSet(o)
		p.immutable(o.Spec.Selector, old.(*appsv1.DaemonSet).Spec.Selector, specPath.Child("selector"))
	case *appsv1.ReplicaSet:
		p.replicaSet(o)
		p.immutable(o.Spec.Selector, old.(*appsv1.ReplicaSet).Spec.Selector, specPath.Child("selector"))
	}
	return p.list
}

// StatusUpdate says what is wrong with obj as a status update of old.
func StatusUpdate(obj, old runtime.Object) field.ErrorList {
	p := &problems{}
	if !sameKind(obj, old) {
		p.invalid(field.NewPath("kind"), kindName(obj), "must be "+kindName(old))
		return p.list
	}
	p.anyMetaUpdate(obj, old)
	p.generateNameOfStatus(obj)
	switch o := obj.(type) {
	case *v1.PersistentVolumeClaim:
		p.claimStatus(o)
	case *v1.Pod:
		p.podStatus(o, old.(*v1.Pod))
	case *v1.Node:
		p.nodeUpdate(o, old.(*v1.Node))
	case *storagev1.VolumeAttachment:
		p.attachmentUpdate(o, old.(*storagev1.VolumeAttachment))
	case *appsv1.StatefulSet:
		p.statefulSetStatus(o, old.(*appsv1.StatefulSet))
	}
	return p.list
}

// newAnyMeta validates the metadata of a new object of a kind without rules of
// its own. Whether the kind has namespaces is the server's to know.
func (p *problems) newAnyMeta(obj runtime.Object) {
	m := objectMeta(obj)
	if m == nil {
		return
	}
	rule := dnsSubdomain
	switch obj.(type) {
	case *rbacv1.Role, *rbacv1.ClusterRole, *rbacv1.RoleBinding, *rbacv1.ClusterRoleBinding:
		rule = pathSegment
	}
	p.newMeta(m, m.Namespace != "", rule)
}

func (p *problems) anyMetaUpdate(obj, old runtime.Object) {
	if m, o := objectMeta(obj), objectMeta(old); m != nil && o != nil {
		p.metaUpdate(m, o)
	}
}

// generateNameUpdate validates what an updated object's name was made from. The
// kinds named here check all their metadata again on an update, the others do only
// what all do. Upstream: rest.BeforeUpdate, and ValidateUpdate of the strategies,
// v1.36.
func (p *problems) generateNameUpdate(obj runtime.Object) {
	m := objectMeta(obj)
	if m == nil || m.GenerateName == "" {
		return
	}
	at := metadataPath.Child("generateName")
	p.messages(at, m.GenerateName, content.IsPathSegmentPrefix(m.GenerateName))
	switch obj.(type) {
	case *v1.PersistentVolumeClaim, *v1.PersistentVolume, *v1.Pod, *v1.Node, *v1.ConfigMap, *v1.Secret, *storagev1.StorageClass,
		*storagev1.VolumeAttributesClass, *storagev1.VolumeAttachment, *storagev1.CSINode, *storagev1.CSIStorageCapacity:
		p.messages(at, m.GenerateName, dnsSubdomain.full(m.GenerateName, true))
	case *v1.Namespace:
		p.messages(at, m.GenerateName, dnsLabel.full(m.GenerateName, true))
	}
}

// generateNameOfStatus is that for a status update, in which only a
// VolumeAttachment checks more than what all kinds do.
func (p *problems) generateNameOfStatus(obj runtime.Object) {
	if va, ok := obj.(*storagev1.VolumeAttachment); ok {
		p.generateNameUpdate(va)
	} else if m := objectMeta(obj); m != nil && m.GenerateName != "" {
		p.messages(metadataPath.Child("generateName"), m.GenerateName, content.IsPathSegmentPrefix(m.GenerateName))
	}
}

// objectMeta returns the object's own metadata, or nil for what has none.
func objectMeta(obj runtime.Object) *metav1.ObjectMeta {
	if o, ok := obj.(metav1.ObjectMetaAccessor); ok {
		m, _ := o.GetObjectMeta().(*metav1.ObjectMeta)
		return m
	}
	return nil
}

func sameKind(a, b runtime.Object) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) }

func kindName(obj runtime.Object) string { return reflect.TypeOf(obj).Elem().Name() }
