package explain_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/storagesimtest"
)

// podFor is a pod that no node can take, for a scheduler.
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
	c := storagesimtest.New(t, storagesim.Config{})
	require.NoError(t, c.AddScheduler("second-scheduler", scheduler.Config{SchedulerName: "second"}))
	require.ErrorContains(t, c.AddScheduler("third-scheduler", scheduler.Config{SchedulerName: "second"}), `a scheduler called "second" runs already`)
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
	require.Contains(t, c.Explain("pvc/refused"), "  provisioner example.com/alias makes no volume for it: the provisioner declines it (Qualifier.ShouldProvision)\n")
	require.Contains(t, c.Explain("pvc/taken"), "  provisioner example.com/alias should make a volume\n")
	why, err := c.Explanation("pvc/taken")
	require.NoError(t, err)
	require.Empty(t, why.Provisioners, "one that runs is not missing")
}
