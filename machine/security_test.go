package machine_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/internal/rigs/clustertest"
	"github.com/storagesim/storagesim/internal/seedtest"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
)

// tested is embedded by that name, so that Cluster is the storagesim.Cluster.
type tested = storagesimtest.Cluster

// prison is a cluster whose nodes' directories lie in a machine with canaries.
// Node-2's directory is as much outside of node-1's as the rest of the machine.
type prison struct {
	*tested
	t       testing.TB
	machine string
	before  string
}

func newPrison(t testing.TB) *prison {
	machine := t.TempDir()
	for _, dir := range []string{"etc", "secret/deep", "nodes/node-2/secret"} {
		require.NoError(t, os.MkdirAll(filepath.Join(machine, dir), 0o755))
	}
	for _, file := range []string{"canary", "etc/passwd", "secret/canary", "secret/deep/canary", "nodes/canary", "nodes/node-2/secret/canary"} {
		require.NoError(t, os.WriteFile(filepath.Join(machine, file), []byte("alive"), 0o640))
	}
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1", "node-2"), Dir: filepath.Join(machine, "nodes")})
	c.AddProvisionController(openebs.Controller(openebs.Config{}))
	c.Settle()
	p := &prison{tested: c, t: t, machine: machine}
	p.before = p.outside()
	return p
}

// outside describes all that is not node-1's: names, modes and contents.
func (p *prison) outside() string {
	var b strings.Builder
	require.NoError(p.t, filepath.WalkDir(p.machine, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == filepath.Join(p.machine, "nodes/node-1") {
			return cmp.Or(err, fs.SkipDir)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(strings.TrimPrefix(name, p.machine) + " " + info.Mode().String())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			b.WriteString(" " + string(data))
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

// link plants a symbolic link on node-1, with any text.
func (p *prison) link(text, at string) {
	name := filepath.Join(p.machine, "nodes/node-1", at)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(p.t, os.RemoveAll(name))
	require.NoError(p.t, os.Symlink(strings.ReplaceAll(text, "MACHINE", p.machine), name))
}

// write writes a file on node-1 as an attacker with a shell there would.
func (p *prison) write(at, text string) {
	name := filepath.Join(p.machine, "nodes/node-1", at)
	require.NoError(p.t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(p.t, os.WriteFile(name, []byte(strings.ReplaceAll(text, "MACHINE", p.machine)), 0o644))
}

// decoy makes a directory outside look like a pod's: with volumes whose data is a
// canary, and empty ones.
func (p *prison) decoy(dir string) {
	for _, volume := range []string{"kubernetes.io~empty-dir/data", "kubernetes.io~local-volume/hostile", "example.com~unknown/x"} {
		at := filepath.Join(p.machine, dir, "volumes", volume)
		require.NoError(p.t, os.MkdirAll(at, 0o755))
		if strings.HasSuffix(volume, "/data") {
			require.NoError(p.t, os.WriteFile(filepath.Join(at, "canary"), []byte("alive"), 0o640))
		}
	}
	p.before = p.outside()
}

// podDir returns the kubelet's directory of a running pod.
func (p *prison) podDir(pod string) string {
	return "var/lib/kubelet/pods/" + string(p.Pod(pod).UID)
}

// use does to a running pod's files what its program could.
func (p *prison) use(pod string) (read string) {
	for _, dir := range []string{"/data", "/data/out", "/data/out/deep", "/data/..", "/data/../../secret", "/", "data", "/data/../data/out"} {
		for _, file := range []string{"", "/canary", "/deep/canary", "/etc/passwd", "/passwd"} {
			data, _ := p.Cluster.Machine("pod/" + pod).ReadFile(dir + file)
			names, _ := p.Cluster.Machine("pod/" + pod).ListDir(dir + file)
			read += data + strings.Join(names, " ")
			_ = p.Cluster.Machine("pod/"+pod).WriteFile(dir+file, "dead")
		}
	}
	return read
}

// classYAML returns OpenEBS with a base path of its own, and a claim for node-1.
func classYAML(base string) string {
	return `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: hostile
  annotations: {cas.openebs.io/config: '[{name: BasePath, value: "` + base + `"}]'}
provisioner: openebs.io/local
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: hostile
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  nodeSelector: {kubernetes.io/hostname: node-1}
  securityContext: {fsGroup: 4242}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
`
}

// volumeYAML returns a volume with a source of its own, bound to a claim that a pod
// uses; when both go, OpenEBS is to remove what the volume names.
func volumeYAML(source string) string {
	return `
apiVersion: v1
kind: PersistentVolume
metadata:
  name: hostile
  annotations: {pv.kubernetes.io/provisioned-by: openebs.io/local}
spec:
  storageClassName: manual
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Delete
  claimRef: {namespace: default, name: data}
  ` + source + `
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  storageClassName: manual
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  securityContext: {fsGroup: 4242}
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
  containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
`
}

const (
	atData  = "mountPath: /data"
	noShell = "[sleep, infinity]"
	outLink = `["rm", "-rf", "/data/out", "/data/out/", "/data/out/canary", "/data/out/deep", "/data/../../../secret", "/data/", "/"]`
	makeOut = `["mkdir", "-m", "0777", "-p", "/data/out/made", "/data/../../../secret/made", "/data/../out", "/made", "data/made"]`
)

// yamlAttacks go through manifests. refused holds the API server's answer to one that
// it does not accept.
var yamlAttacks = []struct {
	name, manifest string
	refused        string
	prepare        func(p *prison)
}{
	{"a hostPath that climbs", clustertest.PodYAML("web", clustertest.HostPathYAML("/../../secret", "Directory"), atData, outLink), "must not contain '..'", nil},
	{"a hostPath with a hidden climb", clustertest.PodYAML("web", clustertest.HostPathYAML("/var/x/../../../secret", `""`), atData, outLink),
		"must not contain '..'", nil},
	{"a relative hostPath", clustertest.PodYAML("web", clustertest.HostPathYAML("secret", "DirectoryOrCreate"), atData, outLink), "", nil},
	{"a hostPath that is a path of the machine", clustertest.PodYAML("web", clustertest.HostPathYAML("MACHINE/secret", "DirectoryOrCreate"), atData, outLink), "",
		nil},
	{"a hostPath through proc", clustertest.PodYAML("web", clustertest.HostPathYAML("/proc/self/root/MACHINE/secret", "DirectoryOrCreate"), atData, outLink), "",
		nil},
	{"the node's root, removed", clustertest.PodYAML("web", clustertest.HostPathYAML("/", "Directory"), atData, `["rm", "-rf", "/data", "/data/", "/data/."]`), "",
		nil},
	{"the node's root, all its children removed",
		clustertest.PodYAML("web", clustertest.HostPathYAML("/", "Directory"), atData, `["rm", "-rf", "/data/var", "/data/run", "/data/out"]`), "",
		func(p *prison) { p.link("../..", "out") }},
	{"a hostPath that is an absolute link", clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", `""`), atData, outLink), "",
		func(p *prison) { p.link("MACHINE/secret", "srv") }},
	{"a hostPath that is a relative link outwards", clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "DirectoryOrCreate"), atData, outLink), "",
		func(p *prison) { p.link("../../secret", "srv") }},
	{"a hostPath to the other node", clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "Directory"), atData, makeOut), "",
		func(p *prison) { p.link("../node-2/secret", "srv") }},
	{"a hostPath to be made through a dangling link", clustertest.PodYAML("web", clustertest.HostPathYAML("/srv/new", "DirectoryOrCreate"), atData, makeOut), "",
		func(p *prison) { p.link("../../new", "srv") }},
	{"a hostPath file to be made through a dangling link", clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "FileOrCreate"), atData, noShell), "",
		func(p *prison) { p.link("../../new", "srv") }},
	{"a hostPath file that is a link to a file", clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "File"), atData, noShell), "",
		func(p *prison) { p.link("../../canary", "srv") }},
	{"rm behind a link in the volume", clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "Directory"), atData, outLink), "",
		func(p *prison) { p.link("../../../secret", "srv/out") }},
	{"rm behind an absolute link in the volume", clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "Directory"), atData, outLink), "",
		func(p *prison) { p.link("MACHINE/secret", "srv/out") }},
	{"mkdir behind a link in the volume", clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "Directory"), atData, makeOut), "",
		func(p *prison) { p.link("MACHINE/secret", "srv/out") }},
	{"a working directory outside",
		strings.Replace(clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "DirectoryOrCreate"), atData, `["rm", "-rf", "../../../secret", "."]`),
			"image: busybox", "image: busybox, workingDir: /data/../..", 1), "", nil},
	{"a mount path that climbs",
		clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "DirectoryOrCreate"), "mountPath: /data/../../..", `["rm", "-rf", "/secret", "/"]`), "", nil},
	{"a subPath that climbs", clustertest.PodYAML("web", "emptyDir: {}", atData+", subPath: ../../../../../../../../secret", outLink),
		"must not contain '..'", nil},
	{"an absolute subPath", clustertest.PodYAML("web", "emptyDir: {}", atData+", subPath: /etc", outLink), "must be a relative path", nil},
	{"a subPath that is a link", clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "Directory"), atData+", subPath: out", outLink), "",
		func(p *prison) { p.link("../../../secret", "srv/out") }},
	{"a subPath to be made behind a link", clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "Directory"), atData+", subPath: out/new/deep", makeOut),
		"",
		func(p *prison) { p.link("MACHINE", "srv/out") }},
	{"a volume's name that climbs",
		strings.ReplaceAll(clustertest.PodYAML("web", "emptyDir: {}", atData, noShell), "name: data,", `name: "../../../../../secret",`), "RFC 1123 label", nil},
	{"a pod's name that climbs", clustertest.PodYAML("../../secret", "emptyDir: {}", atData, noShell), "may not contain '/'", nil},
	{"a node's name that climbs", strings.Replace(clustertest.PodYAML("web", clustertest.HostPathYAML("/", "Directory"), atData, outLink), "node-1",
		"../../secret", 1), "RFC 1123 subdomain", nil},
	{"a UID that climbs",
		strings.Replace(clustertest.PodYAML("web", "emptyDir: {}", atData, noShell), "{name: web}", `{name: web, uid: "../../../../../../secret"}`, 1), "", nil},
	{"a base path that climbs", classYAML("/var/../../../secret"), "", nil},
	{"a base path that is the root", classYAML("/"), "", nil},
	{"a base path of the machine", classYAML("MACHINE/secret"), "", nil},
	{"a base path behind a link", classYAML("/out/deep"), "", func(p *prison) { p.link("../../secret", "out") }},
	{"a base path that is an absolute link", classYAML("/srv/out"), "", func(p *prison) { p.link("MACHINE/secret", "srv/out") }},
	{"a base path that looks like an option", classYAML("/-rf/--/*"), "", nil},
	{"a base path with a newline", classYAML(`/srv/x\n/../../secret`), "", nil},
	{"a local volume that climbs", volumeYAML("local: {path: /var/../../../secret}"), "must not contain '..'", nil},
	{"a local volume that is a path of the machine", volumeYAML("local: {path: MACHINE/secret}"), "", nil},
	{"a local volume that is a link", volumeYAML("local: {path: /srv/out}"), "", func(p *prison) { p.link("MACHINE/secret", "srv/out") }},
	{"a local volume behind a link", volumeYAML("local: {path: /srv/out/deep}"), "", func(p *prison) { p.link("../../../secret", "srv/out") }},
	{"a local volume that is the node's root", volumeYAML("local: {path: /}"), "", func(p *prison) { p.link("../..", "out") }},
	{"a local volume full of links", volumeYAML("local: {path: /srv/volume}"), "", func(p *prison) {
		p.link("MACHINE/secret", "srv/volume/out")
		p.link("../../../..", "srv/volume/up")
	}},
	{"a hostPath volume that is a link", volumeYAML("hostPath: {path: /srv/out}"), "", func(p *prison) { p.link("MACHINE/secret", "srv/out") }},
	{"a recycled volume full of links", strings.Replace(volumeYAML("hostPath: {path: /srv/volume}"), "Delete", "Recycle", 1), "", func(p *prison) {
		p.link("MACHINE/secret", "srv/volume/out")
		p.link("../../../..", "srv/volume/up")
	}},
	{"find behind a link",
		clustertest.PodYAML("web", clustertest.HostPathYAML("/srv", "Directory"), atData, `["find", "/data/out/deep", "-mindepth", "1", "-delete"]`), "",
		func(p *prison) { p.link("../../../secret", "srv/out") }},
	{"a hostPath volume that climbs", volumeYAML("hostPath: {path: /srv/../../../secret}"), "must not contain '..'", nil},
}

func TestNoManifestReachesOutOfItsNode(t *testing.T) {
	require.GreaterOrEqual(t, len(yamlAttacks), 30)
	for _, a := range yamlAttacks {
		t.Run(a.name, func(t *testing.T) {
			p := newPrison(t)
			if a.prepare != nil {
				a.prepare(p)
			}
			err := p.Cluster.Apply(strings.ReplaceAll(a.manifest, "MACHINE", p.machine))
			if a.refused != "" {
				require.ErrorContains(t, err, a.refused)
			} else {
				require.NoError(t, err)
			}
			p.Settle()
			read := p.use("web")
			p.Crash("kubelet/node-1")
			p.Settle()
			_ = p.Cluster.Delete("pod/web")
			_ = p.Cluster.Delete("pvc/data")
			p.RunFor(10 * time.Minute)
			require.NotContains(t, read, "alive", "it read a file outside")
			require.Equal(t, p.before, p.outside(), "it changed something outside")
			require.DirExists(t, filepath.Join(p.machine, "nodes/node-1"))
		})
	}
}

// nodeAttacks are made by a user who can write anything on the node, while a pod
// with an emptyDir ("tmp") and one with a local volume ("web") run there.
var nodeAttacks = map[string]func(p *prison){
	"a link in the volume":          func(p *prison) { p.link("MACHINE/secret", "srv/volume/out") },
	"a relative link in the volume": func(p *prison) { p.link("../../../../secret", "srv/volume/out") },
	"a link in the emptyDir": func(p *prison) {
		p.link("MACHINE/secret", p.podDir("tmp")+"/volumes/kubernetes.io~empty-dir/data/out")
	},
	"the volume replaced by a link":   func(p *prison) { p.link("MACHINE/secret", "srv/volume") },
	"the volume's parent replaced":    func(p *prison) { p.link("../..", "srv") },
	"the emptyDir replaced by a link": func(p *prison) { p.link("MACHINE/secret", p.podDir("tmp")+"/volumes/kubernetes.io~empty-dir/data") },
	"the emptyDirs replaced by a link": func(p *prison) {
		p.decoy("decoy")
		p.link("MACHINE/decoy/volumes/kubernetes.io~empty-dir", p.podDir("tmp")+"/volumes/kubernetes.io~empty-dir")
	},
	"the mount replaced by another link": func(p *prison) {
		p.link("MACHINE/secret", p.podDir("web")+"/volumes/kubernetes.io~local-volume/hostile")
	},
	"a pod's volumes replaced by a link": func(p *prison) {
		p.decoy("decoy")
		p.link("MACHINE/decoy/volumes", p.podDir("web")+"/volumes")
	},
	"a pod's directory replaced by a link": func(p *prison) {
		p.decoy("decoy")
		p.link("../../../../../../../decoy", p.podDir("tmp"))
	},
	"all pods' directory replaced": func(p *prison) {
		p.decoy("decoy/" + string(p.Pod("tmp").UID))
		p.decoy("decoy/" + string(p.Pod("web").UID))
		p.link("MACHINE/decoy", "var/lib/kubelet/pods")
	},
	"the kubelet's directory replaced": func(p *prison) {
		p.decoy("decoy/pods/" + string(p.Pod("tmp").UID))
		p.link("../../../../decoy", "var/lib/kubelet")
	},
	"the mount table replaced by a link": func(p *prison) { p.link("MACHINE/secret", "run/mounts/x.json") },
	"the images in another place":        func(p *prison) { p.link("MACHINE/secret", "run/containerd/images") },
	"a pod's directory that names a place outside": func(p *prison) {
		p.link("MACHINE/secret", "var/lib/kubelet/pods/stray/volumes/kubernetes.io~empty-dir/deep")
		p.link("MACHINE", "var/lib/kubelet/pods/other/volumes/kubernetes.io~empty-dir")
		p.link("MACHINE", "var/lib/kubelet/pods/third")
	},
	"a mount record for a place outside": func(p *prison) {
		text := `{"source": "/../../secret", "target": "/../../secret/canary", "options": ["bind"], "mode": 511}`
		p.write("run/mounts/"+clustertest.MountRecord("/../../secret/canary"), text)
		text = `{"source": "/", "target": "/out", "options": ["bind"], "mode": 4294967295}`
		p.link("MACHINE/secret", "out")
		p.write("run/mounts/"+clustertest.MountRecord("/out"), text)
	},
	"a mount record with a place outside for its source": func(p *prison) {
		target := "/" + p.podDir("web") + "/volumes/kubernetes.io~local-volume/hostile"
		p.link("MACHINE/secret", target)
		p.write("run/mounts/"+clustertest.MountRecord(target), `{"source": "MACHINE/secret", "target": "`+target+`", "file": true, "mode": 2147484159}`)
	},
}

func TestNothingPlantedOnANodeReachesOutOfIt(t *testing.T) {
	t.Parallel()
	for name, attack := range nodeAttacks {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, crash=%v", name, crash), func(t *testing.T) {
				p := newPrison(t)
				p.write("srv/volume/file", "data")
				p.Apply(volumeYAML("local: {path: /srv/volume}"), clustertest.PodYAML("tmp", "emptyDir: {}", atData, noShell))
				p.Settle()
				require.Equal(t, v1.PodRunning, p.Pod("web").Status.Phase)
				require.Equal(t, v1.PodRunning, p.Pod("tmp").Status.Phase)
				attack(p)
				read := p.use("web") + p.use("tmp")
				if crash {
					p.Crash("kubelet/node-1")
					_ = p.Cluster.Settle() // a kubelet may find that it cannot work; it must not do harm
				}
				read += p.use("web") + p.use("tmp")
				p.Delete("pod/web", "pod/tmp", "pvc/data")
				_ = p.Cluster.RunFor(10 * time.Minute)
				_ = p.Cluster.RequireNoLeaks()
				require.NotContains(t, read, "alive", "it read a file outside")
				require.Equal(t, p.before, p.outside(), "it changed something outside")
			})
		}
	}
}

func TestThePlacesOfFilesAreConfinedToo(t *testing.T) {
	p := newPrison(t)
	p.link("MACHINE/secret", "out")
	p.link("../../secret", "up")
	for _, where := range []string{"node/node-1", "node/../node-2", "node/", "node/node-1/..", "node/node-1/../node-2", "pod/../../secret", "pod/"} {
		for _, path := range []string{
			"/../../secret/canary", "../../secret/canary", "/out/canary", "/up/canary", "/up/deep/canary", "/../node-2/secret/canary",
			p.machine + "/secret/canary", "/up", "/out", "", ".", "/..", "/proc/self/root" + p.machine + "/secret/canary", "/\x00/../canary", "/secret/canary",
		} {
			data, err := p.Cluster.Machine(where).ReadFile(path)
			require.Error(t, err, "%s %q", where, path)
			require.Empty(t, data)
			names, err := p.Cluster.Machine(where).ListDir(path)
			require.Error(t, err, "%s %q", where, path)
			require.Empty(t, names)
			require.Error(t, p.Cluster.Machine(where).WriteFile(path, "dead"), "%s %q", where, path)
			_ = p.Cluster.Machine(where).MakeDir(path, 0o755) // some of these can be made on the node
		}
	}
	require.Equal(t, p.before, p.outside())
}

// hostilePath makes a path of pieces that matter.
func hostilePath(rng *rand.Rand, machine string) string {
	pieces := []string{"..", "..", ".", "", "srv", "srv", "out", "out", "var", "lib", "kubelet", "pods", "run", "mounts", "data", "secret", "canary", "x y", "-rf",
		"*", "\n", "\x00", "proc/self/root", machine}
	path := []string{"", "/", "/data/", "/srv/"}[rng.IntN(4)]
	for range rng.IntN(6) {
		path += pieces[rng.IntN(len(pieces))] + "/"
	}
	return path + pieces[rng.IntN(len(pieces))]
}

// playHostile has every path of two helpers' and a volume's manifests, and links
// on the node, be made of hostile pieces.
func playHostile(t testing.TB, seed uint64) {
	rng, p := rand.New(rand.NewPCG(seed, 2)), newPrison(t)
	path := func() string { return hostilePath(rng, p.machine) }
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	p.write("srv/data/file", "inside")
	for i := range 1 + rng.IntN(3) {
		at := "srv/out"
		if i > 0 {
			at = strings.TrimPrefix(path(), "/")
		}
		if filepath.IsLocal(at) {
			_ = os.MkdirAll(filepath.Join(p.machine, "nodes/node-1", filepath.Dir(at)), 0o755)
			_ = os.Symlink(path(), filepath.Join(p.machine, "nodes/node-1", at))
		}
	}
	for i, command := range []string{`"mkdir", "-m", "0777", "-p"`, `"rm", "-rf"`} {
		name, mount := fmt.Sprintf("pod-%d", i), "mountPath: /data"
		if rng.IntN(3) == 0 {
			mount += ", subPath: " + quote(path())
		}
		_ = p.Cluster.Apply(clustertest.PodYAML(name, "hostPath: {type: DirectoryOrCreate, path: "+quote(path())+"}", mount, "["+command+", "+quote(path())+", "+
			quote("/data/"+path())+"]"))
		_ = p.Cluster.Settle()
		require.NotContains(t, p.use(name), "alive")
	}
	_ = p.Cluster.Apply(volumeYAML("local: {path: " + quote(path()) + "}"))
	_ = p.Cluster.Settle() // a helper may have broken the node: a kubelet that says so does no harm
	_ = p.Cluster.Crash("kubelet/node-1")
	_ = p.Cluster.Delete("pod/web")
	_ = p.Cluster.Delete("pvc/data")
	_ = p.Cluster.RunFor(5 * time.Minute)
	require.Equal(t, p.before, p.outside())
}

func TestNoManifestMadeOfHostilePathsReachesOutOfItsNode(t *testing.T) {
	t.Parallel()
	seedtest.Each(t, 60, playHostile)
}
