package volumemanager

import (
	"fmt"
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet/internal/layout"
	"github.com/storagesim/storagesim/machine/mount"
)

// Where the part of a pod's volume is mounted for a container.
var (
	partsDir   = layout.PodSubPathsDir("pod-1")
	partTarget = partsDir + "/data/c/2"
)

// partRig returns a node with a pod that mounts "a/part" of its volume, and that part.
func partRig(t *testing.T) (*rig, *v1.Pod, SubPath) {
	t.Helper()
	r := newRig(t, engine.Config{})
	r.Settle()
	pod := podOf("pod-1", false)
	m := v1.VolumeMount{Name: "data", MountPath: "/data", SubPath: "a/part"}
	pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, m)
	r.pods.pods["pod-1"] = pod
	require.NoError(t, r.node.MkdirAll(layout.PodVolumesDir("pod-1"), 0o750))
	return r, pod, SubPath{Path: "a/part", Volume: MountedVolume{Name: "data", Path: "/disk/data"}, Container: "c", Mount: m, Index: 2}
}

// A part that is missing is made with the volume's own mode. It is mounted on a directory or file of the kubelet's, anew for each container.
func TestAPartIsMadeAndMountedAnewForEachContainer(t *testing.T) {
	for _, file := range []bool{false, true} {
		r, pod, part := partRig(t)
		require.NoError(t, r.node.Chmod("/disk/data", 0o773))
		if file {
			require.NoError(t, r.node.MkdirAll("/disk/data/a", 0o755))
			require.NoError(t, r.node.WriteFile("/disk/data/a/part", nil, 0o644))
		}
		var seen string
		r.mountFails = func(op mount.Op) error {
			if op.Verb == mount.VerbMount {
				seen = r.mode(op.Target)
			}
			return nil
		}
		require.NoError(t, r.vm.PrepareSubPath(pod, part))
		assert.Equal(t, map[bool]string{false: "drwxr-x---", true: "-rw-r-----"}[file], seen)
		for _, dir := range []string{partsDir, partsDir + "/data", partsDir + "/data/c"} {
			assert.Equal(t, "drwxr-x---", r.mode(dir), dir)
		}
		if !file {
			assert.Equal(t, []string{"drwxrwx-wx", "drwxrwx-wx"}, []string{r.mode("/disk/data/a"), r.mode("/disk/data/a/part")})
		}
		mounts := "mounts data: /disk/data/a/part -> " + partTarget + " for pod default/web"
		assert.Equal(t, []string{mounts}, r.mounts())
		require.NoError(t, r.vm.PrepareSubPath(pod, part))
		assert.Equal(t, []string{mounts, "unmounts data " + partTarget + " for pod default/web", mounts}, r.mounts())
		require.NoError(t, r.vm.subPaths.clean("pod-1", "data"))
		require.NoError(t, r.vm.subPaths.clean("pod-1", "data"))
		_, err := r.node.Lstat(partsDir)
		assert.Error(t, err)
		_, err = r.node.Stat("/disk/data/a/part")
		assert.NoError(t, err)
	}
}

// The pod is told in general terms that a part cannot be mounted, and the trace what is wrong. Nothing is left where it would be.
func TestAPartThatCannotBeMountedLeavesNothing(t *testing.T) {
	const prepare, create = `failed to prepare subPath for volumeMount "data" of container "c"`,
		`failed to create subPath directory for volumeMount "data" of container "c"`
	for at, want := range map[string]string{
		"stat /disk/data":               "stat /disk/data: operation not permitted",
		"open /disk/data":               prepare,
		"mkdir /disk/data/a":            create,
		"mkdir /disk/data/a/part":       create,
		"lstat /disk/data/a/part":       prepare,
		"mkdir " + partsDir:             prepare,
		"lstat " + partsDir:             prepare,
		"mkdir " + partsDir + "/data/c": prepare,
		"look " + partTarget:            prepare,
		"mkdir " + partTarget:           prepare,
		"mount " + partTarget:           prepare,
	} {
		r, pod, part := partRig(t)
		r.failAt(at)
		assert.EqualError(t, r.vm.PrepareSubPath(pod, part), want, at)
		if want == prepare || want == create {
			if assert.Len(t, r.noted(), 1, at) {
				assert.Regexp(t, `^subPath "a/part" of volume data: .*operation not permitted`, r.noted()[0], at)
			}
		}
		r.failAt("")
		_, err := r.node.Lstat(partTarget)
		assert.Error(t, err, at)
		if at == "mount "+partTarget || at == "mkdir "+partTarget {
			assert.Len(t, r.mounts(), 1, at)
			assert.Regexp(t, "^mounts data: /disk/data/a/part -> .* fails: .*operation not permitted$", r.mounts()[0], at)
		} else {
			assert.Empty(t, r.mounts(), at)
		}
		assert.NoError(t, r.vm.PrepareSubPath(pod, part), at)
	}
	r, pod, part := partRig(t)
	require.NoError(t, r.node.MkdirAll("/disk/data/a", 0o755))
	_, err := r.node.Symlink("/nowhere", "/disk/data/a/part")
	require.NoError(t, err)
	assert.EqualError(t, r.vm.PrepareSubPath(pod, part), create, "a link to nothing")
	require.NoError(t, r.node.MkdirAll("/disk/other", 0o755))
	require.NoError(t, r.node.Remove("/disk/data/a/part"))
	_, err = r.node.Symlink("/disk/other", "/disk/data/a/part")
	require.NoError(t, err)
	assert.EqualError(t, r.vm.PrepareSubPath(pod, part), prepare, "a link out of the volume")
	assert.Empty(t, r.mounts())
	assert.Contains(t, r.noted()[1], "evalsymlinks /a/part: leads out of the node's directory")
}

// What is mounted is unmounted whatever it looks like, and what is not known to be no mount is not taken for a file.
func TestAMountedFileWithDataIsUnmounted(t *testing.T) {
	r, _, _ := partRig(t)
	require.NoError(t, r.node.MkdirAll(path.Dir(partTarget), 0o750))
	require.NoError(t, r.node.WriteFile(partTarget, []byte("x"), 0o640))
	const noMount = " is not mounted and not empty"
	assert.ErrorContains(t, r.vm.subPaths.clean("pod-1", "data"), noMount)
	mounter := r.vm.mounter
	r.vm.mounter = bindMounted{mounter, partTarget}
	assert.NotContains(t, fmt.Sprint(r.vm.subPaths.clean("pod-1", "data")), noMount)
	assert.Len(t, r.mounts(), 1, "it was tried")
	r.vm.mounter = mounter
	r.failAt("look " + partTarget)
	assert.ErrorContains(t, r.vm.subPaths.clean("pod-1", "data"), "operation not permitted")
}

// What cannot be unmounted or removed stays with all that it is in, and the volume with it.
func TestAPartThatCannotBeUnmountedKeepsItsVolume(t *testing.T) {
	for at, c := range map[string]struct{ left, mounts string }{
		"lstat " + partsDir:               {partTarget, ""},
		"lstat " + partsDir + "/data":     {partTarget, ""},
		"readdir " + partsDir + "/data":   {partTarget, ""},
		"readdir " + partsDir + "/data/c": {partTarget, ""},
		"look " + partTarget:              {partTarget, ""},
		"unmount " + partTarget:           {partTarget, "unmounts data " + partTarget + " for pod default/web fails: operation not permitted"},
		"remove " + partsDir + "/data/c":  {partsDir + "/data/c", "unmounts data " + partTarget + " for pod default/web"},
		"remove " + partsDir + "/data":    {partsDir + "/data", "unmounts data " + partTarget + " for pod default/web"},
		"remove " + partsDir:              {partsDir, "unmounts data " + partTarget + " for pod default/web"},
	} {
		for name, clean := range map[string]func(r *rig) error{
			"the volume's":     func(r *rig) error { return r.vm.subPaths.clean("pod-1", "data") },
			"all of the pod's": func(r *rig) error { return r.vm.subPaths.cleanAll("pod-1") },
			"its directory": func(r *rig) error {
				r.vm.decisions.CleanSubPaths = true
				return r.vm.RemovePodDir("pod-1")
			},
		} {
			r, pod, part := partRig(t)
			require.NoError(t, r.vm.PrepareSubPath(pod, part))
			r.failAt(at)
			err := clean(r)
			r.failAt("")
			assert.ErrorContains(t, err, "operation not permitted", "%s: %s", name, at)
			_, err = r.node.Lstat(c.left)
			assert.NoError(t, err, "%s: %s", name, at)
			_, err = r.node.Lstat(path.Join(c.left, "*"))
			assert.Error(t, err)
			if mounts := r.mounts()[1:]; c.mounts == "" {
				assert.Empty(t, mounts, "%s: %s", name, at)
			} else {
				assert.Equal(t, []string{c.mounts}, mounts, "%s: %s", name, at)
			}
			assert.NoError(t, clean(r), "%s: %s", name, at)
		}
	}
}

// The first part that cannot be unmounted stops the others. A pod that has no parts is not asked for them.
func TestThePartsOfContainersAreUnmountedInOrder(t *testing.T) {
	r, pod, part := partRig(t)
	require.NoError(t, r.vm.PrepareSubPath(pod, part))
	part.Container = "d"
	require.NoError(t, r.vm.PrepareSubPath(pod, part))
	r.failAt("unmount " + partTarget)
	assert.ErrorContains(t, r.vm.subPaths.clean("pod-1", "data"), "operation not permitted")
	assert.Len(t, r.mounts(), 3, "two mounts and what failed")
	r.failAt("readdir " + partsDir)
	assert.NoError(t, r.vm.subPaths.cleanAll("pod-1"))
	if assert.Len(t, r.noted(), 1) {
		assert.Contains(t, r.noted()[0], "cannot look for volumes of an earlier life: ")
	}
	r.failAt("")
	pod.Spec.Containers[0].VolumeMounts = nil
	assert.NoError(t, r.vm.subPaths.cleanAll("pod-1"))
	assert.Len(t, r.mounts(), 3)
	r.pods.pods = nil
	assert.NoError(t, r.vm.subPaths.cleanAll("pod-1"))
	assert.Len(t, r.mounts(), 5)
	assert.Len(t, r.noted(), 1)
}

// A pod of which only the directory is known may have had parts; of one that is known its containers say so, also those that run first.
func TestWhichPodsHaveParts(t *testing.T) {
	whole, part, expr := v1.VolumeMount{Name: "data"}, v1.VolumeMount{SubPath: "a"}, v1.VolumeMount{SubPathExpr: "$(A)"}
	container := func(mounts ...v1.VolumeMount) []v1.Container { return []v1.Container{{}, {VolumeMounts: mounts}} }
	for name, c := range map[string]struct {
		pod  *v1.Pod
		want bool
	}{
		"an unknown one":              {nil, true},
		"one with whole volumes":      {&v1.Pod{Spec: v1.PodSpec{Containers: container(whole), InitContainers: container(whole)}}, false},
		"one with a part":             {&v1.Pod{Spec: v1.PodSpec{Containers: container(whole, part)}}, true},
		"one with one of its own":     {&v1.Pod{Spec: v1.PodSpec{Containers: container(expr)}}, true},
		"one whose first one has one": {&v1.Pod{Spec: v1.PodSpec{Containers: container(whole), InitContainers: container(part)}}, true},
	} {
		pods := &fakePods{}
		if c.pod != nil {
			pods.pods = map[types.UID]*v1.Pod{"pod-1": c.pod}
		}
		p := &subPaths{&given{pods: pods}}
		assert.Equal(t, c.want, p.uses("pod-1"), name)
	}
}
