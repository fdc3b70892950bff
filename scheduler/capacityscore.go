package scheduler

import (
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/trace"
)

// classResource holds the bytes that a pod asks of one class on a node, and those that are there.
// Upstream: volumebinding StorageResource, v1.37.
type classResource struct {
	class               string
	requested, capacity int64
}

// volumeScore holds how many points volumeBinding gives a node in one cycle.
type volumeScore struct {
	cycle uint64
	score int64
}

// score keeps the node's score while what Filter found there is known. Upstream keeps what was found,
// and scores it later: nothing changes in between.
func (s *volumeState) score(node *nodeInfo) {
	s.addUp()
	if len(s.classes) > 0 {
		s.scored++
		node.volumeScore = volumeScore{cycle: s.cycle, score: volumeCapacityScore(s.classes)}
	}
}

// addUp adds up in classes what the pod asks for: of volumes that exist, or, if it gets none of those,
// of drivers that publish their capacity.
// Upstream: volume_binding.go Score, v1.37.
func (s *volumeState) addUp() {
	s.classes = s.classes[:0]
	answer := &s.claims.answer
	for _, static := range answer.bindings {
		of := s.class(binding.GetPersistentVolumeClaimClass(static.pvc))
		of.requested += storageOf(static.pvc.Spec.Resources.Requests)
		of.capacity += storageOf(static.pv.Spec.Capacity)
	}
	if len(answer.bindings) > 0 {
		return
	}
	for _, claim := range answer.provisions {
		switch room := claim.room; {
		case room == nil:
		case room.Capacity == nil:
			s.unscored = fmt.Sprintf("CSIStorageCapacity %s has no capacity", room.Name)
		case claim.Spec.StorageClassName == nil:
			s.unscored = fmt.Sprintf("pvc %s has no spec.storageClassName", claim.Name)
		default:
			of := s.class(*claim.Spec.StorageClassName)
			of.requested += storageOf(claim.Spec.Resources.Requests)
			of.capacity = room.Capacity.Value() // which all claims of the class share
		}
	}
}

// storageOf returns an amount of storage in bytes. ResourceList.Storage would make a copy on the heap, for each node and volume.
func storageOf(list v1.ResourceList) int64 {
	amount := list[v1.ResourceStorage]
	return amount.Value()
}

// class returns the sums of a class.
func (s *volumeState) class(name string) *classResource {
	i := slices.IndexFunc(s.classes, func(of classResource) bool { return of.class == name })
	if i < 0 {
		i, s.classes = len(s.classes), append(s.classes, classResource{class: name})
	}
	return &s.classes[i]
}

// volumeCapacityScore rates a node by what the pod would leave free there: maxNodeScore if it asks for
// next to nothing, 0 if it takes all. Each class counts the same.
// Upstream: volumebinding/scorer.go buildScorerFunction with the default shape, v1.37.
func volumeCapacityScore(classes []classResource) int64 {
	var sum int64
	for _, of := range classes {
		if of.capacity > 0 && of.requested <= of.capacity {
			sum += maxNodeScore - of.requested*100/of.capacity
		}
	}
	return int64(math.Round(float64(sum) / float64(len(classes))))
}

// PreScore returns skip if no node has a score.
// Upstream: volume_binding.go PreScore, v1.37.
func (p volumeBinding) PreScore(c *cycle, _ []*nodeInfo) *status {
	if c.volumes.unscored != "" {
		p.binder.env.Trace(trace.Decision{About: trace.RefOf("Pod", c.pod), Text: c.volumes.unscored +
			", so it is not scored; kube-scheduler v1.37.2 ends here with a nil pointer"})
	}
	if c.volumes.scored == 0 {
		return refuse(skip)
	}
	return nil
}

// Score prefers the node on which volumes or free capacity exceed the request the most.
// Upstream: volume_binding.go Score, v1.37.
func (volumeBinding) Score(c *cycle, node *nodeInfo) int64 {
	if node.volumeScore.cycle != c.volumes.cycle {
		return 0
	}
	return node.volumeScore.score
}

// Weight returns upstream's default.
func (volumeBinding) Weight() int64 { return 1 }
