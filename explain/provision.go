package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// provisioner says what the provisioner of a claim's class is to do, and when, and blames it if it does not.
func (x *explainer) provisioner(claim *v1.PersistentVolumeClaim, name string, delayed bool) {
	node, which := claim.Annotations[binding.AnnSelectedNode], x.provisionerOf(name)
	runs := which >= 0
	if waits := x.Waits[name]; waits != nil {
		if !x.provisionerRuns(name) {
			return
		}
		if why := waits(x.Log); why != "" {
			x.ill(ActorIdle, "actor/"+name, "remove the cause that the message names", "provisioner %s makes no volume for it: %s", name, why)
			return
		}
	}
	if runs {
		if why := provisioner.Explain(x.Provisioners[which], claim, x.Log); why != "" {
			x.ill(Declined, "actor/"+x.Provisioners[which].ActorName(), "see which claims it takes", "provisioner %s makes no volume for it: %s", name, why)
			return
		}
	}
	if !runs {
		x.missingProvisioner(name)
		when := "should make a volume"
		if delayed && node == "" {
			when += " when a pod that uses the claim is given a node"
		}
		others := x.provisionerNames()
		do := "run provisioner " + name + prose.DidYouMean(name, others) + ", or use a class of one that runs"
		if len(others) > 0 {
			do += ": " + strings.Join(others, ", ")
		}
		x.ill(ActorMissing, "actor/"+name, do, "provisioner %s %s, but no such provisioner runs here", name, when)
		return
	}
	if delayed && node == "" {
		x.say("  provisioner %s will make a volume when a pod that uses the claim is given a node", name)
		x.provisionerRuns(name)
		return
	}
	where := ""
	if node != "" {
		where = " on node " + node
	}
	x.say("  provisioner %s should make a volume%s", name, where)
	if !x.provisionerRuns(name) {
		return
	}
	x.silently(func() {
		actor := "actor/" + x.Provisioners[which].ActorName()
		refused := x.refusedVolume(claim, x.Provisioners[which].ActorName())
		switch e, failed := x.provisionerWarning(claim); {
		case refused != nil && !failed:
			x.ill(ProvisioningFailed, actor, "mend what it returns", "provisioner %s made a volume, and its pv is refused: %s", name, oneLine(refused.Error()))
		case !failed:
			x.underWay(Unknown, "", "provisioner %s is to make a volume%s", name, where)
		case e.Reason == "ProvisioningBlocked":
			x.ill(ProvisioningFailed, actor, "find what its code waits for", "%s", e.Message)
		default:
			x.ill(ProvisioningFailed, actor, mend(e.Message), "provisioner %s failed: %s", name, e.Message)
		}
	})
}

// refusedVolume returns why the API server does not take the PersistentVolume of a claim, where a provisioner tries to save it again and again, as that of CSI
// drivers does: there is no event of it. nil if nothing is known.
func (x *explainer) refusedVolume(claim *v1.PersistentVolumeClaim, actor string) error {
	for _, entry := range slices.Backward(x.Log.Entries()) {
		w, ok := entry.Record.(trace.Write)
		if ok && entry.Actor == actor && w.Kind == "PersistentVolume" && w.Verb == "create" && strings.HasSuffix(w.Name, string(claim.UID)) {
			if apierrors.IsInvalid(w.Err) {
				return w.Err
			}
			return nil
		}
	}
	return nil
}

// provisioningFailed is the reason of the event in which a provisioner says why it makes no volume.
const provisioningFailed = "ProvisioningFailed"

// provisionerWarning returns the last warning of a claim's provisioner. The PV controller uses the same reason for a class that is not there,
// which has come since if there is a provisioner to explain.
func (x *explainer) provisionerWarning(claim *v1.PersistentVolumeClaim) (Event, bool) {
	for _, e := range slices.Backward(x.eventsOf("PersistentVolumeClaim", claim.UID)) {
		if e.Type == v1.EventTypeWarning && e.By != "persistentvolume-controller" && (e.Reason == provisioningFailed || e.Reason == "ProvisioningBlocked") {
			return e, true
		}
	}
	return Event{}, false
}

// provisionerNames returns the names by which classes call the provisioners that run.
func (w World) provisionerNames() (names []string) {
	for _, p := range w.Provisioners {
		names = append(append(names, p.Name), p.AdditionalNames...)
	}
	return names
}

// missingProvisioner notes that a provisioner is wanted and does not run.
func (x *explainer) missingProvisioner(name string) {
	if !slices.Contains(x.found.Provisioners, name) {
		x.found.Provisioners = append(x.found.Provisioners, name)
	}
}

// provisionerRuns blames the process of a provisioner that is down, and its driver's controller.
func (x *explainer) provisionerRuns(name string) bool {
	actor := name
	if i := x.provisionerOf(name); i >= 0 {
		actor = x.Provisioners[i].ActorName()
	}
	up := true
	for _, process := range []struct{ actor, does string }{{actor, "makes and deletes volumes"}, {"csi-driver/" + name, "is the driver's controller"}} {
		if slices.Contains(x.Actors, process.actor) { // others run as programs, or have no controller
			up = x.needs(process.actor, process.does) && up
		}
	}
	return up
}

// provisioning explains what became of a claim at its provisioner: a panic, the helper
// pods, and a volume that the claim cannot take.
func (x *explainer) provisioning(claim *v1.PersistentVolumeClaim, name string, volumes []v1.PersistentVolume) {
	x.panicked(claim, name)
	x.panicsIn(name, func(rpc trace.RPC) bool {
		called, _ := rpc.Request["name"].(string)
		return rpc.Method == "CreateVolume" && strings.HasSuffix(called, string(claim.UID))
	})
	x.helperPods(claim.UID)
	for i := range volumes {
		x.returned(claim, &volumes[i])
	}
}

// panicked says where the provisioner's code panicked last, if that was for this claim
// or if its process is still down.
func (x *explainer) panicked(about control.Object, name string) {
	if i := x.provisionerOf(name); i >= 0 {
		name = x.Provisioners[i].ActorName()
	}
	_, down := x.Down[name]
	for _, entry := range slices.Backward(x.Log.Entries()) {
		p, ok := entry.Record.(trace.Panicked)
		if !ok || entry.Actor != name {
			continue
		}
		if down || p.About.Namespace == about.GetNamespace() && p.About.Name == about.GetName() {
			x.ill(Panicked, "actor/"+name, "mend the provisioner's code there", "provisioner %s panicked at %s in %s: %s", name, x.offset(entry.Time),
				p.Where(), oneLine(p.Value))
		}
		break
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
	x.blame(Verdict{Class: Ill, Code: VolumeMismatch, Object: "pv/" + volume.Name, Field: fieldOf(mismatch), Value: mismatch.Has, Want: mismatch.Wants,
		Do: "mend the provisioner: the volume must be what the claim asks for",
		Cause: fmt.Sprintf("provisioner %s returned pv %s with capacity %s and access modes %v; the claim asks for %s and %v (%s is %q, it should be %q)",
			by, volume.Name,
			volume.Spec.Capacity.Storage(), volume.Spec.AccessModes, claim.Spec.Resources.Requests.Storage(), claim.Spec.AccessModes, mismatch.Field,
			mismatch.Has, mismatch.Wants),
	})
}
