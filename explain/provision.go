package explain

import (
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// provisioner says what the provisioner of a claim's class is to do, and when.
func (x *explainer) provisioner(claim *v1.PersistentVolumeClaim, name string, delayed bool) {
	node, which := claim.Annotations[binding.AnnSelectedNode], slices.IndexFunc(x.Provisioners, func(cfg provisioner.Config) bool { return cfg.AnswersTo(name) })
	runs := which >= 0
	if waits := x.Waits[name]; waits != nil {
		if why := waits(x.Log); why != "" {
			x.say("  provisioner %s makes no volume for it: %s", name, why)
			return
		}
	}
	if runs {
		if why := provisioner.Explain(x.Provisioners[which], claim, x.Log); why != "" {
			x.say("  provisioner %s makes no volume for it: %s", name, why)
			return
		}
	}
	if !runs && !slices.Contains(x.found.Provisioners, name) {
		x.found.Provisioners = append(x.found.Provisioners, name)
	}
	switch {
	case delayed && node == "" && runs:
		x.say("  provisioner %s will make a volume when a pod that uses the claim is given a node", name)
	case delayed && node == "":
		x.say("  provisioner %s should make a volume when a pod that uses the claim is given a node, but no such provisioner runs here", name)
	case !runs:
		x.say("  provisioner %s should make a volume, but no such provisioner runs here", name)
	case node != "":
		x.say("  provisioner %s should make a volume on node %s", name, node)
	default:
		x.say("  provisioner %s should make a volume", name)
	}
}

// provisioning explains what became of a claim at its provisioner: a panic, the helper
// pods, and a volume that the claim cannot take.
func (x *explainer) provisioning(claim *v1.PersistentVolumeClaim, name string, volumes []v1.PersistentVolume) {
	x.panicked(claim, name)
	x.helperPods(claim.UID)
	for i := range volumes {
		x.returned(claim, &volumes[i])
	}
}

// panicked says where the provisioner's code panicked last, if that was for this claim
// or if its process is still down.
func (x *explainer) panicked(about control.Object, name string) {
	if i := slices.IndexFunc(x.Provisioners, func(cfg provisioner.Config) bool { return cfg.AnswersTo(name) }); i >= 0 {
		name = x.Provisioners[i].ActorName()
	}
	restart, down := x.Down[name]
	for _, entry := range slices.Backward(x.Log.Entries()) {
		p, ok := entry.Record.(trace.Panicked)
		if !ok || entry.Actor != name {
			continue
		}
		if down || p.About.Namespace == about.GetNamespace() && p.About.Name == about.GetName() {
			x.say("  provisioner %s panicked at %s in %s: %s", name, x.offset(entry.Time), p.Where(), oneLine(p.Value))
		}
		break
	}
	if down {
		x.say("  the process of provisioner %s is down and starts again at %s", name, x.offset(restart))
	}
}

func (x *explainer) offset(at time.Time) string { return trace.Offset(at.Sub(x.Start)) }

// returned compares what a provisioner returned for a claim with what the claim asks
// for, if the claim cannot be bound to it.
func (x *explainer) returned(claim *v1.PersistentVolumeClaim, volume *v1.PersistentVolume) {
	by, ref := volume.Annotations[binding.AnnDynamicallyProvisioned], volume.Spec.ClaimRef
	if by == "" || ref == nil || ref.UID != claim.UID {
		return
	}
	mismatch, ok := errors.AsType[*binding.MismatchError](binding.CheckVolumeSatisfyClaim(volume, claim))
	if !ok || mismatch.Wants == "" {
		return
	}
	x.say("  provisioner %s returned pv %s with capacity %s and access modes %v; the claim asks for %s and %v (%s is %q, it should be %q)", by, volume.Name,
		volume.Spec.Capacity.Storage(), volume.Spec.AccessModes, claim.Spec.Resources.Requests.Storage(), claim.Spec.AccessModes, mismatch.Field, mismatch.Has, mismatch.Wants)
}
