package show_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/examples/internal/show"
	"github.com/storagesim/storagesim/storagesimtest"
)

func begin(t *testing.T) (*show.Show, *bytes.Buffer) {
	t.Helper()
	c, err := storagesim.New(storagesim.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	out := &bytes.Buffer{}
	claim := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n" +
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
	return show.New(c, fstest.MapFS{"claim.yaml": {Data: []byte(claim)}}, out), out
}

func TestAStepIsTheCommandAndWhatHappened(t *testing.T) {
	s, out := begin(t)
	s.Apply("claim.yaml")
	require.NoError(t, s.Err())
	require.Contains(t, out.String(), "$ kubectl apply -f claim.yaml\n  0:00:00  user ")
	require.Contains(t, out.String(), "persistent-volume-binder  says of pvc default/data: Normal FailedBinding")
	require.NotContains(t, out.String(), "creates node", "how the cluster came up")
}

func TestOnlyKeepsTheDeedsOfSomeActors(t *testing.T) {
	s, out := begin(t)
	s.Only("user")
	s.Apply("claim.yaml")
	require.NotContains(t, out.String(), "persistent-volume-binder")
}

func TestUntilStopsInTheMiddleOfThings(t *testing.T) {
	s, out := begin(t)
	s.Submit("claim.yaml")
	s.Until("FailedBinding")
	require.NoError(t, s.Err())
	require.True(t, strings.HasSuffix(strings.TrimSpace(out.String()), "and no storage class is set"), "nothing after it is told: %s", out)
	s.Until("no such thing")
	require.ErrorContains(t, s.Err(), `until "no such thing": `)
}

func TestEachPatchIsTheCommandAndWhatItDid(t *testing.T) {
	s, out := begin(t)
	s.Apply("claim.yaml")
	s.Only("user")
	s.Cordon("node-1")
	s.Uncordon("node-1")
	s.LabelNode("node-1", "zone", "a")
	s.AnnotateClaim("data", "note", "x")
	s.AnnotateClaim("data", "note", "")
	s.GetWide("pvc")
	require.NoError(t, s.Err())
	for _, want := range []string{
		"$ kubectl cordon node-1\n  0:00:00  user  patches node node-1: spec.unschedulable = true\n",
		"$ kubectl uncordon node-1\n  0:00:00  user  patches node node-1: spec.unschedulable removed\n",
		"$ kubectl label node node-1 zone=a\n  0:00:00  user  patches node node-1: metadata.labels.zone = a\n",
		"$ kubectl annotate --overwrite pvc data note=x\n  0:00:00  user  patches pvc default/data: metadata.annotations.note = x\n",
		"$ kubectl annotate --overwrite pvc data note-\n  0:00:00  user  patches pvc default/data: metadata.annotations removed\n",
		"VOLUMEMODE\ndata   Pending",
	} {
		require.Contains(t, out.String(), want)
	}
	s.Cordon("node-9")
	require.ErrorContains(t, s.Err(), `"node-9" not found`)
}

func TestDirectoriesOfNodesAndFilesOfPods(t *testing.T) {
	s, out := begin(t)
	s.MakeDir("node-1", "/srv/data")
	s.Ls("node-1", "/srv")
	require.NoError(t, s.Err())
	require.Equal(t, "node-1$ mkdir -p /srv/data\nnode-1$ ls /srv\ndata/\n", out.String())
	s.CatIn("web", "/data/x")
	require.ErrorContains(t, s.Err(), `"web" not found`)
}

func TestNothingIsPrintedAfterTheFirstError(t *testing.T) {
	s, out := begin(t)
	s.Apply("no-such.yaml")
	require.Error(t, s.Err())
	printed := out.Len()
	s.Try(errors.New("a second error"))
	s.Title("More")
	s.Get("pvc")
	require.Equal(t, printed, out.Len())
	require.ErrorContains(t, s.Err(), "no-such.yaml")
}

func TestNodesAreStoppedStartedAndTainted(t *testing.T) {
	s, out := begin(t)
	s.Quiet()
	s.Stop("kubelet/node-1")
	s.Start("kubelet/node-1")
	s.RunFor(time.Second)
	s.Stop("node/node-1")
	s.Start("node/node-1")
	s.Taint("node-1", "example.com/slow", v1.TaintEffectNoSchedule)
	s.JSONPath("{.spec.taints[*].key}", "node", "node-1")
	s.Untaint("node-1", "example.com/slow")
	s.JSONPath("{.spec.taints[*].key}", "node", "node-1")
	require.NoError(t, s.Err())
	require.Equal(t, `node-1$ systemctl stop kubelet
node-1$ systemctl start kubelet
$ sleep 1

(node-1 loses its power)
(node-1 has power again)
$ kubectl taint node node-1 example.com/slow:NoSchedule
$ kubectl get node node-1 -o jsonpath={.spec.taints[*].key}
example.com/slow

$ kubectl taint node node-1 example.com/slow-
$ kubectl get node node-1 -o jsonpath={.spec.taints[*].key}


`, out.String())
	s.ForceDelete("web")
	require.EqualError(t, s.Err(), `pod web: pods "web" not found`)
}

func TestTheJobOfTheChapterIsAccepted(t *testing.T) {
	storagesimtest.New(t, storagesim.Config{}).ApplyFile("../../explore-your-provisioner/job.yaml")
}
