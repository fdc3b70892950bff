package volumemanager

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/volume"
)

// fetchedObject is the API server's answer to a read.
type fetchedObject struct {
	object runtime.Object
	err    error
}

// fetchObjects reads the ConfigMaps and Secrets that a volume is made of, so that its SetUp
// needs no API call.
//
// Upstream: pkg/kubelet/configmap NewSimpleConfigMapManager and its like for
// Secrets, v1.37. The error for a missing object is that of the managers that watch, which
// are the default: watch_based_manager.go Get.
func (g *given) fetchObjects(ctx context.Context, v *volumeToMount) map[volume.ObjectRef]fetchedObject {
	plugin, ok := v.plugin.(volume.ObjectsPlugin)
	if !ok {
		return nil
	}
	objects := map[volume.ObjectRef]fetchedObject{}
	core, namespace := g.env.Client().CoreV1(), v.about.Namespace
	for _, ref := range plugin.Objects(v.spec) {
		var got fetchedObject
		switch _, done := objects[ref]; {
		case done:
			continue
		case !g.pods.IsRegistered(v.about.UID):
			got.err = fmt.Errorf("object %q/%q not registered", namespace, ref.Name)
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

// notFound returns err. For a missing object it returns the kubelet's own error, which names the
// kind in the singular.
//
// Upstream: configmap_manager.go NewWatchingConfigMapManager and its like for Secrets,
// v1.37.
func notFound(err error, kind, name string) error {
	if apierrors.IsNotFound(err) {
		return apierrors.NewNotFound(v1.Resource(kind), name)
	}
	return err
}
