package explain_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/storagesimtest"
	"github.com/storagesim/storagesim/volume"
)

// podFor returns a pod that no node can take, for a scheduler.
func podFor(name, scheduler string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec:\n  schedulerName: " + scheduler +
		"\n  nodeSelector: {disk: none}\n  containers: [{name: web, image: nginx}]\n"
}

const (
	noNode = "  node node-1: node(s) didn't match Pod's node affinity/selector"
	leftTo = "  it is left to scheduler "
)

func TestAPodIsExplainedByTheSchedulerThatItIsFor(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Scheduler: scheduler.Config{SchedulerName: "mine"}})
	c.Apply(podFor("web", "mine"), podFor("other", "default-scheduler"))
	c.Settle()
	require.Contains(t, c.Explain("pod/web"), noNode)
	require.NotContains(t, c.Explain("pod/web"), leftTo)
	require.Contains(t, c.Explain("pod/other"), leftTo+`"default-scheduler" (spec.schedulerName), and only mine runs here`)
	require.NotContains(t, c.Explain("pod/other"), noNode)
}

func TestEachOfTwoSchedulersExplainsItsOwnPods(t *testing.T) {
	second := scheduler.Config{SchedulerName: "second"}
	c := storagesimtest.New(t, storagesim.Config{Schedulers: []scheduler.Config{second}})
	_, err := storagesim.New(storagesim.Config{Schedulers: []scheduler.Config{second, second}})
	require.EqualError(t, err, `Config.Schedulers[1].SchedulerName: there are two schedulers called "second"`)
	_, err = storagesim.New(storagesim.Config{Scheduler: second, Schedulers: []scheduler.Config{second}})
	require.EqualError(t, err, `Config.Schedulers[0].SchedulerName: there are two schedulers called "second"`)
	c.Apply(podFor("a", "default-scheduler"), podFor("b", "second"), podFor("c", "third"))
	c.Settle()
	require.Contains(t, c.Explain("pod/a"), noNode)
	require.Contains(t, c.Explain("pod/b"), noNode)
	require.Contains(t, c.Explain("pod/c"), leftTo+`"third" (spec.schedulerName), and only default-scheduler and second run here`)
}

func TestAClusterWithoutASchedulerSaysSo(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Only: []string{storagesim.PVController}})
	c.Apply(podFor("web", "default-scheduler"))
	c.Settle()
	require.Contains(t, c.Explain("pod/web"), leftTo+`"default-scheduler" (spec.schedulerName), and no scheduler runs here`)
}

// choosy takes only claims with a label.
type choosy struct{ provisioner.Provisioner }

func (choosy) ShouldProvision(_ context.Context, claim *v1.PersistentVolumeClaim) bool {
	return claim.Labels["take"] == "me"
}

func (choosy) Provision(context.Context, provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	return nil, provisioner.ProvisioningFinished, &provisioner.IgnoredError{Reason: "this test needs no volume"}
}

func (choosy) Delete(context.Context, *v1.PersistentVolume) error {
	return &provisioner.IgnoredError{Reason: "this test keeps its volumes"}
}

func TestAProvisionerIsExplainedByTheNamesAndTheChoiceThatItHas(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.AddProvisionController(provisioner.Config{Name: "example.com/choosy", AdditionalNames: []string{"example.com/alias"}, Provisioner: choosy{}})
	claim := func(name, labels string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + ", labels: {" + labels +
			"}}\nspec: {storageClassName: alias, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	}
	c.Apply("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: alias}\nprovisioner: example.com/alias\n",
		claim("refused", ""), claim("taken", "take: me"))
	c.Settle()
	require.Contains(t, c.Explain("pvc/refused"),
		"  provisioner example.com/alias makes no volume for it: the provisioner declines it (Qualifier.ShouldProvision)\n")
	require.Contains(t, c.Explain("pvc/taken"), "  provisioner example.com/alias should make a volume\n")
	why, err := c.Lab().Explanation("pvc/taken")
	require.NoError(t, err)
	require.Empty(t, why.Provisioners, "one that runs is not missing")
}

// A volume that was released is explained by the plugins of the PV controller and the
// provisioners that run.
func TestAReleasedVolumeIsExplainedByThePluginsOfThePVController(t *testing.T) {
	released := func(name, policy, source, annotations string) string {
		return "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: " + name + ", annotations: {" + annotations +
			"}}\nspec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], " +
			"persistentVolumeReclaimPolicy: " + policy + ", claimRef: {namespace: default, name: gone, uid: was-here}, " + source + "}\n"
	}
	host, nfs := "hostPath: {path: /srv}", "nfs: {server: nas, path: /srv}"
	made := "pv.kubernetes.io/provisioned-by: "
	c := storagesimtest.New(t, storagesim.Config{Nodes: storagesim.Nodes("node-1")})
	c.AddProvisionController(provisioner.Config{Name: "example.com/here", Provisioner: choosy{}})
	for _, manifest := range []string{
		released("kept", "Retain", host, ""), released("there", "Delete", nfs, made+"example.com/here"),
		released("elsewhere", "Delete", nfs, made+"example.com/there"),
		released("migrated", "Delete", nfs, made+"kubernetes.io/gce-pd, pv.kubernetes.io/migrated-to: pd.csi.storage.gke.io"),
		released("scrubbed", "Recycle", nfs, ""),
	} {
		c.Apply(manifest)
	}
	c.Hold("persistent-volume-binder", "pods") // a recycler pod's end is not heard of
	c.Settle()
	for name, want := range map[string]string{
		"kept":      "its reclaim policy is Retain: it stays until a user deletes it or removes its claimRef\n",
		"there":     "its reclaim policy is Delete: provisioner example.com/here deletes it\n",
		"elsewhere": "its reclaim policy is Delete: provisioner example.com/there deletes it, and does not run in this cluster\n",
		"migrated":  "its reclaim policy is Delete: provisioner pd.csi.storage.gke.io deletes it, and does not run in this cluster\n",
		"scrubbed":  "its reclaim policy is Recycle: plugin kubernetes.io/nfs of the PV controller deletes its files and makes it Available again\n",
	} {
		require.Contains(t, c.Explain("pv/"+name), want)
	}
}

func TestAClusterWithoutAPVControllerSaysSo(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Only: []string{storagesim.Scheduler}})
	c.Apply("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: \"\", accessModes: [ReadWriteOnce], resources: " +
		"{requests: {storage: 1Gi}}}\n")
	c.Settle()
	require.Contains(t, c.Explain("pvc/data"), "  persistent-volume-binder, which binds claims, does not run here\n")
}

// A kubelet is explained by the plugins that it has.
func TestAPodIsExplainedByThePluginsOfItsKubelet(t *testing.T) {
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}], " +
		"volumes: [{name: data, hostPath: {path: /srv}}]}\n"
	for _, tt := range []struct {
		plugins func() []volume.VolumePlugin
		says    bool
	}{{nil, false}, {func() []volume.VolumePlugin { return []volume.VolumePlugin{local.NewPlugin()} }, true}} {
		c := storagesimtest.New(t, storagesim.Config{VolumePlugins: tt.plugins})
		c.Apply(pod)
		c.Settle()
		require.Equal(t, tt.says, strings.Contains(c.Explain("pod/web"), "  no volume plugin of the kubelet mounts volume \"data\" of kind hostPath\n"),
			c.Explain("pod/web"))
	}
}
