package kubelet_test

import (
	"context"
	"encoding/base64"
	"io/fs"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/kubelet/internal/emptydir"
	"github.com/storagesim/storagesim/volume"
)

// configMap writes a ConfigMap, new or not.
// account makes a service account.
func (w *world) account(name string) {
	w.t.Helper()
	account := &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := w.user.CoreV1().ServiceAccounts("default").Create(context.Background(), account, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func (w *world) configMap(name string, data map[string]string) {
	w.t.Helper()
	maps := w.user.CoreV1().ConfigMaps("default")
	cm := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	_, err := maps.Create(context.Background(), cm, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = maps.Update(context.Background(), cm, metav1.UpdateOptions{})
	}
	require.NoError(w.t, err)
}

func (w *world) secret(name string, data map[string]string) {
	w.t.Helper()
	s := &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{}}
	for key, text := range data {
		s.Data[key] = []byte(text)
	}
	_, err := w.user.CoreV1().Secrets("default").Create(context.Background(), s, metav1.CreateOptions{})
	require.NoError(w.t, err)
}

func volumeOf(name string, source v1.VolumeSource) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: source}
}

func configVolume(name string, items ...v1.KeyToPath) v1.Volume {
	return volumeOf("config", v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{
		LocalObjectReference: v1.LocalObjectReference{Name: name}, Items: items,
	}})
}

// read returns what a container of the pod reads.
func (w *world) read(p *v1.Pod, name string) string {
	w.t.Helper()
	data, err := kubelet.ReadFile(w.node, w.runtime, p, name)
	require.NoError(w.t, err)
	return string(data)
}

func (w *world) list(p *v1.Pod, name string) []string {
	w.t.Helper()
	names, err := kubelet.List(w.node, w.runtime, p, name)
	require.NoError(w.t, err)
	return names
}

func TestAPodReadsItsConfigMapAndSeesItsChanges(t *testing.T) {
	w := simple(t)
	w.configMap("app", map[string]string{"a": "1", "b": "2"})
	p := w.create(pod("web", configVolume("app")))
	w.settle()
	require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
	require.Equal(t, "1", w.read(p, "/config/a"))
	require.Equal(t, []string{"..2026_01_01_00_00_00.1/", "..data", "a", "b"}, w.list(p, "/config"))
	require.ErrorIs(t, kubelet.WriteFile(w.node, w.runtime, p, "/config/a", nil), kubelet.ErrReadOnly)
	dir := "/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~configmap/config/"
	for link, want := range map[string]string{"..data": "..2026_01_01_00_00_00.1", "a": "..data/a"} {
		text, err := w.node.Readlink(dir + link)
		require.NoError(t, err)
		require.Equal(t, want, text)
	}

	w.configMap("app", map[string]string{"a": "one", "c": "3"})
	w.settle()
	require.Equal(t, "1", w.read(p, "/config/a"), "not at once")
	require.NoError(t, w.e.RunFor(time.Minute))
	require.Equal(t, "one", w.read(p, "/config/a"))
	require.Equal(t, "3", w.read(p, "/config/c"))
	require.Equal(t, []string{"..2026_01_01_00_01_00.1/", "..data", "a", "c"}, w.list(p, "/config"))
	require.Contains(t, w.trace(), "pod default/web: volume config has new files: a, c")

	before := w.e.Trace().Len()
	require.NoError(t, w.e.RunFor(time.Hour))
	require.Equal(t, before, w.e.Trace().Len(), "nothing new, nothing done")
	w.delete("web")
	w.settle()
	w.requireNothingLeft()
}

func TestAnObjectThatIsMissingIsAnEventUntilItIsThere(t *testing.T) {
	optional := true
	cases := map[string]struct {
		volume v1.Volume
		event  string // "" for none
		mend   func(w *world)
	}{
		"a ConfigMap": {configVolume("app"), `MountVolume.SetUp failed for volume "config" : configmap "app" not found`, nil},
		"a key": {
			configVolume("half", v1.KeyToPath{Key: "a", Path: "a"}), `MountVolume.SetUp failed for volume "config" : configmap references non-existent config key: a`,
			func(w *world) { w.configMap("half", map[string]string{"a": "1"}) },
		},
		"a Secret": {
			volumeOf("config", v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "app"}}),
			`MountVolume.SetUp failed for volume "config" : secret "app" not found`,
			func(w *world) { w.secret("app", map[string]string{"a": "1"}) },
		},
		"a Secret's key": {
			volumeOf("config", v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "half", Items: []v1.KeyToPath{{Key: "a", Path: "a"}}}}),
			`references non-existent secret key: a`,
			func(w *world) {
				require.NoError(w.t, w.user.CoreV1().Secrets("default").Delete(context.Background(), "half", metav1.DeleteOptions{}))
				w.secret("half", map[string]string{"a": "1"})
			},
		},
		"an optional ConfigMap": {
			volumeOf("config", v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: "app"}, Optional: &optional}}),
			"", nil,
		},
		"an optional ConfigMap beside others": {
			projected("config", v1.VolumeProjection{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: v1.LocalObjectReference{Name: "app"},
				Optional: &optional}}),
			"", nil,
		},
		"an optional Secret beside others": {
			projected("config", v1.VolumeProjection{Secret: &v1.SecretProjection{LocalObjectReference: v1.LocalObjectReference{Name: "app"}, Optional: &optional}}),
			"", func(w *world) { w.secret("app", map[string]string{"a": "1"}) },
		},
		"an optional Secret's key": {
			volumeOf("config", v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "half", Optional: &optional, Items: []v1.KeyToPath{{Key: "a", Path: "a"}}}}),
			"", func(w *world) {
				require.NoError(w.t, w.user.CoreV1().Secrets("default").Delete(context.Background(), "half", metav1.DeleteOptions{}))
				w.secret("half", map[string]string{"a": "1"})
			},
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			w.configMap("half", map[string]string{"b": "2"})
			w.secret("half", map[string]string{"b": "2"})
			p := w.create(pod("web", test.volume))
			w.settle()
			if test.event != "" {
				require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
				w.requireEvent("web", "FailedMount", test.event)
				entries, err := w.node.List("/var/lib/kubelet/pods/" + string(p.UID) + "/volumes")
				require.NoError(t, err)
				require.Empty(t, entries, "nothing is made")
			} else {
				require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
			}
			if test.mend == nil {
				test.mend = func(w *world) { w.configMap("app", map[string]string{"a": "1"}) }
			}
			test.mend(w)
			require.NoError(t, w.e.RunFor(5*time.Minute))
			require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
			require.Equal(t, "1", w.read(p, "/config/a"))
		})
	}
}

func TestTheDownwardAPITellsThePodOfItself(t *testing.T) {
	w := simple(t)
	field := func(name, field string) v1.DownwardAPIVolumeFile {
		return v1.DownwardAPIVolumeFile{Path: name, FieldRef: &v1.ObjectFieldSelector{FieldPath: field}}
	}
	resource := func(name, resource string) v1.DownwardAPIVolumeFile {
		return v1.DownwardAPIVolumeFile{Path: name, ResourceFieldRef: &v1.ResourceFieldSelector{ContainerName: "c", Resource: resource}}
	}
	p := pod("web", volumeOf("info", v1.VolumeSource{DownwardAPI: &v1.DownwardAPIVolumeSource{Items: []v1.DownwardAPIVolumeFile{
		field("labels", "metadata.labels"), field("about/name", "metadata.name"), field("about/tier", "metadata.labels['tier']"),
		field("about/none", "metadata.annotations['none']"), resource("cpu", "limits.cpu"), resource("memory", "requests.memory"),
	}}}))
	p.Labels = map[string]string{"tier": "web", "app": "shop"}
	p = w.create(p)
	w.settle()
	for name, want := range map[string]string{
		"labels": "app=\"shop\"\ntier=\"web\"", "about/name": "web", "about/tier": "web", "about/none": "", "cpu": "64", "memory": "0",
	} {
		require.Equal(t, want, w.read(p, "/info/"+name), name)
	}
	changed := w.get("web")
	changed.Labels["tier"] = "back"
	_, err := w.user.CoreV1().Pods("default").Update(context.Background(), changed, metav1.UpdateOptions{})
	require.NoError(t, err)
	w.settle()
	require.Equal(t, "back", w.read(p, "/info/about/tier"), "a change of the pod is seen at once")
}

func TestAProjectedVolumeJoinsItsSources(t *testing.T) {
	w := simple(t)
	w.configMap("app", map[string]string{"a": "from the ConfigMap", "b": "2"})
	w.secret("app", map[string]string{"b": "from the Secret"})
	local := v1.LocalObjectReference{Name: "app"}
	projected := volumeOf("all", v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{
		{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: local}},
		{Secret: &v1.SecretProjection{LocalObjectReference: local, Items: []v1.KeyToPath{{Key: "b", Path: "deep/b"}}}},
		{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{{Path: "name", FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}},
	}}})
	p := w.create(pod("web", projected))
	w.settle()
	for name, want := range map[string]string{"a": "from the ConfigMap", "b": "2", "deep/b": "from the Secret", "name": "web"} {
		require.Equal(t, want, w.read(p, "/all/"+name))
	}
}

// What the API server lets through; package apivolume has the rest.
func TestHostileItemsNeverLeaveTheVolume(t *testing.T) {
	for name, path := range map[string]string{
		"the writer's, hidden": "./..data", "nothing": ".", "too long": strings.Repeat("x", 300), "a file as a directory": "b/c",
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			w.configMap("app", map[string]string{"a": "dead", "b": "x"})
			w.create(pod("web", configVolume("app", v1.KeyToPath{Key: "a", Path: path}, v1.KeyToPath{Key: "b", Path: "b"})))
			w.settle()
			require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
			w.requireEvent("web", "FailedMount", "invalid path")
			names, err := w.node.List("/")
			require.NoError(t, err)
			require.NotContains(t, names, "escape")
			w.delete("web")
			w.settle()
			w.requireNothingLeft()
		})
	}
}

// An attacker with access to the node's disk puts links in the volume's way.
func TestHostileLinksInAConfigVolumeAreNotFollowed(t *testing.T) {
	for name, plant := range map[string]func(w *world, dir string) error{
		"..data leads away": func(w *world, dir string) error {
			require.NoError(w.t, w.node.Remove(dir+"..data"))
			_, err := w.node.Symlink("/disk/data", dir+"..data")
			return err
		},
		"a file leads away": func(w *world, dir string) error {
			require.NoError(w.t, w.node.Remove(dir+"a"))
			_, err := w.node.Symlink("/disk/data/keep", dir+"a")
			return err
		},
		"an old directory leads away": func(w *world, dir string) error {
			_, err := w.node.Symlink("/disk/data", dir+"..2020_01_01_00_00_00.1")
			return err
		},
		"the next link is there": func(w *world, dir string) error {
			_, err := w.node.Symlink("/disk/data", dir+"..data_tmp")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			require.NoError(t, w.node.WriteFile("/disk/data/keep", []byte("alive"), 0o640))
			w.configMap("app", map[string]string{"a": "1"})
			p := w.create(pod("web", configVolume("app")))
			w.settle()
			require.NoError(t, plant(w, "/var/lib/kubelet/pods/"+string(p.UID)+"/volumes/kubernetes.io~configmap/config/"))
			w.configMap("app", map[string]string{"a": "2"})
			require.NoError(t, w.e.RunFor(5*time.Minute))
			if name != "a file leads away" {
				require.Equal(t, "2", w.read(p, "/config/a"))
			}
			w.delete("web")
			w.settle()
			w.requireNothingLeft()
			names, err := w.node.List("/disk/data")
			require.NoError(t, err)
			require.Equal(t, []string{"keep"}, names)
			data, err := w.node.ReadFile("/disk/data/keep")
			require.NoError(t, err)
			require.Equal(t, "alive", string(data))
		})
	}
}

func TestAConfigVolumeOutlivesACrashAtEveryStep(t *testing.T) {
	for step := range 12 {
		w := simple(t)
		w.configMap("app", map[string]string{"a": "1"})
		p := w.create(pod("web", configVolume("app")))
		for range 3 * step {
			_, err := w.e.Step()
			require.NoError(t, err)
		}
		require.NoError(t, w.e.Crash(actor))
		w.settle()
		require.Equal(t, "1", w.read(p, "/config/a"), "crash after %d steps", 3*step)
		w.delete("web")
		w.settle()
		w.requireNothingLeft()
	}
}

func TestAPodDeletedWhileItsConfigMapIsReadLeavesNothing(t *testing.T) {
	w := simple(t)
	w.configMap("app", map[string]string{"a": "1"})
	require.NoError(t, w.e.Inject(engine.Fault{Actor: actor, Verb: "get", Resource: "configmaps", Delay: 10 * time.Second}))
	w.create(pod("web", configVolume("app")))
	require.NoError(t, w.e.RunFor(time.Second))
	w.delete("web", 0)
	w.settle()
	w.requireNothingLeft()
}

func TestModesOfItemsAndBinaryDataAreKept(t *testing.T) {
	w := simple(t)
	mode, dflt := int32(0o400), int32(0o640)
	binary, err := base64.StdEncoding.DecodeString("AAECAw==")
	require.NoError(t, err)
	_, err = w.user.CoreV1().ConfigMaps("default").Create(context.Background(), &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "app"}, Data: map[string]string{"text": "t"}, BinaryData: map[string][]byte{"bin": binary},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	w.secret("app", map[string]string{"bin": string(binary), "text": "t", "other": ""})
	items := []v1.KeyToPath{{Key: "bin", Path: "bin", Mode: &mode}, {Key: "text", Path: "text"}}
	v := configVolume("app", items...)
	v.ConfigMap.DefaultMode = &dflt
	secret := volumeOf("secret", v1.VolumeSource{Secret: &v1.SecretVolumeSource{SecretName: "app", Items: items, DefaultMode: &dflt}})
	p := w.create(pod("web", v, secret))
	w.settle()
	for kind, name := range map[string]string{"configmap": "config", "secret": "secret"} {
		require.Equal(t, string(binary), w.read(p, "/"+name+"/bin"))
		dir := "/var/lib/kubelet/pods/" + string(p.UID) + "/volumes/kubernetes.io~" + kind + "/" + name + "/"
		for file, want := range map[string]int32{"bin": mode, "text": dflt} {
			info, err := w.node.Stat(dir + file)
			require.NoError(t, err)
			require.Equal(t, want, int32(info.Mode().Perm()), name+"/"+file)
		}
		_, err := w.node.Stat(dir + "other")
		require.ErrorIs(t, err, fs.ErrNotExist, "items name the others only")
	}
}

// A user's plugin that takes volumes of another plugin, too.
type impostor struct{ volume.VolumePlugin }

func (impostor) GetPluginName() string { return "example.com/scratch" }

func TestTwoPluginsForAPodsVolumeAreAnEventThatNamesThem(t *testing.T) {
	w := newWorld(t, engine.Config{}, kubelet.Config{Plugins: func() []volume.VolumePlugin {
		return append(kubelet.DefaultPlugins(), impostor{emptydir.NewPlugin()})
	}})
	w.create(pod("web", volumeOf("tmp", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})))
	w.settle()
	require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
	w.requireEvent("web", "FailedMount", "multiple volume plugins matched: example.com/scratch,kubernetes.io/empty-dir")
}

// Files where directories should be: the event says so, and a retry succeeds.
func TestAFileInTheWayIsAnEventUntilItIsGone(t *testing.T) {
	type way struct {
		file   string // where a file is in the way; %s is the pod's UID
		volume v1.Volume
		event  string
	}
	for name, test := range map[string]way{
		"a local volume's directory": {"/disk/data", claim("data"), "only directory and block device are supported"},
		"a hostPath's parent": {
			"/opt", hostPath("tool", "/opt/tool", v1.HostPathDirectoryOrCreate), `MountVolume.SetUp failed for volume "tool"`,
		},
		"a hostPath":       {"/opt", hostPath("opt", "/opt", v1.HostPathDirectory), "hostPath type check failed: /opt is not a directory, it's a File"},
		"the pods' own":    {"/var/lib/kubelet/pods", configVolume("app"), ""},
		"the volume's own": {"/var/lib/kubelet/pods/%s/volumes/kubernetes.io~configmap", configVolume("app"), "not a directory"},
		"the mount point":  {"/var/lib/kubelet/pods/%s/volumes/kubernetes.io~local-volume/pv-data", claim("data"), `MountVolume.SetUp failed for volume "pv-data"`},
		"an emptyDir's own": {"/var/lib/kubelet/pods/%s/volumes/kubernetes.io~empty-dir/tmp", volumeOf("tmp", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}),
			`MountVolume.SetUp failed for volume "tmp"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			w.boundVolume("data", nil)
			w.configMap("app", map[string]string{"a": "1"})
			require.NoError(t, w.e.Hold(actor, "pods"))
			p := w.create(pod("web", test.volume))
			at := strings.ReplaceAll(test.file, "%s", string(p.UID))
			require.NoError(t, w.node.RemoveAll(at))
			require.NoError(t, w.node.MkdirAll(path.Dir(at), 0o755))
			require.NoError(t, w.node.WriteFile(at, []byte("in the way"), 0o644))
			require.NoError(t, w.e.Release(actor, "pods"))
			w.settle()
			require.Equal(t, v1.PodPending, w.get("web").Status.Phase)
			if test.event != "" {
				w.requireEvent("web", "FailedMount", test.event)
			}
			data, err := w.node.ReadFile(at)
			require.NoError(t, err)
			require.Equal(t, "in the way", string(data), "nobody removes what is not his")
			require.NoError(t, w.node.Remove(at))
			require.NoError(t, w.node.MkdirAll("/disk/data", 0o755))
			if test.file == "/opt" {
				require.NoError(t, w.node.MkdirAll("/opt", 0o755))
			}
			require.NoError(t, w.e.RunFor(5*time.Minute))
			require.Equal(t, v1.PodRunning, w.get("web").Status.Phase)
			w.delete("web")
			w.settle()
		})
	}
}
