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

// shared holds the parts that all of the volume manager uses: the node, and both states of the world.
type shared struct {
	env       control.Env
	node      *v1.Node
	fs        *disk.Disk
	mounter   mount.Interface
	plugins   *volume.VolumePluginMgr
	recorder  control.Recorder
	pods      Pods
	kubelet   Waker
	decisions Decisions

	desired *desiredStateOfWorld
	actual  *actualStateOfWorld
	sizes   *volumeSizes
	// touched holds the volumes that the reconciler's next pass looks at.
	touched        map[podVolume]bool
	reconcileQueue control.Queue
}

// touch makes the reconciler look at volumes of which one of the states has changed.
func (s *shared) touch(keys ...podVolume) {
	for _, key := range keys {
		s.touched[key] = true
	}
	s.reconcileQueue.Add(s.node.Name)
}

// touchPod touches all volumes that a pod has or is to have.
func (s *shared) touchPod(uid types.UID) {
	s.touch(s.desired.volumes.ofPod(uid)...)
	s.touch(s.actual.volumes.ofPod(uid)...)
}

// note adds a decision to the trace.
func (s *shared) note(about trace.Ref, text string) {
	s.env.Trace(trace.Decision{About: about, Text: text})
}

// noteUnread adds to the trace that a directory of pods could not be read.
func (s *shared) noteUnread(err error) {
	s.note(s.nodeRef(), fmt.Sprintf("cannot look for volumes of an earlier life: %v", err))
}

func (s *shared) nodeRef() trace.Ref { return trace.Ref{Kind: "Node", Name: s.node.Name} }

// podRef names a pod. Of one that was only found on the disk just the UID is known.
func (s *shared) podRef(uid types.UID) trace.Ref {
	if pod := s.pods.GetPodByUID(uid); pod != nil {
		return trace.RefOf("Pod", pod)
	}
	return trace.Ref{Kind: "Pod", Name: string(uid)}
}

// aboutPod names the pod whose UID is the key of a queue.
func (s *shared) aboutPod(key string) string { return s.podRef(types.UID(key)).String() }
