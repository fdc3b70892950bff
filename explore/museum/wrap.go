package museum

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	storagev1client "k8s.io/client-go/kubernetes/typed/storage/v1"

	"github.com/storagesim/storagesim/control"
)

// wrap returns a storagesim.Config.Wrap that changes the Env of one actor.
func wrap(actor string, change func(*env)) func(string, control.Factory) control.Factory {
	return func(name string, f control.Factory) control.Factory {
		if name != actor {
			return f
		}
		return func(inner control.Env) error {
			e := &env{FullEnv: inner.(control.FullEnv)}
			change(e)
			return f(e)
		}
	}
}

// env is an Env that does some calls in another way than the engine's. A nil field changes nothing.
type env struct {
	control.FullEnv
	pods        func(corev1client.PodInterface) corev1client.PodInterface
	claims      func(corev1client.PersistentVolumeClaimInterface) corev1client.PersistentVolumeClaimInterface
	volumes     func(corev1client.PersistentVolumeInterface) corev1client.PersistentVolumeInterface
	attachments func(storagev1client.VolumeAttachmentInterface) storagev1client.VolumeAttachmentInterface
	// show returns what the actor's caches hold of an object, nil to hide it.
	show func(control.Object) control.Object
	// silent is the reason of the events that are not recorded.
	silent string
}

func (e *env) Client() kubernetes.Interface { return client{e.FullEnv.Client(), e} }

type client struct {
	kubernetes.Interface
	env *env
}

func (c client) CoreV1() corev1client.CoreV1Interface { return core{c.Interface.CoreV1(), c.env} }

func (c client) StorageV1() storagev1client.StorageV1Interface {
	return storage{c.Interface.StorageV1(), c.env}
}

type core struct {
	corev1client.CoreV1Interface
	env *env
}

func (c core) Pods(namespace string) corev1client.PodInterface {
	return changed(c.env.pods, c.CoreV1Interface.Pods(namespace))
}

func (c core) PersistentVolumeClaims(namespace string) corev1client.PersistentVolumeClaimInterface {
	return changed(c.env.claims, c.CoreV1Interface.PersistentVolumeClaims(namespace))
}

func (c core) PersistentVolumes() corev1client.PersistentVolumeInterface {
	return changed(c.env.volumes, c.CoreV1Interface.PersistentVolumes())
}

type storage struct {
	storagev1client.StorageV1Interface
	env *env
}

func (s storage) VolumeAttachments() storagev1client.VolumeAttachmentInterface {
	return changed(s.env.attachments, s.StorageV1Interface.VolumeAttachments())
}

func changed[T any](change func(T) T, client T) T {
	if change == nil {
		return client
	}
	return change(client)
}

func (e *env) Recorder(component string) control.Recorder {
	return recorder{e.FullEnv.Recorder(component), e.silent}
}

type recorder struct {
	control.Recorder
	silent string
}

func (r recorder) Eventf(obj runtime.Object, eventtype, reason, format string, args ...any) {
	if reason != r.silent {
		r.Recorder.Eventf(obj, eventtype, reason, format, args...)
	}
}

func (e *env) Follow(f control.Feed) {
	if e.show != nil {
		f = feed{f, e.show}
	}
	e.FullEnv.Follow(f)
}

// feed fills a cache with what show returns. Caches do not look at the old state in a Change.
type feed struct {
	control.Feed
	show func(control.Object) control.Object
}

func (f feed) Replace(items []control.Item) {
	var shown []control.Item
	for _, item := range items {
		if obj := f.show(item.Object.(control.Object)); obj != nil {
			shown = append(shown, control.Item{Key: item.Key, Object: obj})
		}
	}
	f.Feed.Replace(shown)
}

func (f feed) Deliver(change control.Change) {
	if obj := f.show(change.Object.(control.Object)); obj != nil {
		change.Object = obj
		f.Feed.Deliver(change)
	}
}
