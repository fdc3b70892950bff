package fakeclient

import (
	"context"
	"path"
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/storagesim/storagesim/api"
)

// object is a pointer to a typed API object.
type object interface {
	runtime.Object
	metav1.Object
}

var (
	volumes = v1.SchemeGroupVersion.WithResource("persistentvolumes")
	claims  = v1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
	pods    = v1.SchemeGroupVersion.WithResource("pods")
	nodes   = v1.SchemeGroupVersion.WithResource("nodes")
)

// A fake clientset copies every object that it is given twice, whole, to
// remember the call and to hand it to its reactors, before anything reads it. For
// a client that remembers nothing, and as long as no test has put a reactor of
// their own before the server, calls for the kinds that controllers read and write by
// the thousand go straight there. It is the same call and the same answer.

// coreV1 is client-go's, but for the kinds below.
type coreV1 struct {
	corev1.CoreV1Interface
	client *Clientset
}

// CoreV1 implements kubernetes.Interface.
func (c *Clientset) CoreV1() corev1.CoreV1Interface {
	if c.remembers {
		return c.Clientset.CoreV1()
	}
	return &c.core
}

// The typed clients are kept: client-go's take longer to make than to use.

type (
	volumeClient struct {
		direct[*v1.PersistentVolume]
		otherVolumeCalls
	}
	claimClient struct {
		direct[*v1.PersistentVolumeClaim]
		otherClaimCalls
	}
	podClient struct {
		direct[*v1.Pod]
		otherPodCalls
	}
	nodeClient struct {
		direct[*v1.Node]
		otherNodeCalls
	}
	// One level down, so that direct's methods come first.
	otherVolumeCalls struct {
		corev1.PersistentVolumeInterface
	}
	otherClaimCalls struct {
		corev1.PersistentVolumeClaimInterface
	}
	otherPodCalls  struct{ corev1.PodInterface }
	otherNodeCalls struct{ corev1.NodeInterface }
)

func (c *coreV1) PersistentVolumes() corev1.PersistentVolumeInterface {
	return kept(c.client, volumes, "", func() corev1.PersistentVolumeInterface {
		fake := c.CoreV1Interface.PersistentVolumes()
		return volumeClient{direct[*v1.PersistentVolume]{c.client, volumes, "", fake}, otherVolumeCalls{fake}}
	})
}

func (c *coreV1) PersistentVolumeClaims(namespace string) corev1.PersistentVolumeClaimInterface {
	return kept(c.client, claims, namespace, func() corev1.PersistentVolumeClaimInterface {
		fake := c.CoreV1Interface.PersistentVolumeClaims(namespace)
		return claimClient{direct[*v1.PersistentVolumeClaim]{c.client, claims, namespace, fake}, otherClaimCalls{fake}}
	})
}

func (c *coreV1) Pods(namespace string) corev1.PodInterface {
	return kept(c.client, pods, namespace, func() corev1.PodInterface {
		fake := c.CoreV1Interface.Pods(namespace)
		return podClient{direct[*v1.Pod]{c.client, pods, namespace, fake}, otherPodCalls{fake}}
	})
}

func (c *coreV1) Nodes() corev1.NodeInterface {
	return kept(c.client, nodes, "", func() corev1.NodeInterface {
		fake := c.CoreV1Interface.Nodes()
		return nodeClient{direct[*v1.Node]{c.client, nodes, "", fake}, otherNodeCalls{fake}}
	})
}

// kept is the typed client of that kind and namespace, made at first use.
func kept[C any](c *Clientset, gvr schema.GroupVersionResource, namespace string, make func() C) C {
	type address struct{ resource, namespace string }
	at := address{gvr.Resource, namespace}
	if known, ok := c.typed.Load(at); ok {
		return known.(C)
	}
	known, _ := c.typed.LoadOrStore(at, make())
	return known.(C)
}

// direct makes the calls for one kind, in one namespace. fake is client-go's
// way, for when a reactor listens.
type direct[T object] struct {
	client    *Clientset
	gvr       schema.GroupVersionResource
	namespace string
	fake      calls[T]
}

// calls are those that direct takes over.
type calls[T object] interface {
	Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error)
	UpdateStatus(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error)
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)
}

// alone: only the server answers this client's calls.
func (c *Clientset) alone() bool {
	c.RLock()
	defer c.RUnlock()
	return len(c.ReactionChain) == 1
}

func (d direct[T]) Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error) {
	if !d.client.alone() {
		return d.fake.Create(ctx, obj, opts)
	}
	req := d.request("create", "")
	req.Object = obj.DeepCopyObject()
	req.Write = metav1.PatchOptions{DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation}
	return d.do(ctx, req)
}

func (d direct[T]) Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error) {
	if !d.client.alone() {
		return d.fake.Update(ctx, obj, opts)
	}
	return d.update(ctx, "", part(obj, withoutStatus), opts)
}

func (d direct[T]) UpdateStatus(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error) {
	if !d.client.alone() {
		return d.fake.UpdateStatus(ctx, obj, opts)
	}
	return d.update(ctx, "status", part(obj, withoutSpec), opts)
}

func (d direct[T]) Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error) {
	if !d.client.alone() {
		return d.fake.Get(ctx, name, opts)
	}
	req := d.request("get", "")
	req.Name, req.Get = name, opts
	return d.do(ctx, req)
}

func (d direct[T]) Patch(ctx context.Context, name string, pt types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error) {
	if !d.client.alone() {
		return d.fake.Patch(ctx, name, pt, data, opts, subresources...)
	}
	req := d.request("patch", path.Join(subresources...))
	req.Name, req.PatchType, req.Patch, req.Write = name, pt, data, opts
	return d.do(ctx, req)
}

func (d direct[T]) update(ctx context.Context, sub string, obj runtime.Object, opts metav1.UpdateOptions) (T, error) {
	req := d.request("update", sub)
	req.Object = obj
	req.Write = metav1.PatchOptions{DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation}
	return d.do(ctx, req)
}

func (d direct[T]) request(verb, sub string) api.Request {
	return api.Request{Actor: d.client.name, Verb: verb, Resource: d.gvr, Subresource: sub, Namespace: d.namespace}
}

// do has the server answer. Like a real client it returns an object, never
// nil, next to an error.
func (d direct[T]) do(ctx context.Context, req api.Request) (T, error) {
	obj, err := d.client.do(ctx, req)
	if err != nil {
		return reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T), err
	}
	return obj.(T), nil
}

// part is what the server reads of obj. A nil object has none; the server refuses it.
func part[T object](obj T, of func(object) object) runtime.Object {
	if any(obj) == any(*new(T)) {
		return nil
	}
	return of(obj)
}

// withoutStatus is a copy of all that an update of the object reads.
func withoutStatus(obj object) object {
	switch o := obj.(type) {
	case *v1.PersistentVolume:
		copied := *o
		copied.Status = v1.PersistentVolumeStatus{}
		return copied.DeepCopy()
	case *v1.PersistentVolumeClaim:
		copied := *o
		copied.Status = v1.PersistentVolumeClaimStatus{}
		return copied.DeepCopy()
	case *v1.Pod:
		copied := *o
		copied.Status = v1.PodStatus{}
		return copied.DeepCopy()
	}
	return obj.DeepCopyObject().(object)
}

// withoutSpec is a copy of all that a status update reads.
func withoutSpec(obj object) object {
	switch o := obj.(type) {
	case *v1.PersistentVolume:
		copied := *o
		copied.Spec = v1.PersistentVolumeSpec{}
		return copied.DeepCopy()
	case *v1.PersistentVolumeClaim:
		copied := *o
		copied.Spec = v1.PersistentVolumeClaimSpec{}
		return copied.DeepCopy()
	case *v1.Pod:
		copied := *o
		copied.Spec = v1.PodSpec{}
		return copied.DeepCopy()
	}
	return obj.DeepCopyObject().(object)
}
