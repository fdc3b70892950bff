package kubelet_test

import (
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

// scratch returns a pod with an emptyDir, mounted at /data by way of a subPathExpr.
func scratch(name, expr string, env ...v1.EnvVar) *v1.Pod {
	p := pod(name, volumeOf("data", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}))
	p.Spec.Containers[0].VolumeMounts[0].SubPathExpr = expr
	p.Spec.Containers[0].Env = env
	return p
}

func fromField(name, field string) v1.EnvVar {
	return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: field}}}
}

func TestASubPathExprIsExpandedWithTheContainersEnvironment(t *testing.T) {
	name, node := fromField("POD", "metadata.name"), fromField("NODE", "spec.nodeName")
	for expr, want := range map[string]string{
		"$(POD)": "web", "logs/$(NODE)/$(POD)": "logs/node-1/web", "$(BOTH)": "web-node-1", "$$(POD)": "$(POD)", "a$b$(POD": "a$b$(POD", "plain": "plain",
	} {
		t.Run(expr, func(t *testing.T) {
			w := simple(t)
			p := w.create(scratch("web", expr, name, node, v1.EnvVar{Name: "BOTH", Value: "$(POD)-$(NODE)"}))
			w.settle()
			require.NoError(t, kubelet.WriteFile(w.node, w.runtime, p, "/data/x", []byte("here")))
			data, err := w.node.ReadFile("/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~empty-dir/data/" + want + "/x")
			require.NoError(t, err)
			require.Equal(t, "here", string(data))
		})
	}
}

func TestAMountThatMustBeReadOnlyWithAllBelowItKeepsItsContainerWaiting(t *testing.T) {
	for mode, waits := range map[v1.RecursiveReadOnlyMode]bool{
		v1.RecursiveReadOnlyEnabled: true, v1.RecursiveReadOnlyIfPossible: false, v1.RecursiveReadOnlyDisabled: false,
	} {
		t.Run(string(mode), func(t *testing.T) {
			w := simple(t)
			p := scratch("web", "")
			mount := &p.Spec.Containers[0].VolumeMounts[0]
			mount.ReadOnly, mount.RecursiveReadOnly = true, &mode
			w.create(p)
			w.settle()
			if !waits {
				require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
				return
			}
			const want = `failed to resolve recursive read-only mode: volume "data" requested recursive read-only mode, but it is not supported by the runtime`
			w.requireWaiting("web", "c", "CreateContainerConfigError", want)
			w.requireEvent("web", "Failed", "Error: "+want)
		})
	}
}

func TestASubPathThatIsNoPathInTheVolumeKeepsItsContainerWaiting(t *testing.T) {
	for name, test := range map[string]struct {
		expr, want string
		env        []v1.EnvVar
	}{
		"no variable":  {"$(NOPE)/$(NOR)", "missing value for NOPE, NOR", nil},
		"an empty one": {"$(EMPTY)", "missing value for EMPTY", []v1.EnvVar{{Name: "EMPTY"}}},
		"steps back":   {"$(UP)", "unable to provision SubPath `../../escape`: must not contain '..'", []v1.EnvVar{{Name: "UP", Value: "../../escape"}}},
		"absolute":     {"$(ETC)", "error SubPath `/etc` must not be an absolute path", []v1.EnvVar{{Name: "ETC", Value: "/etc"}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			p := w.create(scratch("web", test.expr, test.env...))
			w.settle()
			w.requireWaiting("web", "c", "CreateContainerConfigError", test.want)
			w.requireEvent("web", "Failed", "Error: "+test.want)
			names, err := w.node.List("/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~empty-dir/data")
			require.NoError(t, err)
			require.Empty(t, names)
			w.delete("web")
			w.settle()
			w.requireNothingLeft()
		})
	}
}

func TestACommandsVariablesAreThoseOfItsContainer(t *testing.T) {
	w := simple(t)
	p := helper(pod("maker", hostPath("disk", "/disk", v1.HostPathDirectory)), "mkdir", "/disk/$(POD)", "/disk/$(NOPE)")
	p.Spec.Containers[0].Env = []v1.EnvVar{fromField("POD", "metadata.name")}
	w.create(p)
	w.settle()
	require.Equal(t, v1.PodSucceeded, w.get("maker").Status.Phase)
	names, err := w.node.List("/disk")
	require.NoError(t, err)
	require.Equal(t, []string{"$(NOPE)/", "data/", "maker/"}, names)
}

// A mount of one file keeps the file that was there, since a change replaces it: a container of a subPath does not see it before it is started again.
// What is mounted for it leads nowhere then, yet is unmounted.
func TestASubPathOfAConfigMapDoesNotSeeItsChanges(t *testing.T) {
	w := simple(t)
	w.configMap("app", map[string]string{"app.conf": "old"})
	p := pod("web", configVolume("app"))
	p.Spec.Containers[0].VolumeMounts[0].SubPath = "app.conf"
	p.Spec.Containers[0].VolumeMounts[0].MountPath = "/etc/app.conf"
	whole := p.Spec.Containers[0].VolumeMounts[0]
	whole.SubPath, whole.MountPath = "", "/config"
	p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, whole)
	p = w.create(p)
	w.settle()
	require.Equal(t, "old", w.read(p, "/etc/app.conf"))
	w.configMap("app", map[string]string{"app.conf": "new"})
	require.NoError(t, w.e.RunFor(time.Minute))
	require.Equal(t, "new", w.read(p, "/config/app.conf"))
	require.Equal(t, "old", w.read(p, "/etc/app.conf"))

	require.NoError(t, w.e.Crash(actor))
	w.settle()
	require.Equal(t, "old", w.read(p, "/etc/app.conf"), "the container has outlived its kubelet")
	w.forget(p)
	w.touch("web")
	w.settle()
	w.requireAllRunning("web")
	require.Equal(t, "new", w.read(p, "/etc/app.conf"), "it was started again")

	require.NoError(t, w.e.Crash(actor))
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}

// A bind mount keeps the directory that it was made of, whatever its path leads to later.
func TestAPartOfAVolumeThatIsMovedOrRemovedIsStillSeen(t *testing.T) {
	w := simple(t)
	w.boundVolume("data", nil)
	p := pod("web", emptyDir("tmp"), claim("data"), hostPath("srv", "/srv", v1.HostPathDirectoryOrCreate))
	for _, m := range p.Spec.Containers[0].VolumeMounts {
		m.MountPath, m.SubPath = "/part"+m.MountPath, "a/b"
		p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, m)
	}
	p = w.create(p)
	w.settle()
	for _, whole := range []string{"/tmp", "/data", "/srv"} {
		part := "/part" + whole
		require.NoError(t, kubelet.WriteFile(w.node, w.runtime, p, part+"/x", []byte("old")))
		volume := func(f func(dir *disk.Disk) error) {
			sandbox, err := w.runtime.PodSandboxStatus(p.UID)
			require.NoError(t, err)
			require.NoError(t, shell.InVolume(w.node, nil, sandbox.Containers[0].Mounts, whole, true, func(dir *disk.Disk, _ string) error { return f(dir) }))
		}
		volume(func(dir *disk.Disk) error {
			return errors.Join(dir.Rename("/a/b", "/moved"), dir.MkdirAll("/a/b", 0o755), dir.WriteFile("/a/b/x", []byte("new"), 0o644))
		})
		require.Equal(t, "old", w.read(p, part+"/x"))
		require.NoError(t, kubelet.WriteFile(w.node, w.runtime, p, part+"/y", nil))
		require.Equal(t, []string{"x", "y"}, w.list(p, whole+"/moved"))
		volume(func(dir *disk.Disk) error { return dir.RemoveAll("/moved") })
		require.Empty(t, w.list(p, part))
		require.ErrorIs(t, kubelet.WriteFile(w.node, w.runtime, p, part+"/y", nil), fs.ErrNotExist)
		require.Equal(t, "new", w.read(p, whole+"/a/b/x"))
	}
	require.NoError(t, w.e.Crash(actor))
	w.settle()
	require.Empty(t, w.list(p, "/part/tmp"), "the container has outlived its kubelet")
	w.forget(p)
	w.touch("web")
	w.settle()
	require.Equal(t, []string{"x"}, w.list(p, "/part/tmp"), "it was started again")
	w.delete("web")
	w.settle()
}
