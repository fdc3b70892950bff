package nfs_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/storagesim/storagesim/storagesimtest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/provisioner/nfs"
)

const (
	server = "192.168.203.110"
	export = "/data/nfs"
)

func classYAML(provisioner, rest string) string {
	return fmt.Sprintf(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: my-nfs}
provisioner: %s
volumeBindingMode: Immediate
%s
`, provisioner, rest)
}

// claimYAML returns a claim that many nodes may write to; more is added to its spec.
func claimYAML(name, metadata, more string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s, %s}
spec:
  storageClassName: my-nfs
  accessModes: [ReadWriteMany]
  resources: {requests: {storage: 1Gi}}
  %s
`, name, metadata, more)
}

func podYAML(name, claim, node string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeSelector: {kubernetes.io/hostname: %s}
  containers: [{name: c, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: %s}}]
`, name, node, claim)
}

// tested is embedded by that name, so that Cluster is the storagesim.Cluster.
type tested = storagesimtest.Cluster

type cluster struct {
	*tested
	t *testing.T
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := storagesimtest.New(t, storagesim.Config{
		Nodes:      storagesim.Nodes("node1", "node2"),
		NFSServers: []storagesim.NFSServer{{Name: server, Exports: []string{export}}},
	})
	c.AddProvisioner(nfs.StaticName, nfs.Static{})
	c.AddProvisionController(nfs.Controller(c.Machine("nfs/"+server).NFSServer(), nfs.Config{Server: server, Path: export}))
	return &cluster{c, t}
}

func (c *cluster) exported() []string {
	c.t.Helper()
	names, err := c.Cluster.Machine("nfs/" + server).ListDir(export)
	require.NoError(c.t, err)
	return names
}

func (c *cluster) volumes() int {
	c.t.Helper()
	volumes, err := c.Client().CoreV1().PersistentVolumes().List(context.Background(), metav1.ListOptions{})
	require.NoError(c.t, err)
	return len(volumes.Items)
}

const staticParameters = "parameters: {server: 192.168.203.110, path: /data/nfs, readOnly: \"false\"}\nmountOptions: [hard]"

func TestTheStaticProvisionerReturnsWhatTheClassSays(t *testing.T) {
	c := newCluster(t)
	c.Apply(classYAML(nfs.StaticName, staticParameters), claimYAML("one", "", ""), claimYAML("two", "", ""),
		podYAML("one", "one", "node1"), podYAML("two", "two", "node2"))
	c.Settle()
	require.Equal(t, v1.PodRunning, c.Pod("one").Status.Phase)
	require.Equal(t, v1.PodRunning, c.Pod("two").Status.Phase)
	pv := c.Volume(c.Claim("one").Spec.VolumeName)
	assert.Equal(t, &v1.NFSVolumeSource{Server: server, Path: export}, pv.Spec.NFS)
	assert.Equal(t, []string{"hard"}, pv.Spec.MountOptions)
	assert.Equal(t, v1.PersistentVolumeReclaimDelete, pv.Spec.PersistentVolumeReclaimPolicy)
	c.Machine("pod/one").WriteFile("/data/x", "of one")
	assert.Equal(t, "of one", c.Machine("pod/two").ReadFile("/data/x"), "two claims, one directory")

	c.Delete("pod/one", "pvc/one")
	c.Settle()
	assert.Equal(t, 1, c.volumes())
	assert.Equal(t, "of one", c.Machine("pod/two").ReadFile("/data/x"), "Delete deletes nothing")
	c.RequireNoLeaks()
}

func TestEachClaimGetsADirectoryOfTheExport(t *testing.T) {
	c := newCluster(t)
	c.Apply(classYAML(nfs.SubdirName, `parameters: {onDelete: delete}`), claimYAML("one", "", ""), claimYAML("two", "", ""),
		podYAML("one", "one", "node1"), podYAML("also-one", "one", "node2"), podYAML("two", "two", "node2"))
	c.Settle()
	one, two := c.Claim("one").Spec.VolumeName, c.Claim("two").Spec.VolumeName
	assert.ElementsMatch(t, []string{"default-one-" + one + "/", "default-two-" + two + "/"}, c.exported())
	assert.Equal(t, &v1.NFSVolumeSource{Server: server, Path: export + "/default-one-" + one}, c.Volume(one).Spec.NFS)
	info, err := c.Machine("nfs/" + server).NFSServer().Disk().Stat(export + "/default-one-" + one)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o777), info.Mode().Perm())
	c.Machine("pod/one").WriteFile("/data/x", "of one")
	assert.Equal(t, "of one", c.Machine("pod/also-one").ReadFile("/data/x"), "on another node")
	names := c.Machine("pod/two").ListDir("/data")
	assert.Empty(t, names)
	assert.Contains(t, c.Story(), `runs "mkdir -m 0777 -p /persistentvolumes/default-one-`+one+`" in export 192.168.203.110:/data/nfs`)

	c.Delete("pod/one", "pod/also-one", "pod/two", "pvc/one", "pvc/two")
	c.Settle()
	assert.Empty(t, c.exported())
	assert.Zero(t, c.volumes())
	c.RequireNoLeaks()
}

// semantics 4.3 and semantics 4 must 5: what is done with the directory when the volume is
// deleted.
func TestWhatHappensToTheDirectoryOfADeletedVolume(t *testing.T) {
	for name, tt := range map[string]struct {
		class string
		want  string // PV stands for the volume's name
	}{
		"by default it is archived":       {"", "archived-default-data-PV/"},
		"archiveOnDelete true":            {`parameters: {archiveOnDelete: "true"}`, "archived-default-data-PV/"},
		"archiveOnDelete false":           {`parameters: {archiveOnDelete: "false"}`, ""},
		"onDelete delete":                 {"parameters: {onDelete: delete}", ""},
		"onDelete retain":                 {"parameters: {onDelete: retain}", "default-data-PV/"},
		"onDelete wins: delete":           {`parameters: {onDelete: delete, archiveOnDelete: "true"}`, ""},
		"onDelete wins: retain":           {`parameters: {onDelete: retain, archiveOnDelete: "false"}`, "default-data-PV/"},
		"the reclaim policy Retain":       {"reclaimPolicy: Retain\nparameters: {onDelete: delete}", "default-data-PV/"},
		"an empty onDelete is as if none": {`parameters: {onDelete: "", archiveOnDelete: "false"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.Apply(classYAML(nfs.SubdirName, tt.class), claimYAML("data", "", ""), podYAML("web", "data", "node1"))
			c.Settle()
			pv := c.Claim("data").Spec.VolumeName
			c.Machine("pod/web").WriteFile("/data/x", "here")
			c.Delete("pod/web", "pvc/data")
			c.Settle()
			leaves := "leaves /data/nfs/default-data-" + pv + " on NFS server " + server + ", since onDelete is retain"
			assert.Equal(t, strings.HasPrefix(name, "onDelete") && strings.HasSuffix(name, "retain"), strings.Contains(c.Story(), leaves))
			if tt.want == "" {
				assert.Empty(t, c.exported())
			} else {
				dir := strings.ReplaceAll(tt.want, "PV", pv)
				assert.Equal(t, []string{dir}, c.exported())
				assert.Equal(t, "here", c.Machine("nfs/"+server).ReadFile(export+"/"+dir+"x"))
			}
			c.RequireNoLeaks()
		})
	}
}

func TestADirectoryThatIsGoneAlreadyIsDeleted(t *testing.T) {
	c := newCluster(t)
	c.Apply(classYAML(nfs.SubdirName, ""), claimYAML("data", "", ""))
	c.Settle()
	pv := c.Claim("data").Spec.VolumeName
	require.NoError(t, c.Machine("nfs/"+server).NFSServer().Disk().RemoveAll(export+"/default-data-"+pv))
	c.Delete("sc/my-nfs", "pvc/data")
	c.Settle()
	assert.Zero(t, c.volumes())
	assert.Contains(t, c.Story(), "pv "+pv+": path /persistentvolumes/default-data-"+pv+" does not exist, deletion skipped")
}

func TestDeletingNeedsTheClassAndIsTriedAgain(t *testing.T) {
	c := newCluster(t)
	class := classYAML(nfs.SubdirName, "parameters: {onDelete: delete}")
	c.Apply(class, claimYAML("data", "", ""))
	c.Settle()
	c.Delete("sc/my-nfs", "pvc/data")
	c.RunFor(time.Minute)
	assert.Contains(t, c.Story(), `Warning VolumeFailedDelete: storageclasses.storage.k8s.io "my-nfs" not found`)
	assert.Len(t, c.exported(), 1)
	c.Apply(class)
	c.RunFor(10 * time.Minute)
	assert.Empty(t, c.exported())
	c.RequireNoLeaks()
}

// semantics 4.3: pathPattern, with what it does not know being empty.
func TestAPathPatternNamesTheDirectory(t *testing.T) {
	for pattern, want := range map[string]string{
		"${.PVC.namespace}/${.PVC.name}":                 "default/data",
		"${.PVC.labels.app}-${.PVC.annotations.a.b/dir}": "shop-deep/er",
		"x${.PVC.labels.none}${.PVC.uid}y":               "xy",
		"/${.PVC.name}/":                                 "data",
		"${.PVC.none}":                                   "default-data-VOLUME",
		"${.PVC.name":                                    "${.PVC.name",
		"a..b":                                           "a..b",
	} {
		t.Run(pattern, func(t *testing.T) {
			c := newCluster(t)
			c.Apply(classYAML(nfs.SubdirName, fmt.Sprintf("parameters: {pathPattern: %q, onDelete: delete}", pattern)),
				claimYAML("data", "labels: {app: shop}, annotations: {a.b/dir: deep/er}", ""))
			c.Settle()
			pv := c.Claim("data").Spec.VolumeName
			dir := export + "/" + strings.ReplaceAll(want, "VOLUME", pv)
			require.Equal(t, dir, c.Volume(pv).Spec.NFS.Path)
			c.Machine("nfs/" + server).ListDir(dir)
			c.Delete("pvc/data")
			c.Settle()
			_, err := c.Cluster.Machine("nfs/" + server).ListDir(dir)
			require.ErrorIs(t, err, fs.ErrNotExist)
			c.RequireNoLeaks()
		})
	}
}

// semantics 4 must 9.
func TestAPathPatternThatEscapesTheExportIsRefused(t *testing.T) {
	for pattern, gives := range map[string]string{
		"../etc":                         "../etc",
		"${.PVC.annotations.dir}":        "../../etc",
		"a/../../b":                      "a/../../b",
		"a/..":                           "a/..",
		".":                              ".",
		"/":                              "/",
		"./":                             "./",
		"${.PVC.namespace}/../other":     "default/../other",
		"${.PVC.name}/..":                "data/..",
		"x/${.PVC.annotations.dir}/../y": "x/../../etc/../y",
	} {
		c := newCluster(t)
		c.Apply(classYAML(nfs.SubdirName, fmt.Sprintf("parameters: {pathPattern: %q}", pattern)), claimYAML("data", "annotations: {dir: ../../etc}", ""))
		c.RunFor(time.Minute)
		assert.Contains(t, c.Story(),
			fmt.Sprintf("storage class my-nfs has pathPattern %q, which gives %q for claim default/data; it must be a directory in the export", pattern, gives))
		assert.Zero(t, c.volumes())
		assert.Empty(t, c.exported())
	}
}

// doc.go: a volume that claims to be ours must not have anything else deleted.
func TestAVolumeThatIsNotInTheExportIsNotDeleted(t *testing.T) {
	for _, source := range []string{
		"nfs: {server: 192.168.203.110, path: /data/nfs}", "nfs: {server: 192.168.203.110, path: /data/nfs-other/x}",
		"nfs: {server: 192.168.203.110, path: /etc}", "nfs: {server: 192.168.203.111, path: /data/nfs/keep}",
	} {
		c := newCluster(t)
		require.NoError(t, c.Machine("nfs/"+server).NFSServer().Disk().MakeDir(export+"/keep", 0o777))
		c.Apply(classYAML(nfs.SubdirName, "parameters: {onDelete: delete}"), `
apiVersion: v1
kind: PersistentVolume
metadata: {name: forged, annotations: {pv.kubernetes.io/provisioned-by: k8s-sigs.io/nfs-subdir-external-provisioner}}
spec:
  storageClassName: my-nfs
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  persistentVolumeReclaimPolicy: Delete
  claimRef: {namespace: default, name: gone, uid: 00000000-0000-0000-0000-000000000001}
  `+source+"\n")
		c.RunFor(time.Minute)
		assert.Contains(t, c.Story(), "says of pv forged: Warning VolumeFailedDelete: volume forged is 192.168.203.11", source)
		assert.Contains(t, c.Story(), "which is not a directory in the export 192.168.203.110:/data/nfs", source)
		assert.Equal(t, []string{"keep/"}, c.exported())
		assert.Equal(t, 1, c.volumes())
	}
}

// The library deletes what it cannot save, which archives the directory, and makes the volume again under the same name.
func TestAVolumeThatCouldNotBeSavedAtFirstCanNeverBeDeleted(t *testing.T) {
	c := newCluster(t)
	c.Inject(engine.Fault{Actor: nfs.SubdirName, Verb: "create", Resource: "persistentvolumes", Times: 5,
		Err: apierrors.NewServiceUnavailable("the API server is restarted")})
	c.Apply(classYAML(nfs.SubdirName, ""), claimYAML("data", "", ""))
	c.RunFor(5 * time.Minute)
	require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
	volume := "default-data-" + c.Claim("data").Spec.VolumeName + "/"
	require.Equal(t, []string{"archived-" + volume, volume}, c.exported())
	c.Delete("pvc/data")
	c.RunFor(time.Hour)
	require.Equal(t, []string{"archived-" + volume, volume}, c.exported())
	require.Contains(t, c.Story(), "VolumeFailedDelete: rename "+strings.TrimSuffix(volume, "/")+": archived-"+strings.TrimSuffix(volume, "/")+
		": file already exists")
	require.Equal(t, 1, c.volumes())
}

func TestTwoArchivesOfOneNameCollideAndTheSecondVolumeStays(t *testing.T) {
	c := newCluster(t)
	c.Apply(classYAML(nfs.SubdirName, `parameters: {pathPattern: "${.PVC.name}/data"}`), claimYAML("one", "", ""), claimYAML("two", "", ""))
	c.Settle()
	c.Delete("pvc/one")
	c.Settle()
	c.Delete("pvc/two")
	c.RunFor(time.Minute)
	assert.Equal(t, []string{"archived-data/", "one/", "two/"}, c.exported())
	assert.Contains(t, c.Story(), "VolumeFailedDelete: rename two/data: archived-data: file already exists")
	assert.Equal(t, 1, c.volumes())
}

func TestBadInputIsAnEventThatNamesIt(t *testing.T) {
	const static, subdir = nfs.StaticName, nfs.SubdirName
	for name, tt := range map[string]struct{ provisioner, class, claim, want string }{
		"static: unknown parameter": {static, `parameters: {server: s, path: /p, mode: rw}`, "",
			`storage class my-nfs has the unknown parameter "mode"; allowed are server, path, readOnly`},
		"static: no server":     {static, `parameters: {path: /p}`, "", "storage class my-nfs has no parameter server"},
		"static: relative path": {static, `parameters: {server: s, path: p}`, "", `storage class my-nfs has path "p"; it must be an absolute path`},
		"static: path up": {static, `parameters: {server: s, path: /p/../..}`, "",
			`storage class my-nfs has path "/p/../.."; it must be an absolute path`},
		"static: readOnly": {static, `parameters: {server: s, path: /p, readOnly: "yes"}`, "",
			`storage class my-nfs has readOnly "yes"; it must be true or false`},
		"static: selector": {static, staticParameters, "selector: {matchLabels: {a: b}}", "claim Selector is not supported"},
		"static: data source": {static, staticParameters, "dataSource: {kind: PersistentVolumeClaim, name: old}",
			`PersistentVolumeClaim "old" is not supported by this provisioner`},
		"static: block mode": {static, staticParameters, "volumeMode: Block", static + " does not support block volume provisioning"},
		"subdir: unknown parameter": {subdir, `parameters: {ondelete: retain}`, "",
			`storage class my-nfs has the unknown parameter "ondelete"; allowed are pathPattern, onDelete, archiveOnDelete`},
		"subdir: unknown onDelete": {subdir, `parameters: {onDelete: Delete}`, "", `storage class my-nfs has onDelete "Delete"; it must be delete or retain`},
		"subdir: bad archiveOnDelete": {subdir, `parameters: {archiveOnDelete: never}`, "",
			`storage class my-nfs has archiveOnDelete "never"; it must be true or false`},
		"subdir: selector": {subdir, "", "selector: {matchLabels: {a: b}}", "claim Selector is not supported"},
		"subdir: data source": {subdir, "", "dataSource: {kind: PersistentVolumeClaim, name: old}",
			`PersistentVolumeClaim "old" is not supported by this provisioner`},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.Apply(classYAML(tt.provisioner, tt.class), claimYAML("data", "", tt.claim))
			c.RunFor(time.Minute)
			assert.Contains(t, c.Story(), "says of pvc default/data: Warning ProvisioningFailed: ")
			assert.Contains(t, c.Story(), tt.want)
			assert.Zero(t, c.volumes())
			assert.Empty(t, c.exported())
		})
	}
}

func TestAServerThatDoesNotExportTheDirectoryIsTriedAgain(t *testing.T) {
	c := newCluster(t)
	c.Machine("nfs/" + server).NFSServer().Unexport(export)
	c.Apply(classYAML(nfs.SubdirName, ""), claimYAML("data", "", ""))
	c.RunFor(20 * time.Second)
	assert.Contains(t, c.Story(), "unable to create directory to provision new pv: mount.nfs: access denied by server while mounting 192.168.203.110:/data/nfs")
	require.NoError(t, c.Machine("nfs/"+server).NFSServer().Export(export))
	c.RunFor(5 * time.Minute)
	assert.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
}

func TestTheServerMayHaveAnIPv6Address(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisionController(nfs.Controller(c.AddNFSServer("fd00::1", "/srv"), nfs.Config{Name: "team/nfs", Server: "fd00::1", Path: "/srv"}))
	c.Apply(classYAML("team/nfs", "parameters: {onDelete: delete}"), claimYAML("data", "", ""), podYAML("web", "data", "node-1"))
	c.Settle()
	assert.Equal(t, v1.PodRunning, c.Pod("web").Status.Phase)
	c.Delete("pod/web", "pvc/data")
	c.Settle()
	c.RequireNoLeaks()
}

func TestABadConfigIsRefusedByItsField(t *testing.T) {
	mount := func() (nfs.Directory, error) { return nil, fs.ErrNotExist }
	for want, cfg := range map[string]nfs.Config{
		"nfs.Config.Server is empty":                              {Path: "/x", Mount: mount},
		`nfs.Config.Path is ""; it must be an absolute path`:      {Server: "s", Mount: mount},
		`nfs.Config.Path is "/a/.."; it must be an absolute path`: {Server: "s", Path: "/a/..", Mount: mount},
		"nfs.Config.Mount is nil":                                 {Server: "s", Path: "/x"},
	} {
		_, err := nfs.NewSubdir(cfg)(nil)
		assert.ErrorContains(t, err, want)
	}
}

// A directory that was made before its volume is found as a leak: the provisioner
// crashes in between and the claim is deleted.
func TestADirectoryWithoutAVolumeIsFoundAsALeak(t *testing.T) {
	c := newCluster(t)
	c.Inject(engine.Fault{Actor: nfs.SubdirName, Verb: "create", Resource: "pv", Crash: true, Restart: time.Minute})
	c.Apply(classYAML(nfs.SubdirName, ""), claimYAML("data", "", ""))
	c.RunFor(time.Second)
	require.Len(t, c.exported(), 1)
	c.Delete("pvc/data")
	c.RunFor(5 * time.Minute)
	err := c.Cluster.RequireNoLeaks()
	require.ErrorContains(t, err, "directory /data/nfs/default-data-pvc-")
	require.ErrorContains(t, err, "on NFS server 192.168.203.110, which no volume uses")
	require.ErrorContains(t, err, nfs.SubdirName)
}

// semantics 4.3, on crashes: one directory, and after deletion none.
func TestACrashAtAnyCallLeavesNothingBehind(t *testing.T) {
	for _, after := range []bool{false, true} {
		for call := range 8 {
			t.Run(fmt.Sprintf("after=%v/call %d", after, call), func(t *testing.T) {
				c := newCluster(t)
				c.Inject(engine.Fault{Actor: nfs.SubdirName, Skip: call, After: after, Crash: true})
				c.Apply(classYAML(nfs.SubdirName, "parameters: {onDelete: delete}"), claimYAML("data", "", ""))
				c.RunFor(5 * time.Minute)
				require.Equal(t, v1.ClaimBound, c.Claim("data").Status.Phase)
				require.Len(t, c.exported(), 1)
				c.Delete("pvc/data")
				c.RunFor(5 * time.Minute)
				require.Zero(t, c.volumes())
				require.Empty(t, c.exported())
				c.RequireNoLeaks()
			})
		}
	}
}
