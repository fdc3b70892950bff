package scheduler

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// ClaimVerdict says which volume one of a pod's claims would get on a node.
type ClaimVerdict struct {
	// Claim is its key.
	Claim string
	// Text says it in words, for example "pv-1 would be bound to it". It is "" if a
	// conflict of the node says so already.
	Text string
	// Volumes are the verdicts on the volumes of the claim's class, if the claim has
	// none yet and gets none here.
	Volumes []binding.Verdict
}

// explainClaims says what the node has for each claim that is not bound yet.
func (s *scheduler) explainClaims(c *cycle, node *v1.Node) []ClaimVerdict {
	if c.volumes.claims == nil {
		return nil
	}
	p, _ := s.volumeBinding() // which has found the claims
	volumes, conflicts, _ := p.binder.FindPodVolumes(c.volumes.claims, node)
	if volumes == nil { // an error, which is said as the node's reason; or the claim belongs to another node
		return nil
	}
	var list []ClaimVerdict
	for _, bound := range volumes.StaticBindings {
		list = append(list, ClaimVerdict{Claim: control.Key(bound.pvc), Text: bound.pv.Name + " would be bound to it"})
	}
	for _, claim := range volumes.DynamicProvisions {
		list = append(list, p.provisionVerdict(claim, node, volumes, conflicts))
	}
	return list
}

func (s *scheduler) volumeBinding() (volumeBinding, bool) {
	for _, p := range s.plugins.all {
		if p, ok := p.(volumeBinding); ok {
			return p, true
		}
	}
	return volumeBinding{}, false
}

// conflicts returns a node's reasons claim by claim, if the plugin that turned it down is
// VolumeBinding.
func (s *scheduler) conflicts(c *cycle, plugin, node string) Conflicts {
	p, ok := s.volumeBinding()
	if !ok || plugin != p.Name() {
		return nil
	}
	return p.conflicts(c, node)
}

// provisionVerdict says of a claim for which no volume was found whether one
// would be made on the node, else why each volume was passed over.
func (p volumeBinding) provisionVerdict(claim *v1.PersistentVolumeClaim, node *v1.Node, volumes *PodVolumes, conflicts Conflicts) ClaimVerdict {
	verdict := ClaimVerdict{Claim: control.Key(claim)}
	className := binding.GetPersistentVolumeClaimClass(claim)
	class, _ := p.binder.classes.Get(className)
	_, selected := claim.Annotations[binding.AnnSelectedNode]
	switch {
	case conflicts.about(verdict.Claim):
		if !selected {
			verdict.Volumes = p.searched(claim, node, volumes)
		}
	case class == nil || class.Provisioner == "" || class.Provisioner == binding.NotSupportedProvisioner:
		verdict.Text = fmt.Sprintf("no volume of class %s fits", className)
		verdict.Volumes = p.searched(claim, node, volumes)
	case selected:
		verdict.Text = fmt.Sprintf("provisioner %s is to make its volume there (%s)", class.Provisioner, binding.AnnSelectedNode)
	default:
		verdict.Text = fmt.Sprintf("provisioner %s would make a volume for it there", class.Provisioner)
	}
	return verdict
}

// searched repeats the search for the claim's volume, in words. What smaller
// claims of the pod have been given is not there any more.
func (p volumeBinding) searched(claim *v1.PersistentVolumeClaim, node *v1.Node, volumes *PodVolumes) []binding.Verdict {
	request := claim.Spec.Resources.Requests[v1.ResourceStorage]
	given := map[string]*v1.PersistentVolume{}
	for _, bound := range volumes.StaticBindings {
		if size := bound.pvc.Spec.Resources.Requests[v1.ResourceStorage]; size.Cmp(request) <= 0 {
			given[bound.pv.Name] = bound.pv
		}
	}
	return p.searchedWithout(claim, node, given)
}

// searchedWithout repeats the search for a claim's volume without those that other claims of the pod are given.
func (p volumeBinding) searchedWithout(claim *v1.PersistentVolumeClaim, node *v1.Node, given map[string]*v1.PersistentVolume) []binding.Verdict {
	verdicts, err := binding.Explain(claim, p.binder.pvs.ByIndex(byClass, binding.GetPersistentVolumeClaimClass(claim)), node, given, true)
	if err != nil {
		return nil // FindPodVolumes has said so
	}
	return verdicts
}

// about reports whether one of the conflicts is about the claim.
func (c Conflicts) about(claim string) bool {
	return count(c, func(one Conflict) bool { return one.Claim == claim }) > 0
}

// refusalNotes say which claims the PV controller has not finished with, and why
// it is its business.
func (s *scheduler) refusalNotes(c *cycle) []string {
	p, ok := s.volumeBinding()
	if !ok {
		return nil
	}
	claims, err := p.binder.GetPodVolumeClaims(c.pod)
	if err != nil {
		return nil
	}
	var notes []string
	for _, claim := range claims.unboundClaimsImmediate {
		notes = addOnce(notes, fmt.Sprintf("pvc %s is not bound: %s", control.Key(claim), s.whyImmediate(claim)))
	}
	return notes
}

func (s *scheduler) whyImmediate(claim *v1.PersistentVolumeClaim) string {
	className := binding.GetPersistentVolumeClaimClass(claim)
	_, exists := s.caches.classes.Get(className)
	switch {
	case claim.Spec.VolumeName != "":
		return fmt.Sprintf("it names volume %s, and the PV controller has not finished binding the two", claim.Spec.VolumeName)
	case className == "":
		return "it has no class that waits for a pod, so the PV controller has to bind it first"
	case !exists:
		return fmt.Sprintf("its class %q does not exist, so the PV controller has to bind it before a pod is scheduled", className)
	}
	return fmt.Sprintf("its class %s does not wait for a pod, so the PV controller has to bind it first", className)
}

// forNobody says which claims are to be provisioned on a node that does not exist:
// they wait until a provisioner or a user removes the annotation.
func (s *scheduler) forNobody(c *cycle) []string {
	if c.volumes.claims == nil {
		return nil
	}
	var notes []string
	for _, claim := range c.volumes.claims.selected {
		if _, ok := s.caches.nodes.Get(claim.selectedNode); !ok {
			notes = addOnce(notes, fmt.Sprintf("there is no node %q, which the annotation %s of pvc %s names: the scheduler chooses again when that is removed",
				claim.selectedNode, binding.AnnSelectedNode, control.Key(claim)))
		}
	}
	return notes
}

// claimedTwice says which claims more than one of the pod's volumes name while
// they have no volume: the search then needs one for each.
func claimedTwice(c *cycle) []string {
	if c.volumes.claims == nil {
		return nil
	}
	var notes []string
	for i, claim := range c.volumes.claims.unboundClaimsDelayBinding {
		for _, again := range c.volumes.claims.unboundClaimsDelayBinding[:i] {
			if again == claim {
				notes = addOnce(notes, fmt.Sprintf("more than one of the pod's volumes names pvc %s, and a volume is searched for each", control.Key(claim)))
			}
		}
	}
	return notes
}
