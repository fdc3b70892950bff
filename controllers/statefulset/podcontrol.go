package statefulset

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
)

// createStatefulPod creates a replica's pod, and before it the missing claims.
// Upstream: stateful_pod_control.go CreateStatefulPod, v1.37.
func (c *controller) createStatefulPod(ctx context.Context, set *appsv1.StatefulSet, pod *v1.Pod) error {
	ordinal, _ := ordinalOf(set, pod)
	if err := c.createPersistentVolumeClaims(ctx, set, ordinal, pod); err != nil {
		c.recordPodEvent("Create", set, pod, err)
		return err
	}
	_, err := c.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) { // the cache is old, or another pod has the name
		return err
	}
	if err := c.updatePodClaimForRetentionPolicy(ctx, set, pod); err != nil {
		c.recordPodEvent("Update", set, pod, err)
		return err
	}
	c.recordPodEvent("Create", set, pod, err)
	return err
}

// updateStatefulPod restores the identity and the claims of a replica's pod, and the owners of these. It writes the pod, too, where only an
// owner has changed. What is in conflict is tried again with the pod of the cache.
// Upstream: stateful_pod_control.go UpdateStatefulPod, v1.37.
func (c *controller) updateStatefulPod(ctx context.Context, set *appsv1.StatefulSet, ordinal int64, pod *v1.Pod) error {
	pod = pod.DeepCopy()
	attempted := false
	err := c.retryOnConflict(ctx, func() error {
		consistent, err := c.restore(ctx, set, ordinal, pod)
		if err != nil {
			c.recordPodEvent("Update", set, pod, err)
		}
		if consistent || err != nil {
			return err
		}
		attempted = true
		_, err = c.client.CoreV1().Pods(pod.Namespace).Update(ctx, pod, metav1.UpdateOptions{})
		if known, found := c.pods.Get(control.Key(pod)); found && err != nil {
			pod = known.DeepCopy()
		}
		return err
	})
	if attempted {
		c.recordPodEvent("Update", set, pod, err)
	}
	return err
}

// restore restores the claims of a replica's pod and what of the pod itself is to be written. It reports whether the pod needs no write.
func (c *controller) restore(ctx context.Context, set *appsv1.StatefulSet, ordinal int64, pod *v1.Pod) (consistent bool, err error) {
	consistent = true
	if !identityMatches(pod) {
		updateIdentity(ordinal, pod)
		consistent = false
	}
	if !storageMatches(set, ordinal, pod) {
		updateStorage(set, ordinal, pod)
		consistent = false
		if err := c.createPersistentVolumeClaims(ctx, set, ordinal, pod); err != nil {
			return false, err
		}
	}
	if !c.claimsMatchRetentionPolicy(set, pod) {
		return false, c.updatePodClaimForRetentionPolicy(ctx, set, pod)
	}
	return consistent, nil
}

// retryOnConflict tries something again while it is in conflict, four times in all.
// Upstream: client-go util/retry RetryOnConflict with its DefaultBackoff, v0.37.
func (c *controller) retryOnConflict(ctx context.Context, try func() error) error {
	for pause := 10 * time.Millisecond; ; pause *= 5 {
		err := try()
		if !apierrors.IsConflict(err) || pause > 250*time.Millisecond {
			return err
		}
		if err := c.env.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// createMissingPersistentVolumeClaims creates the claims that a pending pod lacks,
// and sets the owners of the existing ones.
// Upstream: stateful_pod_control.go createMissingPersistentVolumeClaims, v1.37.
func (c *controller) createMissingPersistentVolumeClaims(ctx context.Context, set *appsv1.StatefulSet, ordinal int64, pod *v1.Pod) error {
	if err := c.createPersistentVolumeClaims(ctx, set, ordinal, pod); err != nil {
		return err
	}
	err := c.updatePodClaimForRetentionPolicy(ctx, set, pod)
	if err != nil {
		c.recordPodEvent("Update", set, pod, err)
	}
	return err
}

// createPersistentVolumeClaims creates a replica's missing claims. It uses an existing claim as it is, and waits for
// the end of one that is being deleted.
// Upstream: stateful_pod_control.go createPersistentVolumeClaims, v1.37.
func (c *controller) createPersistentVolumeClaims(ctx context.Context, set *appsv1.StatefulSet, ordinal int64, pod *v1.Pod) error {
	var errs []error
	for _, claim := range persistentVolumeClaims(set, ordinal) {
		known, found := c.claims.Get(control.Key(claim))
		if found {
			if known.DeletionTimestamp != nil {
				errs = append(errs, fmt.Errorf("pvc %s is being deleted", claim.Name))
			}
			continue
		}
		if c.cfg.OwnAtOnce {
			updateClaimOwnerRefForSetAndPod(claim, set, pod)
		}
		_, err := c.client.CoreV1().PersistentVolumeClaims(claim.Namespace).Create(ctx, claim, metav1.CreateOptions{})
		if err != nil {
			errs = append(errs, fmt.Errorf("failed to create PVC %s: %w", claim.Name, err))
		}
		if !apierrors.IsAlreadyExists(err) {
			c.recordClaimEvent("Create", set, pod, claim, err)
		}
	}
	return errors.Join(errs...)
}

// deleteStatefulPod deletes a pod, with its grace period. A pod that is gone is no error.
// Upstream: stateful_pod_control.go DeleteStatefulPod, v1.37.
func (c *controller) deleteStatefulPod(ctx context.Context, set *appsv1.StatefulSet, pod *v1.Pod) error {
	err := c.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		err = nil
	}
	c.recordPodEvent("Delete", set, pod, err)
	return err
}

// recordPodEvent emits an event for the set about a pod that was, or could not be, changed.
// Upstream: stateful_pod_control.go recordPodEvent, v1.37.
func (c *controller) recordPodEvent(verb string, set *appsv1.StatefulSet, pod *v1.Pod, err error) {
	if err != nil {
		c.recorder.Eventf(set, v1.EventTypeWarning, "Failed"+verb, "%s Pod %s in StatefulSet %s failed error: %v", verb, pod.Name, set.Name, err)
		return
	}
	c.recorder.Eventf(set, v1.EventTypeNormal, "Successful"+verb, "%s Pod %s in StatefulSet %s successful", verb, pod.Name, set.Name)
}

// recordClaimEvent emits an event for the set about a claim that was, or could not be, changed.
// Upstream: stateful_pod_control.go recordClaimEvent, v1.37.
func (c *controller) recordClaimEvent(verb string, set *appsv1.StatefulSet, pod *v1.Pod, claim *v1.PersistentVolumeClaim, err error) {
	if err != nil {
		c.recorder.Eventf(set, v1.EventTypeWarning, "Failed"+verb, "%s Claim %s for Pod %s in StatefulSet %s failed error: %v", verb, claim.Name,
			pod.Name, set.Name, err)
		return
	}
	c.recorder.Eventf(set, v1.EventTypeNormal, "Successful"+verb, "%s Claim %s Pod %s in StatefulSet %s success", verb, claim.Name, pod.Name, set.Name)
}
