package explore_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi"
	csidriver "github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explain/leaks"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/internal/seedtest"
	nfsserver "github.com/storagesim/storagesim/kubelet/nfs"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/provisioner/localpath"
	nfsprovisioner "github.com/storagesim/storagesim/provisioner/nfs"
	"github.com/storagesim/storagesim/provisioner/openebs"
	"github.com/storagesim/storagesim/storagesimtest"
)

// program is a right program: nothing may be said against it in any order, with any faults.
type program struct {
	name string
	// install runs it.
	install func(c *explore.Cluster)
	// class is its class's provisioner, and more fields of the class in YAML.
	class, more string
	// actor makes its volumes, and resizer, if it has one, makes them grow.
	actor, resizer string
	// onlyDelayed: its volumes need the node of a pod.
	onlyDelayed bool
	// set has a StatefulSet instead of a claim and a pod.
	set bool
	// nodes are the cluster's.
	nodes []storagesim.Node
	// leaves, if set, reports whether the real program leaves this behind, too.
	leaves func(storagesim.Leak) bool
}

// forty is a provisioner of forty lines, such as the guide teaches: a directory of an NFS server for
// each claim. It keeps nothing in memory.
type forty struct{ server *nfsserver.Server }

func (f forty) Provision(_ context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	dir := "/srv/" + o.PVName
	if err := f.server.Disk().MkdirAll(dir, 0o777); err != nil {
		return nil, provisioner.ProvisioningFinished, err
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy, AccessModes: o.PVC.Spec.AccessModes, Capacity: o.PVC.Spec.Resources.Requests,
			PersistentVolumeSource: v1.PersistentVolumeSource{NFS: &v1.NFSVolumeSource{Server: "nas", Path: dir}},
		},
	}, provisioner.ProvisioningFinished, nil
}

func (f forty) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	return f.server.Disk().RemoveAll(volume.Spec.NFS.Path)
}

func (f forty) Volumes(context.Context) ([]string, error) {
	names, err := f.server.Disk().List("/srv")
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, "/")
	}
	return names, err
}

func rightPrograms() []program {
	reference := func(c *explore.Cluster) { c.InstallCSIDriver(csidriver.Config{}) }
	const grows = "allowVolumeExpansion: true"
	return []program{
		{name: "forty lines", class: "example.com/forty", actor: "example.com/forty", install: func(c *explore.Cluster) {
			c.AddProvisioner("example.com/forty", forty{c.AddNFSServer("nas", "/srv")})
		}},
		{name: "OpenEBS", class: openebs.ProvisionerName, actor: openebs.ProvisionerName, onlyDelayed: true,
			install: func(c *explore.Cluster) { c.AddProvisionController(openebs.Controller(openebs.Config{})) }},
		// With one node, whose disk is the shared file system: then no claim needs to wait for a pod.
		{name: "local-path", class: localpath.ProvisionerName, actor: localpath.ProvisionerName, nodes: storagesim.Nodes("node-1"), leaves: isHelperPod,
			install: func(c *explore.Cluster) {
				c.AddProvisionController(localpath.Controller(localpath.Config{}))
				c.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: local-path-config, namespace: local-path-storage}, data: {config.json: ` +
					`'{"sharedFileSystemPath": "/mnt/shared"}'}}`)
			}},
		// With archives the real program never deletes a volume of a name that it has archived: where the creation of the PersistentVolume
		// fails five times, the library deletes the volume, and makes it anew (nfs-subdir-external-provisioner Delete, os.Rename).
		{name: "NFS", class: nfsprovisioner.SubdirName, actor: nfsprovisioner.SubdirName, more: `parameters: {archiveOnDelete: "false"}`,
			install: func(c *explore.Cluster) {
				c.AddProvisionController(nfsprovisioner.Controller(c.AddNFSServer("nas", "/srv"), nfsprovisioner.Config{Server: "nas", Path: "/srv"}))
			}},
		{name: "reference CSI driver", class: csidriver.Name, actor: csi.ProvisionerActor(csidriver.Name), resizer: csi.ResizerActor(csidriver.Name), more: grows,
			install: reference},
		{name: "StatefulSet", class: csidriver.Name, actor: csi.ProvisionerActor(csidriver.Name), resizer: csi.ResizerActor(csidriver.Name), more: grows,
			install: reference, set: true},
	}
}

// isHelperPod reports whether a leak is a helper pod. If the deletion of one is refused, the real
// local-path provisioner writes a line to its log and forgets the pod.
// Upstream: provisioner.go createHelperPod, v0.0.37.
func isHelperPod(l storagesim.Leak) bool { return l.Kind == leaks.HelperPod }

// What the users of the cells do.
const (
	comeAndGo = "come and go"
	keep      = "keep"
	grow      = "grow"
)

// cell is a program with a binding mode and a story.
type cell struct {
	program
	mode, story string
}

func (x cell) String() string { return fmt.Sprintf("%s, %s, %s", x.name, x.mode, x.story) }

func cells() []cell { return slices.Concat(cellsOfPrograms()...) }

// oneOfEachThird returns a cell of each third program: of the next program the next of its cells, so that more than one mode and story are there.
func oneOfEachThird() (some []cell) {
	for i, all := range cellsOfPrograms() {
		if i%3 == 0 {
			some = append(some, all[i%len(all)])
		}
	}
	return some
}

func cellsOfPrograms() (programs [][]cell) {
	for _, p := range rightPrograms() {
		var all []cell
		for _, mode := range []string{"Immediate", "WaitForFirstConsumer"} {
			for _, story := range []string{comeAndGo, keep, grow} {
				if (mode == "Immediate" && p.onlyDelayed) || (story == grow && p.resizer == "") {
					continue
				}
				if p.nodes == nil {
					p.nodes = storagesim.Nodes("node-1", "node-2")
				}
				all = append(all, cell{p, mode, story})
			}
		}
		programs = append(programs, all)
	}
	return programs
}

// manifests returns the class and what uses it. In an Immediate class a claim comes and goes without a
// pod.
func (x cell) manifests() (manifests []string, claim, pod string) {
	class := fmt.Sprintf("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: right}\nprovisioner: %s\nvolumeBindingMode: %s\n%s\n", x.class,
		x.mode, x.more)
	const spec = `{accessModes: [ReadWriteOnce], storageClassName: right, resources: {requests: {storage: 1Gi}}}`
	const containers = `containers: [{name: c, image: busybox, command: [sh, -c, "echo x > /data/x; sleep 100000"], volumeMounts: [{name: data, ` +
		`mountPath: /data}]}]`
	if x.set {
		return []string{class, fmt.Sprintf(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}
  template:
    metadata: {labels: {app: db}}
    spec: {%s}
  volumeClaimTemplates: [{metadata: {name: data}, spec: %s}]
`, containers, spec)}, "data-db-0", "db-0"
	}
	manifests = []string{class, "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: " + spec}
	if x.mode == "Immediate" && x.story == comeAndGo {
		return manifests, "data", ""
	}
	return append(manifests,
			fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {%s, volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}", containers)),
		"data", "web"
}

// play does what the guide teaches: apply, settle, look, delete, settle, look for leaks.
func (x cell) play(c *explore.Cluster) {
	x.install(c)
	manifests, claim, pod := x.manifests()
	c.Apply(manifests...)
	c.Settle()
	c.RequireBound(claim)
	if pod != "" {
		c.RequireRunning(pod)
	}
	switch x.story {
	case keep:
		return
	case grow:
		_, err := c.Client().CoreV1().PersistentVolumeClaims("default").Patch(c.T.Context(), claim, types.MergePatchType,
			[]byte(`{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`), metav1.PatchOptions{})
		c.Must(err)
		c.Settle()
		if size := c.Claim(claim).Status.Capacity.Storage().String(); size != "2Gi" {
			c.RunFor(explore.Recovery)
			require.Equal(c.T, "2Gi", c.Claim(claim).Status.Capacity.Storage().String())
		}
		return
	}
	switch {
	case x.set:
		c.Delete("statefulset/db")
	case pod != "":
		c.Delete("pod/"+pod, "pvc/"+claim)
	default:
		c.Delete("pvc/" + claim)
	}
	c.Settle()
	err := c.Cluster.RequireNoLeaks()
	if found, ok := errors.AsType[*storagesim.LeakError](err); ok && x.leaves != nil &&
		!slices.ContainsFunc(found.Leaks, func(l storagesim.Leak) bool { return !x.leaves(l) }) {
		return
	}
	c.Must(err)
}

// noMoreLeaks returns an error for a leak that the real program does not have.
func (x cell) noMoreLeaks(c *storagesim.Cluster) error {
	found, err := c.Lab().Leaks()
	found = slices.DeleteFunc(found, func(l storagesim.Leak) bool { return l.Known != "" || x.leaves(l) })
	if err != nil || len(found) == 0 {
		return err
	}
	return &storagesim.LeakError{Leaks: found}
}

// howMany returns the numbers of seeds and of explored runs of a cell: 1 and 5, 20 and 100 in CI, and 100
// and 10,000 with STORAGESIM_SEEDS=10000. No budget makes them fewer.
func howMany(t *testing.T) (seeds, runs int) {
	t.Helper()
	runs = seedtest.Settings(t, 5).Runs
	return max(runs/100, min(runs/5, 20), 1), runs
}

func TestNoRightProgramIsBlamed(t *testing.T) {
	seeds, runs := howMany(t)
	table := cells()
	for _, x := range table {
		t.Run(x.String(), func(t *testing.T) {
			t.Parallel() // the seeds, and the plain runs of an exploration, use one processor
			for seed := range seeds {
				err := seedtest.Try(t, func(t testing.TB) {
					x.play(storagesimtest.New(t, storagesim.Config{Nodes: x.nodes, Seed: uint64(seed + 1), Disks: storagesim.MemoryDisks}))
				})
				require.NoError(t, err, "seed %d", seed+1)
			}
			report, err := explore.Run(t.Context(), x.config(runs), explore.Scenario(x.play))
			require.NoError(t, err)
			require.Equal(t, runs, report.Runs)
		})
	}
	t.Logf("tried %d cells with %d seeds and %d explored runs each", len(table), seeds, runs)
}

func (x cell) config(runs int) explore.Config {
	cfg := explore.Config{Runs: runs, Cluster: storagesim.Config{Nodes: x.nodes}}
	if x.leaves != nil {
		cfg.Except = []string{explore.NothingLeaks}
		cfg.Rules = []explore.Rule{{Name: "nothing else leaks", Begin: func(c *storagesim.Cluster) explore.Check {
			return explore.Check{Rest: func() error { return x.noMoreLeaks(c) }}
		}}}
	}
	return cfg
}

// planted puts a bug into the program that only an administrator can mend: a process that has ended
// does not work when it is started again.
func (x cell) planted(runs int) explore.Config {
	cfg := x.config(runs)
	broken := x.broken()
	cfg.Cluster.Wrap = func(actor string, f control.Factory) control.Factory {
		if actor != broken {
			return f
		}
		started := false
		return func(env control.Env) error {
			if started {
				return nil
			}
			started = true
			return f(env)
		}
	}
	return cfg
}

// broken returns the actor with the planted bug.
func (x cell) broken() string {
	if x.story == grow {
		return x.resizer
	}
	return x.actor
}

// In each cell in CI, where STORAGESIM_SEEDS is 100, and in one of each third program in `go test`.
func TestABugThatOnlyAPersonCanMendIsFoundInEachOfTheseStories(t *testing.T) {
	_, runs := howMany(t)
	table := oneOfEachThird()
	if runs >= 100 {
		table = cells()
	}
	var found atomic.Int64
	t.Cleanup(func() { assert.Len(t, table, int(found.Load())) })
	for _, x := range table {
		t.Run(x.String(), func(t *testing.T) {
			t.Parallel()
			cfg := x.planted(1000)
			cfg.ShrinkRuns = -1
			if runs < 1000 { // with more, as in .ci/nightly, it is found among all strategies
				cfg.Strategies = []string{explore.Crashes}
			}
			_, err := explore.Run(t.Context(), cfg, explore.Scenario(x.play))
			f, ok := errors.AsType[*explore.Failure](err)
			require.True(t, ok, "%v", err)
			require.Greater(t, f.Run, 1, "it works without trouble")
			require.Regexp(t, regexp.QuoteMeta(x.broken())+` +is down`, f.Story)
			found.Add(1)
		})
	}
	t.Logf("tried %d cells", len(table))
}
