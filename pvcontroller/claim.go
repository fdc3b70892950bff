package pvcontroller

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// syncClaim brings one claim forward. Whether it has been bound before is all that
// counts: a bound claim that lost its volume is not bound to another.
// Upstream: pv_controller.go syncClaim, v1.37.
func (c *controller) syncClaim(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	claim, err := c.updateClaimMigrationAnnotations(ctx, claim)
	if err != nil {
		return err
	}
	if _, bound := claim.Annotations[binding.AnnBindCompleted]; bound {
		return c.syncBoundClaim(ctx, claim)
	}
	return c.syncUnboundClaim(ctx, claim)
}

// syncUnboundClaim looks for a claim's volume: any that will do, or the one it names.
// Upstream: pv_controller.go syncUnboundClaim, v1.37.
func (c *controller) syncUnboundClaim(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	if claim.Spec.VolumeName != "" {
		return c.syncNamedVolume(ctx, claim)
	}
	delayBinding, err := binding.IsDelayBindingMode(claim, c.classes.Get)
	if err != nil {
		return err
	}
	volume, err := c.volumes.FindBestMatchForClaim(claim, delayBinding, c.env.Choose)
	if err != nil {
		return fmt.Errorf("error finding PV for claim %q: %w", control.Key(claim), err)
	}
	if volume != nil {
		c.env.Trace(c.choice(claim, volume, delayBinding))
		return c.bind(ctx, volume, claim)
	}
	return c.syncUnmatchedClaim(ctx, claim, delayBinding)
}

// choice returns the record that says why the volume was taken.
func (c *controller) choice(claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume, delayBinding bool) trace.Record {
	reason := "the smallest that fits"
	if volume.Spec.ClaimRef != nil {
		reason = "reserved for it"
	}
	return trace.Decision{
		About: trace.RefOf("PersistentVolumeClaim", claim), Text: fmt.Sprintf("takes pv %s, %s", volume.Name, reason),
		Weigh: func() *trace.Choice { return c.weigh(claim, volume, reason, delayBinding) },
	}
}

// weigh says of each volume why it was taken or passed over.
func (c *controller) weigh(claim *v1.PersistentVolumeClaim, taken *v1.PersistentVolume, rule string, delayBinding bool) *trace.Choice {
	verdicts, err := binding.Explain(claim, c.volumes.All(), nil, nil, delayBinding)
	if err != nil {
		return nil // then no volume was found
	}
	choice := &trace.Choice{
		Rule: rule, Chosen: taken.Name, Function: "findBestMatchForClaim", File: "pkg/controller/volume/persistentvolume/index.go",
		Candidates: make([]trace.Candidate, len(verdicts)),
	}
	for i, v := range verdicts {
		choice.Candidates[i] = trace.Candidate{Name: v.Volume, OK: v.Chosen || v.Filter == binding.Outranked, Reason: v.Reason}
		if !v.Chosen {
			choice.Candidates[i].Filter = v.Filter.String()
		}
	}
	choice.Cut()
	return choice
}

// syncUnmatchedClaim treats a claim for which there is no volume: it assigns the default
// class, waits for the first consumer, asks for a volume to be provisioned, or only records
// an event. While a volume is provisioned the claim's phase stays as it is.
// Upstream: the branch volume == nil of pv_controller.go syncUnboundClaim, v1.37.
func (c *controller) syncUnmatchedClaim(ctx context.Context, claim *v1.PersistentVolumeClaim, delayBinding bool) error {
	assigned, err := c.assignDefaultStorageClass(ctx, claim)
	if err != nil {
		return fmt.Errorf("can't update PersistentVolumeClaim[%q]: %w", control.Key(claim), err)
	}
	if assigned { // the update brings the claim here again
		return nil
	}
	switch {
	case delayBinding && !binding.IsDelayBindingProvisioning(claim):
		c.emitEventForUnboundDelayBindingClaim(claim)
	case binding.GetPersistentVolumeClaimClass(claim) != "":
		return c.provisionClaim(ctx, claim)
	default:
		c.recorder.Event(claim, v1.EventTypeNormal, failedBinding, "no persistent volumes available for this claim and no storage class is set")
	}
	_, err = c.updateClaimStatus(ctx, claim, v1.ClaimPending, nil)
	return err
}

// syncNamedVolume tries to bind a claim to the volume that it names.
// Upstream: the branch claim.Spec.VolumeName != "" of pv_controller.go
// syncUnboundClaim, v1.37.
func (c *controller) syncNamedVolume(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	volume, found := c.volumes.Get(claim.Spec.VolumeName)
	switch {
	case !found: // it may come yet
	case volume.Spec.ClaimRef == nil:
		mismatch := binding.CheckVolumeSatisfyClaim(volume, claim)
		if mismatch == nil {
			return c.bind(ctx, volume, claim)
		}
		c.recorder.Eventf(claim, v1.EventTypeWarning, volumeMismatch, "Cannot bind to requested volume %q: %s", volume.Name, mismatch)
	case binding.IsVolumeBoundToClaim(volume, claim):
		return c.bind(ctx, volume, claim) // both name each other: no check whether it fits
	default:
		c.recorder.Eventf(claim, v1.EventTypeWarning, failedBinding, "volume %q already bound to a different claim.", volume.Name)
		if _, ours := claim.Annotations[binding.AnnBoundByController]; ours {
			// The user would have had to remove bind-completed from a bound claim.
			return fmt.Errorf("invalid binding of claim %q to volume %q: volume already claimed by %q", control.Key(claim), volume.Name,
				claimRefKey(volume.Spec.ClaimRef))
		}
	}
	_, err := c.updateClaimStatus(ctx, claim, v1.ClaimPending, nil)
	return err
}

// syncBoundClaim checks that a bound claim still has its volume.
// Upstream: pv_controller.go syncBoundClaim, v1.37.
func (c *controller) syncBoundClaim(ctx context.Context, claim *v1.PersistentVolumeClaim) error {
	if claim.Spec.VolumeName == "" {
		return c.loseClaim(ctx, claim, claimLost, "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!")
	}
	volume, found := c.volumes.Get(claim.Spec.VolumeName)
	switch {
	case !found:
		return c.loseClaim(ctx, claim, claimLost, "Bound claim has lost its PersistentVolume. Data on the volume is lost!")
	case volume.Spec.ClaimRef == nil, volume.Spec.ClaimRef.UID == claim.UID:
		// Usually everything is as it should be, and bind writes nothing. It also brings a
		// Lost claim back.
		return c.bind(ctx, volume, claim)
	}
	return c.loseClaim(ctx, claim, claimMisbound, "Two claims are bound to the same volume, this one is bound incorrectly")
}

// loseClaim makes the claim Lost and says why, once.
// Upstream: pv_controller.go updateClaimStatusWithEvent, v1.37.
func (c *controller) loseClaim(ctx context.Context, claim *v1.PersistentVolumeClaim, reason, message string) error {
	if claim.Status.Phase == v1.ClaimLost {
		return nil
	}
	lost, err := c.updateClaimStatus(ctx, claim, v1.ClaimLost, nil)
	if err != nil {
		return err
	}
	c.recorder.Event(lost, v1.EventTypeWarning, reason, message)
	return nil
}

// emitEventForUnboundDelayBindingClaim says whom a claim waits for.
// Upstream: pv_controller.go emitEventForUnboundDelayBindingClaim, v1.37.
func (c *controller) emitEventForUnboundDelayBindingClaim(claim *v1.PersistentVolumeClaim) {
	switch pods := c.findNonScheduledPodsByPVC(claim); len(pods) {
	case 0:
		c.recorder.Event(claim, v1.EventTypeNormal, waitForFirstConsumer, "waiting for first consumer to be created before binding")
	case 1:
		c.recorder.Eventf(claim, v1.EventTypeNormal, waitForPodScheduled, "waiting for pod %s to be scheduled", pods[0])
	default:
		c.recorder.Eventf(claim, v1.EventTypeNormal, waitForPodScheduled, "waiting for pods %s to be scheduled", strings.Join(pods, ","))
	}
}

// findNonScheduledPodsByPVC returns the names of the claim's pods that have neither ended
// nor been scheduled.
// Upstream: pv_controller.go findNonScheduledPodsByPVC, v1.37.
func (c *controller) findNonScheduledPodsByPVC(claim *v1.PersistentVolumeClaim) []string {
	var names []string
	for _, pod := range c.pods.ByIndex(podsByClaim, control.Key(claim)) {
		if !binding.IsPodTerminated(pod) && pod.Spec.NodeName == "" {
			names = append(names, pod.Name)
		}
	}
	return names
}
