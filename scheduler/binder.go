package scheduler

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
)

// ConflictReason is why a node cannot serve a pod's volumes. The texts are
// upstream's.
// Upstream: plugins/volumebinding/binder.go ConflictReason, v1.37.
type ConflictReason string

const (
	// ErrReasonBindConflict: no volume to bind, and none can be provisioned here.
	ErrReasonBindConflict ConflictReason = "node(s) didn't find available persistent volumes to bind"
	// ErrReasonNodeConflict: a bound volume cannot be reached from the node.
	ErrReasonNodeConflict ConflictReason = "node(s) didn't match PersistentVolume's node affinity"
	// ErrReasonNotEnoughSpace: the storage system has too little left here.
	ErrReasonNotEnoughSpace ConflictReason = "node(s) did not have enough free storage"
	// ErrReasonPVNotExist: a claim is bound to a volume that does not exist.
	ErrReasonPVNotExist ConflictReason = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
)

// Conflict is one claim's reason against one node.
type Conflict struct {
	Reason ConflictReason
	// Claim is the key of the claim, "namespace/name".
	Claim string
	// Detail says what exactly is wrong, in words.
	Detail string
}

// Conflicts are the reasons of all of a pod's claims against one node.
type Conflicts []Conflict

// Reasons returns the distinct reasons in upstream's order.
func (c Conflicts) Reasons() []string {
	var list []string
	for _, reason := range conflictReasons() {
		if slices.ContainsFunc(c, func(one Conflict) bool { return one.Reason == reason }) {
			list = append(list, string(reason))
		}
	}
	return list
}

// conflictReasons returns all reasons, in upstream's order.
func conflictReasons() []ConflictReason {
	return []ConflictReason{ErrReasonNodeConflict, ErrReasonBindConflict, ErrReasonNotEnoughSpace, ErrReasonPVNotExist}
}

// BindingInfo is a volume chosen for a claim. Upstream: binder.go BindingInfo.
type BindingInfo struct {
	pvc *v1.PersistentVolumeClaim
	pv  *v1.PersistentVolume
}

// PodVolumes holds the volumes that a pod needs on one node.
// Upstream: binder.go PodVolumes, v1.37.
type PodVolumes struct {
	// StaticBindings are volumes to bind claims to.
	StaticBindings []*BindingInfo
	// DynamicProvisions are claims to have provisioned.
	DynamicProvisions []*v1.PersistentVolumeClaim
}

// volumeBinder is the conversation between the scheduler, which knows the node,
// and the PV controller and provisioners, which make and bind volumes:
//
//	GetPodVolumeClaims       PreFilter  which claims are there
//	FindPodVolumes           Filter     could this node serve them (reads only)
//	AssumePodVolumes         Reserve    take the node's volumes, in memory
//	BindPodVolumes           PreBind    write it down, wait for the others
//	RevertAssumedPodVolumes  Unreserve  give them back, in memory
//
// Upstream: plugins/volumebinding/binder.go, v1.37.
type volumeBinder struct {
	env         control.Env
	bindTimeout time.Duration
	// waitByUID: see Config.WaitByUID.
	waitByUID bool

	pods       *control.Cache[*v1.Pod]
	nodes      *control.Cache[*v1.Node]
	classes    *control.Cache[*storagev1.StorageClass]
	drivers    *control.Cache[*storagev1.CSIDriver]
	capacities *control.Cache[*storagev1.CSIStorageCapacity]
	pvs        *assumeCache[*v1.PersistentVolume]
	pvcs       *assumeCache[*v1.PersistentVolumeClaim]
	// free finds volumes for claims among pvs, what is assumed of them included.
	free *binding.Index

	// cycles counts the scheduling cycles of pods with volumes, trials in the place of another pod included.
	cycles uint64
}

// byClass indexes volumes by their class.
const byClass = "class"

func newVolumeBinder(env control.Env, caches *caches, cfg Config) *volumeBinder {
	b := &volumeBinder{
		env: env, bindTimeout: cfg.BindTimeout, waitByUID: cfg.WaitByUID,
		pods: caches.pods, nodes: caches.nodes, classes: caches.classes, drivers: caches.drivers, capacities: caches.capacities,
		pvs:  newAssumeCache("persistentvolumes", caches.volumes),
		pvcs: newAssumeCache("persistentvolumeclaims", caches.claims),
		free: binding.NewIndex(),
	}
	b.pvs.follow(b.free.Put, func(pv *v1.PersistentVolume) { b.free.Delete(pv.Name) })
	return b
}

// GetPodVolumeClaims sorts a pod's claims: bound; waiting for this pod's node;
// and the rest, for which the PV controller has not finished. A claim that two of
// the pod's volumes name is given twice, and the search for its volume finds two
// or fails: that is upstream's, too.
// Upstream: binder.go GetPodVolumeClaims, v1.37.
func (b *volumeBinder) GetPodVolumeClaims(pod *v1.Pod) (*podVolumeClaims, error) {
	claims := &podVolumeClaims{}
	for _, pc := range claimVolumes(pod) {
		claim, ok := b.pvcs.Get(pod.Namespace + "/" + pc.name)
		if !ok {
			return nil, fmt.Errorf("error getting PVC %q: %s", pod.Namespace+"/"+pc.name, claimNotFound(pc))
		}
		if isPVCFullyBound(claim) {
			claims.boundClaims = append(claims.boundClaims, claim)
			continue
		}
		delayed, err := binding.IsDelayBindingMode(claim, b.classes.Get)
		if err != nil {
			return nil, err
		}
		// A claim that names a volume is the PV controller's, whatever its class.
		if delayed && claim.Spec.VolumeName == "" {
			claims.unboundClaimsDelayBinding = append(claims.unboundClaimsDelayBinding, claim)
		} else {
			claims.unboundClaimsImmediate = append(claims.unboundClaimsImmediate, claim)
		}
	}
	b.prepare(claims)
	return claims, nil
}

// isPVCFullyBound reports whether bind has made all its writes.
func isPVCFullyBound(claim *v1.PersistentVolumeClaim) bool {
	_, completed := claim.Annotations[binding.AnnBindCompleted]
	return claim.Spec.VolumeName != "" && completed
}
