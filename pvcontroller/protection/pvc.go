package protection

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// PVCActorName is the name of the controller of claims in upstream's controller manager.
const PVCActorName = "pvc-protection-controller"

// podsByClaim is an index of pods by the keys of the claims they may use.
const podsByClaim = "claim"

// NewPVC makes the controller that protects claims in use.
// Upstream: pkg/controller/volume/pvcprotection NewPVCProtectionController, v1.36.
func NewPVC() control.Factory {
	return func(env control.Env) error {
		c := &pvcController{
			env:    env,
			client: env.Client(),
			claims: control.NewCache[*v1.PersistentVolumeClaim](env, control.PersistentVolumeClaims()),
			pods:   control.NewCache[*v1.Pod](env, control.Pods()),
		}
		c.pods.AddIndex(podsByClaim, binding.ClaimKeysOfPod)
		c.queue = env.Queue(control.QueueConfig{Name: "claims", About: control.KeysOf("PersistentVolumeClaim"), Reconcile: c.processPVC})
		c.claims.Handle(control.Handler[*v1.PersistentVolumeClaim]{
			Add:    func(claim *v1.PersistentVolumeClaim) { enqueue(c.queue, claim, binding.PVCProtectionFinalizer) },
			Update: func(_, claim *v1.PersistentVolumeClaim) { enqueue(c.queue, claim, binding.PVCProtectionFinalizer) },
		})
		c.pods.Handle(control.Handler[*v1.Pod]{
			Add:    func(pod *v1.Pod) { c.enqueuePVCs(pod, false) },
			Update: c.podUpdated,
			Delete: func(pod *v1.Pod) { c.enqueuePVCs(pod, true) },
		})
		return nil
	}
}

type pvcController struct {
	env    control.Env
	client kubernetes.Interface
	claims *control.Cache[*v1.PersistentVolumeClaim]
	pods   *control.Cache[*v1.Pod]
	queue  control.Queue
}

// podUpdated looks at the claims of a pod. An update may hide that a pod was deleted
// and another of its name created.
// Upstream: pvc_protection_controller.go podAddedDeletedUpdated, v1.36.
func (c *pvcController) podUpdated(old, pod *v1.Pod) {
	if old.UID != pod.UID {
		c.enqueuePVCs(old, true)
	}
	c.enqueuePVCs(pod, false)
}

// enqueuePVCs adds a pod's claims if the pod may have stopped using them.
// Upstream: pvc_protection_controller.go enqueuePVCs, v1.36.
func (c *pvcController) enqueuePVCs(pod *v1.Pod, deleted bool) {
	if !deleted && !binding.IsPodTerminated(pod) && pod.Spec.NodeName != "" {
		return
	}
	for _, key := range binding.ClaimKeysOfPod(pod) {
		c.queue.Add(key)
	}
}

// processPVC adds or removes one claim's finalizer.
// Upstream: pvc_protection_controller.go processPVC, v1.36.
func (c *pvcController) processPVC(ctx context.Context, key string) error {
	claim, found := c.claims.Get(key)
	switch {
	case !found:
		return nil
	case isDeletionCandidate(claim, binding.PVCProtectionFinalizer):
		used, err := c.isBeingUsed(ctx, claim)
		if err != nil || used {
			return err // the pod's end brings the claim here again
		}
		return c.update(ctx, claim, without(claim.Finalizers, binding.PVCProtectionFinalizer))
	case needToAddFinalizer(claim, binding.PVCProtectionFinalizer):
		return c.update(ctx, claim, with(claim.Finalizers, binding.PVCProtectionFinalizer))
	}
	return nil
}

// isBeingUsed reports whether a pod uses the claim. The cache is asked first; if it knows
// of none it may lag behind, and the API server is asked.
// Upstream: pvc_protection_controller.go isBeingUsed and askInformer, v1.36.
func (c *pvcController) isBeingUsed(ctx context.Context, claim *v1.PersistentVolumeClaim) (bool, error) {
	for _, pod := range c.pods.ByIndex(podsByClaim, control.Key(claim)) {
		if podUsesPVC(pod, claim) {
			return true, nil
		}
	}
	return c.askAPIServer(ctx, claim)
}

// Upstream: pvc_protection_controller.go askAPIServer, v1.36.
func (c *pvcController) askAPIServer(ctx context.Context, claim *v1.PersistentVolumeClaim) (bool, error) {
	pods, err := c.client.CoreV1().Pods(claim.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for i := range pods.Items {
		if podUsesPVC(&pods.Items[i], claim) {
			return true, nil
		}
	}
	return false, nil
}

// podUsesPVC reports whether the pod has a node and names the claim. A pod without a node cannot
// start any more, as the scheduler refuses deleted claims. A claim of an ephemeral
// volume must be the pod's own, and counts only until the pod is shut down: in a foreground
// deletion the claim, a dependent of the pod, goes first.
// Upstream: pvc_protection_controller.go podUsesPVC, v1.36.
func podUsesPVC(pod *v1.Pod, claim *v1.PersistentVolumeClaim) bool {
	if pod.Spec.NodeName == "" {
		return false
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if binding.ClaimOfVolume(pod, volume) != claim.Name {
			continue
		}
		if volume.PersistentVolumeClaim != nil || !podIsShutDown(pod) && metav1.IsControlledBy(claim, pod) {
			return true
		}
	}
	return false
}

// podIsShutDown: the kubelet is done with the pod, or it was deleted by force; only
// finalizers still keep it.
// Upstream: pvc_protection_controller.go podIsShutDown, v1.36.
func podIsShutDown(pod *v1.Pod) bool {
	return pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
}

func (c *pvcController) update(ctx context.Context, claim *v1.PersistentVolumeClaim, finalizers []string) error {
	clone := claim.DeepCopy()
	clone.Finalizers = finalizers
	_, err := c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(ctx, clone, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}
