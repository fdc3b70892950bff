package explore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/trace"
)

// claimAndPodYAML returns a claim and the pod that uses it, on a node of its own.
func claimAndPodYAML(name, node string) string {
	return strings.NewReplacer("NAME", name, "NODE", node).Replace(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec:
  storageClassName: openebs-hostpath
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  nodeSelector: {kubernetes.io/hostname: NODE}
  volumes: [{name: data, persistentVolumeClaim: {claimName: NAME}}]
  containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
`)
}

// faultyRun is one run of the OpenEBS story, with two pods on two nodes, in which
// everything may go wrong for a while.
type faultyRun struct {
	*storagesim.Cluster
	rng    *rand.Rand
	held   [][2]string // actor and resource
	unsafe []string    // what must never happen and did

	volumeOf map[string]string // claim's UID -> its PersistentVolume, while there is one
	hadOne   map[string]bool   // UIDs of claims that ever had one
	claims   map[string]string // UIDs of claims that live -> name
	written  map[string]file   // claim's UID -> file that must be there
	nodeOf   map[string]string // name of pod and claim -> node
}

// faultyRunConfig returns the configuration of its cluster.
func faultyRunConfig() storagesim.Config {
	return storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2")}
}

func newFaultyRun(c *storagesim.Cluster, seed uint64) (*faultyRun, error) {
	x := &faultyRun{
		Cluster: c, rng: rand.New(rand.NewPCG(seed, 1)),
		volumeOf: map[string]string{}, hadOne: map[string]bool{}, claims: map[string]string{}, written: map[string]file{},
		nodeOf: map[string]string{"a": "node-1", "b": "node-2"},
	}
	if err := errors.Join(c.AddProvisionController(openebs.Controller(openebs.Config{})), c.Settle(), c.Apply(clustertest.MainStory[0])); err != nil {
		return nil, err
	}
	c.Engine().Server().OnWrite(x.watch)
	return x, nil
}

func (x *faultyRun) violated(format string, args ...any) {
	x.unsafe = append(x.unsafe, fmt.Sprintf(format, args...))
}

// watch checks what must hold after every write.
func (x *faultyRun) watch(w trace.Write) {
	if w.Err != nil {
		return
	}
	switch w.Kind {
	case "PersistentVolume":
		x.watchVolume(w)
	case "PersistentVolumeClaim":
		x.watchClaim(w)
	case "Pod":
		if pod, ok := w.Old.(*v1.Pod); ok && w.New == nil && strings.HasPrefix(w.Actor, "kubelet/") {
			if x.onDisk(file{pod.Spec.NodeName, path.Join("/var/lib/kubelet/pods", string(pod.UID))}) == nil {
				x.violated("pod %s is gone and its directory is not", pod.Name)
			}
		}
	}
	for uid, file := range x.written {
		if err := x.onDisk(file); err != nil {
			x.violated("the data of claim %s is lost: %v", x.claims[uid], err)
			delete(x.written, uid)
		}
	}
}

// file is a file on a node's disk.
type file struct{ node, path string }

// onDisk reports the file as missing if it is not there.
func (x *faultyRun) onDisk(f file) error {
	disk, err := x.Machine("node/" + f.node).Disk()
	if err == nil {
		_, err = disk.Lstat(f.path)
	}
	return err
}

func (x *faultyRun) watchVolume(w trace.Write) {
	volume, _ := w.New.(*v1.PersistentVolume)
	old, _ := w.Old.(*v1.PersistentVolume)
	switch {
	case old == nil:
		uid := string(volume.Spec.ClaimRef.UID)
		if other := x.volumeOf[uid]; other != "" {
			x.violated("claim %s has the volumes %s and %s", uid, other, volume.Name)
		}
		x.volumeOf[uid], x.hadOne[uid] = volume.Name, true
	case volume == nil:
		uid := string(old.Spec.ClaimRef.UID)
		delete(x.volumeOf, uid)
		if name := x.claims[uid]; name != "" {
			x.violated("the volume of claim %s, which lives, is deleted", name)
		}
	}
}

func (x *faultyRun) watchClaim(w trace.Write) {
	claim, _ := w.New.(*v1.PersistentVolumeClaim)
	if claim == nil {
		uid := string(w.Old.(*v1.PersistentVolumeClaim).UID)
		delete(x.claims, uid)
		delete(x.written, uid)
		return
	}
	x.claims[string(claim.UID)] = claim.Name
}

// actor returns an actor for a fault to strike; the provisioner has most to lose.
func (x *faultyRun) actor() string {
	if x.rng.IntN(3) == 0 {
		return openebs.ProvisionerName
	}
	actors := x.Engine().Actors()
	return actors[x.rng.IntN(len(actors))]
}

// inject adds faults and holds caches.
func (x *faultyRun) inject() error {
	answers := []error{
		apierrors.NewConflict(control.Pods().GroupResource(), "x", errors.New("somebody was faster")),
		apierrors.NewInternalError(errors.New("etcd is down")), apierrors.NewTooManyRequests("later", 1), engine.ErrAnswerLost,
	}
	for range 1 + x.rng.IntN(6) {
		f := engine.Fault{Actor: x.actor(), Skip: x.rng.IntN(1 + x.rng.IntN(25)), Times: 1 + x.rng.IntN(2), After: x.rng.IntN(2) == 0}
		f.Verb = []string{"", "", "create", "update", "patch", "delete", "get"}[x.rng.IntN(7)]
		switch x.rng.IntN(4) {
		case 0, 1:
			f.Crash, f.Restart = true, time.Duration(x.rng.IntN(40))*time.Second
		case 2:
			f.Err = answers[x.rng.IntN(len(answers))]
		case 3:
			f.Delay = time.Duration(1+x.rng.IntN(30)) * time.Second
		}
		if err := x.Inject(f); err != nil {
			return err
		}
	}
	for range x.rng.IntN(3) {
		resources := []string{"persistentvolumes", "persistentvolumeclaims", "pods", "nodes", "storageclasses"}
		hold := [2]string{x.actor(), resources[x.rng.IntN(len(resources))]}
		if err := x.Hold(hold[0], hold[1]); err == nil {
			x.held = append(x.held, hold)
		}
	}
	return nil
}

// act does something a user may do at any time.
func (x *faultyRun) act() error {
	name := []string{"a", "b"}[x.rng.IntN(2)]
	switch x.rng.IntN(8) {
	case 0, 1:
		return x.Apply(claimAndPodYAML(name, x.nodeOf[name]))
	case 2:
		return clustertest.IgnoreMissing(x.Delete("pod/" + name))
	case 3:
		return errors.Join(clustertest.IgnoreMissing(x.Delete("pod/"+name)), clustertest.IgnoreMissing(x.Delete("pvc/"+name)))
	case 4:
		return x.Crash(x.actor())
	case 5:
		now := int64(0)
		return clustertest.IgnoreMissing(x.Client().CoreV1().Pods("default").Delete(context.Background(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	case 6:
		if len(x.held) == 0 {
			return nil
		}
		first := x.held[0]
		x.held = x.held[1:]
		return x.Release(first[0], first[1])
	}
	return x.write(name)
}

// write has a pod that runs write into its volume; from now on that must stay.
func (x *faultyRun) write(name string) error {
	pod, err1 := x.Pod(name)
	claim, err2 := x.Claim(name)
	if err := errors.Join(err1, err2); err != nil {
		return clustertest.IgnoreMissing(err)
	}
	if pod.Status.Phase != v1.PodRunning || pod.DeletionTimestamp != nil || claim.DeletionTimestamp != nil {
		return nil
	}
	if err := x.Machine("pod/"+name).WriteFile("/data/keep", string(claim.UID)); err != nil {
		return fmt.Errorf("a running pod cannot write: %w", err)
	}
	x.written[string(claim.UID)] = file{pod.Spec.NodeName, path.Join(openebs.DefaultBasePath, claim.Spec.VolumeName, "keep")}
	return nil
}

// calm ends all faults and holds and lets time pass.
func (x *faultyRun) calm() error {
	x.Engine().ClearFaults()
	for _, h := range x.held {
		if err := x.Release(h[0], h[1]); err != nil {
			return err
		}
	}
	x.held = nil
	return errors.Join(x.RunFor(2*time.Hour), x.Settle())
}

// play plays the whole run. Its error says what went wrong.
func (x *faultyRun) play() error {
	if err := x.inject(); err != nil {
		return err
	}
	if err := x.Apply(claimAndPodYAML("a", "node-1"), claimAndPodYAML("b", "node-2")); err != nil {
		return err
	}
	for range 1 + x.rng.IntN(5) {
		if err := x.RunFor(time.Duration(x.rng.IntN(20000)) * time.Millisecond); err != nil {
			return err
		}
		if err := x.act(); err != nil && !apierrors.IsForbidden(err) {
			return fmt.Errorf("acting: %w", err)
		}
		if x.rng.IntN(3) == 0 {
			if err := x.inject(); err != nil {
				return err
			}
		}
	}
	if err := x.calm(); err != nil {
		return err
	}
	if err := x.everythingRuns(); err != nil {
		return errors.Join(err, x.safe())
	}
	return errors.Join(x.everythingGoes(), x.safe())
}

// everythingRuns: what the user wants and did not delete works in the end.
func (x *faultyRun) everythingRuns() error {
	for _, name := range []string{"a", "b"} {
		if err := x.Apply(claimAndPodYAML(name, x.nodeOf[name])); err != nil {
			return err
		}
	}
	if err := x.RunFor(time.Hour); err != nil {
		return err
	}
	for _, name := range []string{"a", "b"} {
		pod, err := x.Pod(name)
		if err != nil {
			return err
		}
		if pod.Status.Phase != v1.PodRunning {
			why, _ := x.Explain("pod/" + name)
			return fmt.Errorf("pod %s does not run: %s", name, why)
		}
		if err := x.write(name); err != nil {
			return err
		}
	}
	return nil
}

// everythingGoes: what is deleted leaves nothing behind.
// Half of the runs have faults once more on the way.
func (x *faultyRun) everythingGoes() error {
	if x.rng.IntN(2) == 0 {
		if err := x.inject(); err != nil {
			return err
		}
	}
	if err := x.Delete("pod/a", "pod/b", "pvc/a", "pvc/b"); err != nil {
		return err
	}
	if err := errors.Join(x.RunFor(time.Duration(x.rng.IntN(200))*time.Second), x.calm()); err != nil {
		return err
	}
	return x.unlessForgotten(x.RequireNoLeaks())
}

// leftByInit matches what an attempt to make a volume can leave: its helper pod and
// the directory.
var leftByInit = regexp.MustCompile(`^(?:helper pod openebs/init-|directory /var/openebs/local/)pvc-([0-9a-f-]{36}) `)

// unlessForgotten takes from the leaks those that OpenEBS is known to lose
// (provisioner/openebs/doc.go, "Crashes"), and nothing else.
func (x *faultyRun) unlessForgotten(err error) error {
	var found *storagesim.LeakError
	if !errors.As(err, &found) {
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(found.Leaks), func(leak storagesim.Leak) bool {
		match := leftByInit.FindStringSubmatch(leak.What)
		return match != nil && x.forgotten(match[1])
	})
	if len(rest) == 0 {
		return nil
	}
	return &storagesim.LeakError{Leaks: rest}
}

// forgotten reports whether a claim went without ever having had a volume, and the
// last attempt to make it one, which had begun, was cut short: the provisioner
// crashed, or put the claim back to try again and found it gone.
func (x *faultyRun) forgotten(uid string) bool {
	begun, cut, gone := false, false, false
	for _, entry := range x.Engine().Trace().Entries() {
		switch r := entry.Record.(type) {
		case trace.Write:
			if r.Err == nil && r.Kind == "Pod" && r.Old == nil && r.Name == "init-pvc-"+uid {
				begun, cut = true, false
			}
			if r.Err == nil && r.Kind == "PersistentVolumeClaim" && r.New == nil {
				gone = gone || string(r.Old.(*v1.PersistentVolumeClaim).UID) == uid
			}
		case trace.Crashed:
			cut = cut || begun && entry.Actor == openebs.ProvisionerName
		case trace.Retry:
			cut = cut || begun && entry.Actor == openebs.ProvisionerName && r.Queue == "claims" && r.Key == uid
		}
	}
	return begun && cut && gone && !x.hadOne[uid]
}

func (x *faultyRun) safe() error {
	if len(x.unsafe) == 0 {
		return nil
	}
	return errors.New("unsafe: " + strings.Join(x.unsafe, "; "))
}

func TestTroubleNeverHarmsDataAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	explore.Test(t, explore.Config{Runs: 15, Cluster: faultyRunConfig(), Strategies: []string{explore.Random},
		Except: []string{explore.Liveness, explore.NothingLeaks, explore.PlainRun}}, func(c *explore.Cluster) {
		x, err := newFaultyRun(c.Cluster, c.Lab().Seed())
		require.NoError(c.T, err)
		require.NoError(c.T, x.play())
	})
}

// What upstream loses is lost here too, and no more is excused than that.
func TestADirectoryIsForgottenIfItsClaimGoesWhileTheProvisionerIsDown(t *testing.T) {
	x, err := newFaultyRun(storagesimtest.New(t, faultyRunConfig()).Cluster, 0)
	require.NoError(t, err)
	require.NoError(t, x.Inject(engine.Fault{Actor: openebs.ProvisionerName, Verb: "create", Resource: "persistentvolumes", Crash: true, Restart: time.Minute}))
	require.NoError(t, x.Apply(claimAndPodYAML("a", "node-1")))
	require.NoError(t, x.RunFor(10*time.Second))
	claim, err := x.Claim("a")
	require.NoError(t, err)
	uid := string(claim.UID)
	require.False(t, x.forgotten(uid), "the claim lives")
	require.NoError(t, x.Delete("pod/a", "pvc/a"))
	require.NoError(t, x.RunFor(time.Hour))
	err = x.RequireNoLeaks()
	require.ErrorContains(t, err, "directory /var/openebs/local/pvc-"+uid+" on node-1, which no volume uses")
	require.NoError(t, x.unlessForgotten(err))

	var found *storagesim.LeakError
	require.ErrorAs(t, err, &found)
	for _, other := range []string{
		"directory /var/openebs/local/pvc-00000000-0000-0000-0000-000000000000 on node-1, which no volume uses",
		"helper pod openebs/cleanup-pvc-" + uid + " (Succeeded)", "mount /var/lib/kubelet/pods/" + uid,
	} {
		more := &storagesim.LeakError{Leaks: append(slices.Clone(found.Leaks), storagesim.Leak{What: other})}
		require.ErrorContains(t, x.unlessForgotten(more), "1 left behind:\n  "+other)
	}
	x.hadOne[uid] = true
	require.Equal(t, err, x.unlessForgotten(err), "a volume that was made is not to be forgotten")
}

// provisioner/doc.go: StoreVolume cannot know that its first try succeeded.
func TestAVolumeWhoseCreationIsNeverConfirmedLosesItsDirectory(t *testing.T) {
	x, err := newFaultyRun(storagesimtest.New(t, faultyRunConfig()).Cluster, 0)
	require.NoError(t, err)
	create := engine.Fault{Actor: openebs.ProvisionerName, Verb: "create", Resource: "persistentvolumes"}
	lost, refused := create, create
	lost.After = true
	refused.Skip, refused.Times, refused.Err = 1, 4, apierrors.NewInternalError(errors.New("etcd is down"))
	require.NoError(t, x.Inject(lost))
	require.NoError(t, x.Inject(refused))
	require.NoError(t, x.Apply(claimAndPodYAML("a", "node-1")))
	require.NoError(t, x.RunFor(time.Minute))
	claim, err := x.Claim("a")
	require.NoError(t, err)
	require.Equal(t, v1.ClaimBound, claim.Status.Phase)
	names, err := x.Machine("node/node-1").ListDir(openebs.DefaultBasePath)
	require.NoError(t, err)
	require.Empty(t, names, "the claim is bound to a volume without a directory")
}
