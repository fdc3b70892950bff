package attachdetach_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/trace"
)

// miniKubelet mounts the volumes of its pods after it has written them to volumesInUse and the node's status lists
// them as attached. It unmounts volumes that no pod needs any more. mounted outlives it, like the mounts of a
// kernel.
func miniKubelet(name string, mounted map[v1.UniqueVolumeName]bool) control.Factory {
	return func(env control.Env) error {
		pods := control.NewCacheForNode[*v1.Pod](env, control.Pods(), name)
		reported := map[v1.UniqueVolumeName]bool{}
		env.Every("status", time.Second, func(ctx context.Context) {
			wanted := map[v1.UniqueVolumeName]bool{}
			for pod := range pods.All() {
				for _, v := range pod.Spec.Volumes {
					wanted[unique(v.PersistentVolumeClaim.ClaimName)] = true
				}
			}
			for volume := range maps.Clone(mounted) {
				if !wanted[volume] {
					delete(mounted, volume)
				}
			}
			node, err := env.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return
			}
			for _, v := range node.Status.VolumesAttached {
				if wanted[v.Name] && reported[v.Name] {
					mounted[v.Name] = true
				}
			}
			inUse := maps.Clone(wanted)
			maps.Copy(inUse, mounted)
			if names := slices.Sorted(maps.Keys(inUse)); !slices.Equal(names, node.Status.VolumesInUse) {
				node.Status.VolumesInUse = names
				if _, err := env.Client().CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
					return // a conflict
				}
			}
			reported = inUse
		})
		return nil
	}
}

// safety checks each write: a volume for one node is never attached to two, never detached while a ready node has it
// mounted, and never detached twice.
type safety struct {
	attached map[string]string // volume -> node
	mounted  map[string]map[v1.UniqueVolumeName]bool
	broken   []string
}

func (s *safety) see(w trace.Write) {
	old, _ := w.Old.(*storagev1.VolumeAttachment)
	va, _ := w.New.(*storagev1.VolumeAttachment)
	switch {
	case w.Actor == attachdetach.ActorName && w.Verb == "delete" && apierrors.IsNotFound(w.Err):
		s.broken = append(s.broken, "what is detached is detached again")
	case w.Err != nil || old == nil && va == nil:
	case w.Actor == attachdetach.ActorName && w.Verb == "delete":
		if pv := *old.Spec.Source.PersistentVolumeName; s.mounted[old.Spec.NodeName][unique(pv)] {
			s.broken = append(s.broken, fmt.Sprintf("%s is detached from %s, which has it mounted", pv, old.Spec.NodeName))
		}
	}
	if old != nil && va == nil && s.attached[*old.Spec.Source.PersistentVolumeName] == old.Spec.NodeName {
		delete(s.attached, *old.Spec.Source.PersistentVolumeName)
	}
	if va != nil && va.Status.Attached {
		pv := *va.Spec.Source.PersistentVolumeName
		if at := s.attached[pv]; at != "" && at != va.Spec.NodeName {
			s.broken = append(s.broken, fmt.Sprintf("%s is attached to %s and to %s", pv, at, va.Spec.NodeName))
		}
		s.attached[pv] = va.Spec.NodeName
	}
}

// move plays pods that come and go on two nodes, and returns the violations.
func move(t testing.TB, seed uint64, cfg attachdetach.Config, crashes bool) *safety {
	t.Helper()
	r := newRig(t, engine.Config{Policy: engine.Seeded(seed), Seed: seed}, cfg)
	s := &safety{attached: map[string]string{}, mounted: map[string]map[v1.UniqueVolumeName]bool{}}
	require.NoError(t, r.Engine.Add("csi-attacher", attacher))
	for _, node := range []string{"node-1", "node-2"} {
		s.mounted[node] = map[v1.UniqueVolumeName]bool{}
		require.NoError(t, r.Engine.Add("kubelet/"+node, miniKubelet(node, s.mounted[node])))
	}
	r.Engine.Server().OnWrite(s.see)
	rng := rand.New(rand.NewPCG(seed, 6))
	volumes := []string{"a", "b"}
	for _, name := range volumes {
		r.volume(name, rwo)
	}
	for i := range 12 {
		name := fmt.Sprintf("pod-%d", rng.IntN(3))
		err := r.User.CoreV1().Pods("default").Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
		if apierrors.IsNotFound(err) {
			r.pod(name, fmt.Sprintf("node-%d", 1+rng.IntN(2)), volumes[rng.IntN(2)])
		}
		if crashes && i%4 == 3 {
			require.NoError(t, r.Engine.Crash(attachdetach.ActorName))
		}
		r.runFor(time.Duration(rng.IntN(4000)) * time.Millisecond)
	}
	pods, err := r.User.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	for _, pod := range pods.Items {
		r.deletePod(pod.Name)
	}
	for range 4 {
		r.runFor(5 * time.Minute)
		r.heartbeat("node-1")
		r.heartbeat("node-2")
	}
	r.Settle()
	if left := r.attachments(); left != "" {
		s.broken = append(s.broken, "left attached: "+left)
	}
	return s
}

func TestAVolumeForOneNodeIsNeverAttachedToTwoNorDetachedInUse(t *testing.T) {
	usual := 100
	if testing.Short() {
		usual = 40
	}
	seedtest.Each(t, usual, func(t testing.TB, seed uint64) {
		require.Empty(t, move(t, seed, attachdetach.Config{}, false).broken)
	})
}

// The same with a controller that crashes. An uncertain attachment does not block another node (docs/semantics.md 6
// (7)), since the driver would refuse, and what it detached before is detached again. So only mounts count.
func TestAVolumeInUseIsNeverDetachedThoughTheControllerCrashes(t *testing.T) {
	usual := 60
	if testing.Short() {
		usual = 30
	}
	seedtest.Each(t, usual, func(t testing.TB, seed uint64) {
		broken := slices.DeleteFunc(move(t, seed, attachdetach.Config{}, true).broken, func(what string) bool {
			return !strings.Contains(what, "has it mounted") && !strings.Contains(what, "left")
		})
		require.Empty(t, broken)
	})
}

// The random test finds the faults that it is meant to find.
func TestTheWrongRuleIsFoundBySeeds(t *testing.T) {
	forgetful := attachdetach.Config{Remember: func(*storagev1.VolumeAttachment) bool { return false }}
	for seed := range uint64(200) {
		if len(move(t, seed+1, forgetful, true).broken) > 0 {
			return
		}
	}
	t.Fatal("a controller that forgets attachments broke nothing in 200 seeds")
}
