package protection

import (
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/readonly"
)

// PVCActorName is the name of the controller of claims in upstream's controller manager.
const PVCActorName = "pvc-protection-controller"

// podsByClaim is an index of pods by the keys of the claims they may use.
const podsByClaim = "claim"

// NewPVC makes the controller that protects claims in use and reports which are unused.
// Upstream: pkg/controller/volume/pvcprotection NewPVCProtectionController, v1.37.
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
			Add:    c.pvcAddedUpdated,
			Update: func(_, claim *v1.PersistentVolumeClaim) { c.pvcAddedUpdated(claim) },
		})
		c.pods.Handle(control.Handler[*v1.Pod]{
			Add:    c.enqueuePVCs,
			Update: c.podUpdated,
			Delete: c.enqueuePVCs,
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

// pvcAddedUpdated adds a claim that lacks the condition Unused, or has work for its finalizer.
// Upstream: pvc_protection_controller.go pvcAddedUpdated, v1.37.
func (c *pvcController) pvcAddedUpdated(claim *v1.PersistentVolumeClaim) {
	if findCondition(claim.Status.Conditions, v1.PersistentVolumeClaimUnused) == nil {
		c.queue.Add(control.Key(claim))
	}
	enqueue(c.queue, claim, binding.PVCProtectionFinalizer)
}

// podUpdated looks at the claims of a pod. An update may hide that a pod was deleted
// and another of its name created.
// Upstream: pvc_protection_controller.go podAddedDeletedUpdated, v1.37.
func (c *pvcController) podUpdated(old, pod *v1.Pod) {
	c.enqueuePVCs(pod)
	if old.UID != pod.UID {
		c.enqueuePVCs(old)
	}
}

// enqueuePVCs adds a pod's claims.
// Upstream: pvc_protection_controller.go enqueuePVCs, v1.37.
func (c *pvcController) enqueuePVCs(pod *v1.Pod) {
	for _, key := range binding.ClaimKeysOfPod(pod) {
		c.queue.Add(key)
	}
}

// processPVC writes the condition Unused of a Bound claim, and adds or removes the finalizer of any
// claim. It leaves an unbound claim's status alone, which the PV controller is about to write.
// Upstream: pvc_protection_controller.go processPVC, v1.37.
func (c *pvcController) processPVC(ctx context.Context, key string) error {
	claim, found := c.claims.Get(key)
	if !found {
		return nil
	}
	if claim.DeletionTimestamp == nil && claim.Status.Phase == v1.ClaimBound {
		used, err := c.isBeingUsedWith(ctx, claim, podUsesPVCForUnusedSince)
		if err != nil {
			return err
		}
		if err := c.updateUnusedCondition(ctx, claim, used); err != nil {
			return err
		}
	}
	switch {
	case isDeletionCandidate(claim, binding.PVCProtectionFinalizer):
		used, err := c.isBeingUsedWith(ctx, claim, podUsesPVCForDeletion)
		if err != nil || used {
			return err // the pod's end brings the claim here again
		}
		return c.update(ctx, claim, without(claim.Finalizers, binding.PVCProtectionFinalizer))
	case needToAddFinalizer(claim, binding.PVCProtectionFinalizer):
		return c.update(ctx, claim, with(claim.Finalizers, binding.PVCProtectionFinalizer))
	}
	return nil
}

// updateUnusedCondition writes the condition Unused if it is missing or wrong.
// Upstream: pvc_protection_controller.go updateUnusedCondition, v1.37.
func (c *pvcController) updateUnusedCondition(ctx context.Context, claim *v1.PersistentVolumeClaim, used bool) error {
	condition := findCondition(claim.Status.Conditions, v1.PersistentVolumeClaimUnused)
	switch {
	case used && (condition == nil || condition.Status == v1.ConditionTrue):
		return c.setUnusedCondition(ctx, claim, v1.ConditionFalse, "PodUsingPVC", "A pod is currently referencing this PVC")
	case !used && (condition == nil || condition.Status != v1.ConditionTrue):
		return c.setUnusedCondition(ctx, claim, v1.ConditionTrue, "NoPodsUsingPVC", "No pods are currently referencing this PVC")
	}
	return nil
}

// setUnusedCondition writes the condition in its place, or at the end of the list.
// Upstream: pvc_protection_controller.go setUnusedCondition, v1.37.
func (c *pvcController) setUnusedCondition(ctx context.Context, claim *v1.PersistentVolumeClaim, status v1.ConditionStatus, reason, message string) error {
	clone := claim.DeepCopy()
	condition := findCondition(clone.Status.Conditions, v1.PersistentVolumeClaimUnused)
	if condition == nil {
		clone.Status.Conditions = append(clone.Status.Conditions, v1.PersistentVolumeClaimCondition{})
		condition = &clone.Status.Conditions[len(clone.Status.Conditions)-1]
	}
	*condition = v1.PersistentVolumeClaimCondition{
		Type: v1.PersistentVolumeClaimUnused, Status: status, LastTransitionTime: metav1.NewTime(c.env.Now()), Reason: reason, Message: message,
	}
	_, err := c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(readonly.Answers(ctx), clone, metav1.UpdateOptions{})
	return err
}

// findCondition returns the condition of that type, nil if there is none.
// Upstream: pvc_protection_controller.go findCondition, v1.37.
func findCondition(conditions []v1.PersistentVolumeClaimCondition, of v1.PersistentVolumeClaimConditionType) *v1.PersistentVolumeClaimCondition {
	for i := range conditions {
		if conditions[i].Type == of {
			return &conditions[i]
		}
	}
	return nil
}

// isBeingUsedWith reports whether a pod uses the claim, as uses says. The cache is asked first; if it
// knows of none it may lag behind, and the API server is asked.
// Upstream: pvc_protection_controller.go isBeingUsedWith and askInformer, v1.37.
func (c *pvcController) isBeingUsedWith(ctx context.Context, claim *v1.PersistentVolumeClaim, uses podUsageCheckFunc) (bool, error) {
	for _, pod := range c.pods.ByIndex(podsByClaim, control.Key(claim)) {
		if uses(pod, claim) {
			return true, nil
		}
	}
	return c.askAPIServer(ctx, claim, uses)
}

// askAPIServer reports whether a pod of the server uses the claim.
// Upstream: pvc_protection_controller.go askAPIServer, v1.37.
func (c *pvcController) askAPIServer(ctx context.Context, claim *v1.PersistentVolumeClaim, uses podUsageCheckFunc) (bool, error) {
	pods, err := c.client.CoreV1().Pods(claim.Namespace).List(readonly.Answers(ctx), metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for i := range pods.Items {
		if uses(&pods.Items[i], claim) {
			return true, nil
		}
	}
	return false, nil
}

// A podUsageCheckFunc reports whether the pod uses the claim.
type podUsageCheckFunc func(*v1.Pod, *v1.PersistentVolumeClaim) bool

// podUsesPVCForUnusedSince reports whether the pod names the claim and has not ended, with a node or
// without.
// Upstream: pvc_protection_controller.go podUsesPVCForUnusedSince, v1.37.
func podUsesPVCForUnusedSince(pod *v1.Pod, claim *v1.PersistentVolumeClaim) bool {
	if binding.IsPodTerminated(pod) {
		return false
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if binding.ClaimOfVolume(pod, volume) == claim.Name && (volume.PersistentVolumeClaim != nil || metav1.IsControlledBy(claim, pod)) {
			return true
		}
	}
	return false
}

// Keeps reports whether a pod keeps a claim that is being deleted.
func Keeps(pod *v1.Pod, claim *v1.PersistentVolumeClaim) bool {
	return podUsesPVCForDeletion(pod, claim)
}

// podUsesPVCForDeletion reports whether the pod has a node and names the claim. A pod without a node cannot
// start any more, as the scheduler refuses deleted claims. A claim of an ephemeral
// volume must be the pod's own, and counts only until the pod is shut down: in a foreground
// deletion the claim, a dependent of the pod, goes first.
// Upstream: pvc_protection_controller.go podUsesPVCForDeletion, v1.37.
func podUsesPVCForDeletion(pod *v1.Pod, claim *v1.PersistentVolumeClaim) bool {
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
// Upstream: pvc_protection_controller.go podIsShutDown, v1.37.
func podIsShutDown(pod *v1.Pod) bool {
	return pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
}

func (c *pvcController) update(ctx context.Context, claim *v1.PersistentVolumeClaim, finalizers []string) error {
	clone := claim.DeepCopy()
	clone.Finalizers = finalizers
	_, err := c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Update(readonly.Answers(ctx), clone, metav1.UpdateOptions{})
	return ignoreNotFound(err)
}
