package ephemeral

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

const (
	// ActorName is the name of this controller in upstream's controller manager.
	ActorName = "ephemeral-volume-controller"
	// Component is the source of its events.
	Component = "ephemeral_volume"
)

// failedBinding is the reason of the event on a pod whose claim cannot be made.
// Upstream: pkg/controller/volume/events/event.go, v1.37.
const failedBinding = "FailedBinding"

// podsByClaim is an index of pods by the keys of the claims they use.
const podsByClaim = "claim"

// New makes the controller.
// Upstream: pkg/controller/volume/ephemeral/controller.go NewController, v1.37.
func New() control.Factory {
	return func(env control.Env) error {
		c := &controller{
			client: env.Client(), recorder: env.Recorder(Component),
			pods:   control.NewCache[*v1.Pod](env, control.Pods()),
			claims: control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims()),
		}
		c.pods.AddIndex(podsByClaim, binding.ClaimKeysOfPod)
		c.queue = env.Queue(control.QueueConfig{Name: "pods", About: control.KeysOf("Pod"), Reconcile: c.syncHandler})
		// A pod's volumes never change, so updates bring nothing new; and nothing is done
		// for a pod that goes.
		c.pods.Handle(control.Handler[*v1.Pod]{Add: c.enqueuePod})
		c.claims.Handle(control.Handler[*v1.PersistentVolumeClaim]{Delete: c.onPVCDelete})
		return nil
	}
}

type controller struct {
	client   kubernetes.Interface
	recorder control.Recorder
	pods     *control.Cache[*v1.Pod]
	claims   *control.Cache[*v1.PersistentVolumeClaim]
	queue    control.Queue
}

// enqueuePod adds a pod that has ephemeral volumes and is not on its way out.
// Upstream: ephemeral/controller.go enqueuePod, v1.37.
func (c *controller) enqueuePod(pod *v1.Pod) {
	isEphemeral := func(volume v1.Volume) bool { return volume.Ephemeral != nil }
	if pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Spec.Volumes, isEphemeral) {
		c.queue.Add(control.Key(pod))
	}
}

// onPVCDelete has a claim made again that was deleted while its pod exists, or whose name
// was in the way.
// Upstream: ephemeral/controller.go onPVCDelete, v1.37.
func (c *controller) onPVCDelete(claim *v1.PersistentVolumeClaim) {
	for _, pod := range c.pods.ByIndex(podsByClaim, control.Key(claim)) {
		c.enqueuePod(pod)
	}
}

// syncHandler makes the claims that a pod lacks.
// Upstream: ephemeral/controller.go syncHandler, v1.37.
func (c *controller) syncHandler(ctx context.Context, key string) error {
	pod, found := c.pods.Get(key)
	if !found || pod.DeletionTimestamp != nil {
		return nil
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.Ephemeral == nil {
			continue
		}
		if err := c.handleVolume(ctx, pod, volume); err != nil {
			c.recorder.Eventf(pod, v1.EventTypeWarning, failedBinding, "ephemeral volume %s: %v", volume.Name, err)
			return fmt.Errorf("pod %s, ephemeral volume %s: %w", key, volume.Name, err)
		}
	}
	return nil
}

// handleVolume makes one volume's claim unless it is there.
// Upstream: ephemeral/controller.go handleVolume, v1.37.
func (c *controller) handleVolume(ctx context.Context, pod *v1.Pod, volume *v1.Volume) error {
	claim, found := c.claims.Get(pod.Namespace + "/" + binding.ClaimOfVolume(pod, volume))
	if found {
		return volumeIsForPod(pod, claim)
	}
	claim = claimFor(pod, volume)
	if _, err := c.client.CoreV1().PersistentVolumeClaims(pod.Namespace).Create(ctx, claim, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create PVC %s: %w", claim.Name, err)
	}
	return nil
}

// claimFor returns the claim of a pod's ephemeral volume: what its template says, owned by
// the pod.
func claimFor(pod *v1.Pod, volume *v1.Volume) *v1.PersistentVolumeClaim {
	template := volume.Ephemeral.VolumeClaimTemplate.DeepCopy()
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:            binding.ClaimOfVolume(pod, volume),
			Namespace:       pod.Namespace,
			Labels:          template.Labels,
			Annotations:     template.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, v1.SchemeGroupVersion.WithKind("Pod"))},
		},
		Spec: template.Spec,
	}
}

// volumeIsForPod returns an error if the claim is not the pod's own.
// Upstream: component-helpers storage/ephemeral VolumeIsForPod, v1.37.
func volumeIsForPod(pod *v1.Pod, claim *v1.PersistentVolumeClaim) error {
	if claim.Namespace != pod.Namespace || !metav1.IsControlledBy(claim, pod) {
		return fmt.Errorf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", claim.Namespace, claim.Name, pod.Namespace, pod.Name)
	}
	return nil
}
