package kubelet

import (
	"context"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/volume"
)

// syncFrequency is how often volumes made of API objects are brought up to date.
//
// Upstream: pkg/kubelet/apis/config SyncFrequency, v1.36; every pod is synced as
// often, and remounts such volumes then.
const syncFrequency = time.Minute

// fetchedObject is what the API answered.
type fetchedObject struct {
	object runtime.Object
	err    error
}

// fetchObjects reads the API objects that a volume is made of, so that its SetUp
// needs nothing more of the API.
//
// Upstream: pkg/kubelet/configmap NewSimpleConfigMapManager and its like for
// Secrets, v1.36. What is not there is told of as the managers do that watch, which
// are the default: watch_based_manager.go Get.
func (k *kubelet) fetchObjects(ctx context.Context, v *volumeToMount) map[volume.ObjectRef]fetchedObject {
	plugin, ok := v.plugin.(volume.ObjectsPlugin)
	if !ok {
		return nil
	}
	objects := map[volume.ObjectRef]fetchedObject{}
	core, namespace := k.env.Client().CoreV1(), v.about.Namespace
	for _, ref := range plugin.Objects(v.spec) {
		var got fetchedObject
		switch _, done := objects[ref]; {
		case done:
			continue
		case ref.Kind == "ConfigMap":
			got.object, got.err = core.ConfigMaps(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
			got.err = notFound(got.err, "configmap", ref.Name)
		case ref.Kind == "Secret":
			got.object, got.err = core.Secrets(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
			got.err = notFound(got.err, "secret", ref.Name)
		default:
			got.err = fmt.Errorf("volumes are not made of objects of kind %s", ref.Kind)
		}
		objects[ref] = got
	}
	return objects
}

// notFound is err, or if nothing is there the kubelet's own error, which names a kind in
// the singular.
//
// Upstream: configmap_manager.go NewWatchingConfigMapManager and its like for Secrets,
// v1.36.
func notFound(err error, kind, name string) error {
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(v1.Resource(kind), name)
	}
	return err
}

// GetObject is what was read for the volume that is being set up.
func (h volumeHost) GetObject(ref volume.ObjectRef) (runtime.Object, error) {
	if got, ok := h.k.objects[ref]; ok {
		return got.object, got.err
	}
	return nil, fmt.Errorf("%s %q was not read", ref.Kind, ref.Name)
}

func (h volumeHost) GetNodeAllocatable() v1.ResourceList { return h.k.node.Status.Allocatable }

// markRemountRequired has the pod's volumes that change with the API set up again.
//
// Upstream: actual_state_of_world.go MarkRemountRequired, v1.36.
func (k *kubelet) markRemountRequired(w *podWorker) {
	for _, v := range k.desired.ofPod(w.uid) {
		if m := k.actual.volumes.get(v.podVolume); m != nil && v.plugin.RequiresRemount(v.spec) {
			m.remount = true
			k.touch(v.podVolume)
		}
	}
}

// factsChanged says whether a pod tells its volumes anything new: not its status alone.
//
// Upstream: pkg/kubelet/config/config.go podsDifferSemantically, v1.36.
func factsChanged(old, pod *v1.Pod) bool {
	return old.Generation != pod.Generation || !maps.Equal(old.Labels, pod.Labels) || !maps.Equal(old.Annotations, pod.Annotations)
}
