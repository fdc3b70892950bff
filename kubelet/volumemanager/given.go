package volumemanager

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/volume"
)

// given holds what the volume manager is given: its node, and the rest of the kubelet.
type given struct {
	env       control.Env
	node      *v1.Node
	fs        *disk.Disk
	mounter   mount.Interface
	plugins   *volume.VolumePluginMgr
	recorder  control.Recorder
	pods      Pods
	kubelet   Waker
	decisions Decisions
}

// states holds both states of the world, and what of them the reconciler has not seen yet.
type states struct {
	desired *desiredStateOfWorld
	actual  *actualStateOfWorld
	sizes   *volumeSizes
	// touched holds the volumes that the reconciler's next pass looks at.
	touched map[podVolume]bool
	// reconcileQueue has one key, the node's name.
	reconcileQueue control.Queue
	nodeName       string
}

// touch makes the reconciler look at volumes of which one of the states has changed.
func (s *states) touch(keys ...podVolume) {
	for _, key := range keys {
		s.touched[key] = true
	}
	s.reconcileQueue.Add(s.nodeName)
}

// touchPod touches all volumes that a pod has or is to have.
func (s *states) touchPod(uid types.UID) {
	s.touch(s.desired.volumes.ofPod(uid)...)
	s.touch(s.actual.volumes.ofPod(uid)...)
}

// note adds a decision to the trace.
func (g *given) note(about trace.Ref, text string) {
	g.env.Trace(trace.Decision{About: about, Text: text})
}

// noteUnread adds to the trace that a directory of pods could not be read.
func (g *given) noteUnread(err error) {
	g.note(g.nodeRef(), fmt.Sprintf("cannot look for volumes of an earlier life: %v", err))
}

func (g *given) nodeRef() trace.Ref { return trace.Ref{Kind: "Node", Name: g.node.Name} }

// podRef names a pod. Of one that was only found on the disk just the UID is known.
func (g *given) podRef(uid types.UID) trace.Ref {
	if pod := g.pods.GetPodByUID(uid); pod != nil {
		return trace.RefOf("Pod", pod)
	}
	return trace.Ref{Kind: "Pod", Name: string(uid)}
}

// aboutPod names the pod whose UID is the key of a queue.
func (g *given) aboutPod(key string) string { return g.podRef(types.UID(key)).String() }
