package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	upstream "k8s.io/component-helpers/storage/volume"

	"github.com/storagesim/storagesim/binding"
)

// linear is FindPodVolumes written down as upstream has it: for every node from the
// beginning, each claim against all volumes of its class, with upstream's own
// FindMatchingVolume. Tests and benchmarks compare the index with it.
type linear struct{ *volumeBinder }

// findPodVolumes gives the reasons against the node in upstream's order, else what
// the claims get: "claim=volume" and "claim=new" in the order they are chosen.
// Upstream: binder.go FindPodVolumes, v1.37.
func (b linear) findPodVolumes(pod *v1.Pod, node *v1.Node) (reasons, gets []string, err error) {
	bound, delayed, volumes := b.claims(pod)
	return b.onNode(node, bound, delayed, volumes)
}

// claims returns what upstream finds out once for all nodes.
// Upstream: binder.go GetPodVolumeClaims, v1.37.
func (b linear) claims(pod *v1.Pod) (bound, delayed []*v1.PersistentVolumeClaim, volumes map[string][]*v1.PersistentVolume) {
	volumes = map[string][]*v1.PersistentVolume{}
	for _, pc := range claimVolumes(pod) {
		claim, _ := b.pvcs.Get(pod.Namespace + "/" + pc.name)
		if isPVCFullyBound(claim) {
			bound = append(bound, claim)
			continue
		}
		delayed = append(delayed, claim)
		class := binding.GetPersistentVolumeClaimClass(claim)
		volumes[class] = b.pvs.ByIndex(byClass, class)
	}
	return bound, delayed, volumes
}

func (b linear) onNode(node *v1.Node, bound, delayed []*v1.PersistentVolumeClaim, volumes map[string][]*v1.PersistentVolume) (reasons,
	gets []string, err error) {
	has := map[ConflictReason]bool{}
	if reason := b.checkBound(bound, node); reason != "" {
		has[reason] = true
	}
	toProvision, toMatch := []*v1.PersistentVolumeClaim(nil), []*v1.PersistentVolumeClaim(nil)
	for _, claim := range delayed {
		selected, ok := claim.Annotations[binding.AnnSelectedNode]
		if !ok {
			toMatch = append(toMatch, claim)
			continue
		}
		if selected != node.Name {
			has[ErrReasonBindConflict] = true
			return inOrder(has), nil, nil
		}
		toProvision = append(toProvision, claim)
	}
	slices.SortStableFunc(toMatch, func(a, b *v1.PersistentVolumeClaim) int {
		x := a.Spec.Resources.Requests[v1.ResourceStorage]
		return x.Cmp(b.Spec.Resources.Requests[v1.ResourceStorage])
	})
	chosen := map[string]*v1.PersistentVolume{}
	for _, claim := range toMatch {
		pv, err := upstream.FindMatchingVolume(claim, volumes[binding.GetPersistentVolumeClaimClass(claim)], node, chosen, true, true)
		if err != nil {
			return nil, nil, err
		}
		if pv == nil {
			toProvision = append(toProvision, claim)
			continue
		}
		chosen[pv.Name] = pv
		gets = append(gets, claim.Name+"="+pv.Name)
	}
	for _, claim := range toProvision {
		gets = append(gets, claim.Name+"=new")
	}
	if reason := b.checkProvisions(toProvision, node); reason != "" {
		has[reason] = true
	}
	return inOrder(has), gets, nil
}

func (b linear) checkBound(claims []*v1.PersistentVolumeClaim, node *v1.Node) ConflictReason {
	for _, claim := range claims {
		pv, ok := b.pvs.Get(claim.Spec.VolumeName)
		if !ok {
			return ErrReasonPVNotExist
		}
		if upstream.CheckNodeAffinity(pv, node.Labels) != nil {
			return ErrReasonNodeConflict
		}
	}
	return ""
}

func (b linear) checkProvisions(claims []*v1.PersistentVolumeClaim, node *v1.Node) ConflictReason {
	for _, claim := range claims {
		class, _ := b.classes.Get(binding.GetPersistentVolumeClaimClass(claim))
		if class.Provisioner == binding.NotSupportedProvisioner || !matchTopologySelectorTerms(class.AllowedTopologies, node.Labels) {
			return ErrReasonBindConflict
		}
		if _, limited := b.drivers.Get(class.Provisioner); limited && !b.room(claim, class.Name, node) {
			return ErrReasonNotEnoughSpace
		}
	}
	return ""
}

func (b linear) room(claim *v1.PersistentVolumeClaim, class string, node *v1.Node) bool {
	for _, capacity := range b.capacities.List() {
		selector, err := metav1.LabelSelectorAsSelector(capacity.NodeTopology)
		if err == nil && capacity.StorageClassName == class && selector.Matches(labels.Set(node.Labels)) &&
			capacity.Capacity.Cmp(claim.Spec.Resources.Requests[v1.ResourceStorage]) >= 0 {
			return true
		}
	}
	return false
}

func inOrder(has map[ConflictReason]bool) (list []string) {
	for _, reason := range []ConflictReason{ErrReasonNodeConflict, ErrReasonBindConflict, ErrReasonNotEnoughSpace, ErrReasonPVNotExist} {
		if has[reason] {
			list = append(list, string(reason))
		}
	}
	return list
}

// indexed returns the same from FindPodVolumes.
func indexed(b *volumeBinder, claims *podVolumeClaims, node *v1.Node) (reasons, gets []string, err error) {
	found, conflicts, err := b.FindPodVolumes(claims, node)
	if err != nil || found == nil {
		return conflicts.Reasons(), nil, err
	}
	for _, bound := range found.StaticBindings {
		gets = append(gets, bound.pvc.Name+"="+bound.pv.Name)
	}
	for _, claim := range found.DynamicProvisions {
		gets = append(gets, claim.Name+"=new")
	}
	return conflicts.Reasons(), gets, nil
}

// message returns the event of a pod that no node takes, for the reasons that the linear
// rule gives.
func (b linear) message(t *testing.T, pod *v1.Pod, nodes []*v1.Node) string {
	t.Helper()
	counts := map[string]int{}
	for _, node := range nodes {
		reasons, _, err := b.findPodVolumes(pod, node)
		require.NoError(t, err)
		for _, reason := range reasons {
			counts[reason]++
		}
	}
	var lines []string
	for reason, n := range counts {
		lines = append(lines, fmt.Sprintf("%d %s", n, reason))
	}
	slices.Sort(lines)
	return fmt.Sprintf("0/%d nodes are available: %s.", len(nodes), strings.Join(lines, ", "))
}
