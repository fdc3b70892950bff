package tables

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/manifest"
)

// expected is the end of the message about a kind that resembles no other.
const expected = "; expected a kind, for example storageclass, or a short name: cj, cm, cs, csr, deploy, ds, ep, ev, hpa, ing, ip, " +
	"limits, netpol, no, ns, pc, pdb, po, pv, pvc, quota, rc, rs, sa, sc, sts, svc, va, vac"

var (
	kinds = registry.New()
	now   = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

// fixture returns the cluster of testdata/cluster.yaml, at noon.
func fixture(t *testing.T) View {
	t.Helper()
	data, err := os.ReadFile("testdata/cluster.yaml")
	require.NoError(t, err)
	set, err := manifest.Parse(kinds, "testdata/cluster.yaml", data)
	require.NoError(t, err)
	view := View{Kinds: kinds, Now: now}
	for _, o := range set {
		view.Objects = append(view.Objects, o.Object)
	}
	return view
}

// shown runs f and returns what it printed, the error as kubectl prints it.
func shown(f func(w *strings.Builder) error) string {
	var b strings.Builder
	if err := f(&b); err != nil {
		b.WriteString("error: " + err.Error() + "\n")
	}
	return b.String()
}

func TestGetPrintsTheTablesOfKubectl(t *testing.T) {
	view := fixture(t)
	tests := []struct{ args, output, want string }{
		{"pvc", "", `
NAME   STATUS        VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE
data   Bound         pv-1     5Gi        RWO,RWX        fast           <unset>                 10m
logs   Terminating                                                     <unset>                 5s
`},
		{"quota", "", `
NAME   REQUEST                                                 LIMIT                AGE
few    persistentvolumeclaims: 1/3, requests.storage: 0/10Gi   limits.cpu: 500m/2   90s
`},
		{"pvc", "wide", `
NAME   STATUS        VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE   VOLUMEMODE
data   Bound         pv-1     5Gi        RWO,RWX        fast           <unset>                 10m   Filesystem
logs   Terminating                                                     <unset>                 5s    <unset>
`},
		{"pv", "", `
NAME   CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS      CLAIM          STORAGECLASS   VOLUMEATTRIBUTESCLASS   REASON   AGE
pv-1   5Gi        RWO,RWX        Delete           Bound       default/data   fast           <unset>                          9m59s
pv-2   1Ti        RWOP           Retain           Available                  slow           gold                             3h10m
`},
		{"pv,pvc", "", `
NAME                    CAPACITY   ACCESS MODES   RECLAIM POLICY   STATUS      CLAIM          STORAGECLASS   VOLUMEATTRIBUTESCLASS   REASON   AGE
persistentvolume/pv-1   5Gi        RWO,RWX        Delete           Bound       default/data   fast           <unset>                          9m59s
persistentvolume/pv-2   1Ti        RWOP           Retain           Available                  slow           gold                             3h10m

NAME                         STATUS        VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE
persistentvolumeclaim/data   Bound         pv-1     5Gi        RWO,RWX        fast           <unset>                 10m
persistentvolumeclaim/logs   Terminating                                                     <unset>                 5s
`},
		{"pods", "", `
NAME   READY   STATUS              RESTARTS       AGE
init   0/2     Init:0/2            0              65s
web    1/1     Running             2 (3m1s ago)   8m
wipe   0/1     ContainerCreating   0              59m
`},
		{"po", "wide", `
NAME   READY   STATUS              RESTARTS       AGE   IP         NODE     NOMINATED NODE   READINESS GATES
init   0/2     Init:0/2            0              65s   <none>     <none>   node-2           <none>
web    1/1     Running             2 (3m1s ago)   8m    10.0.0.7   node-1   <none>           0/1
wipe   0/1     ContainerCreating   0              59m   <none>     <none>   <none>           <none>
`},
		{"sc", "", `
NAME             PROVISIONER     RECLAIMPOLICY   VOLUMEBINDINGMODE      ALLOWVOLUMEEXPANSION   AGE
fast (default)   example.com/x   Delete          WaitForFirstConsumer   true                   2d
slow             example.com/y   Retain          Immediate              false                  2d2h
`},
		{"no", "", `
NAME     STATUS                        ROLES           AGE         VERSION
node-1   Ready                         control-plane   400d        v1.36.3
node-2   NotReady,SchedulingDisabled   <none>          2y2d        
node-3   Unknown                       <none>          <unknown>   
`},
		{"va", "", `
NAME    ATTACHER      PV     NODE     ATTACHED   AGE
csi-1   example.com   pv-1   node-1   true       1s
`},
		{"csinodes", "", `
NAME     DRIVERS   AGE
node-1   1         400d
`},
		{"csidrivers", "", `
NAME          ATTACHREQUIRED   PODINFOONMOUNT   STORAGECAPACITY   TOKENREQUESTS   REQUIRESREPUBLISH   MODES        AGE
example.com   false            false            true              <unset>         false               Persistent   1s
`},
		{"csistoragecapacities", "", `
NAME    CREATED AT
cap-1   0001-01-01T00:00:00Z
cap-2   0001-01-01T00:00:00Z
`},
		{"sts", "wide", `
NAME   READY   AGE   CONTAINERS   IMAGES
db     1/3     7m    db,side      postgres,envoy
`},
		{"sts,sc", "name", `
statefulset.apps/db
storageclass.storage.k8s.io/fast
storageclass.storage.k8s.io/slow
`},
		{"ns", "", `
NAME   STATUS   AGE
lab    Active   2m
`},
		{"cm", "", `
NAME     DATA   AGE
config   2      90s
`},
		{"secrets", "", `
NAME   TYPE     DATA   AGE
key    Opaque   1      90s
`},
		{"limits", "", `
NAME    CREATED AT
small   0001-01-01T00:00:00Z
`},
		{"events", "", `
LAST SEEN   TYPE      REASON                 OBJECT                       MESSAGE
9m          Normal    WaitForFirstConsumer   persistentvolumeclaim/data   waiting for first consumer to be created before binding
8s          Warning   FailedMount            pod/web                      first line...
`},
		{"events", "wide", `
LAST SEEN   TYPE      REASON                 OBJECT                       SUBOBJECT   SOURCE                        MESSAGE                                                   FIRST SEEN   COUNT   NAME
9m          Normal    WaitForFirstConsumer   persistentvolumeclaim/data               persistentvolume-controller   waiting for first consumer to be created before binding   9m           1       data.1
8s          Warning   FailedMount            pod/web                                  kubelet, node-1               first line...                                             6m           4       web.1
`},
		{"leases", "", "\nNo resources found in default namespace.\n"},
		{"leases,cronjobs", "", "\nNo resources found in default namespace.\n"},
		{"csinodes,runtimeclasses,pvc data", "", "\nerror: the server doesn't have a resource type \"pvc data\"" + expected + "\n"},
		{"runtimeclasses", "", "\nNo resources found\n"},
		{"leases,sc", "", `
NAME                                         PROVISIONER     RECLAIMPOLICY   VOLUMEBINDINGMODE      ALLOWVOLUMEEXPANSION   AGE
storageclass.storage.k8s.io/fast (default)   example.com/x   Delete          WaitForFirstConsumer   true                   2d
storageclass.storage.k8s.io/slow             example.com/y   Retain          Immediate              false                  2d2h
`},
		{"pvc|logs|data", "", `
NAME   STATUS        VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE
logs   Terminating                                                     <unset>                 5s
data   Bound         pv-1     5Gi        RWO,RWX        fast           <unset>                 10m
`},
		{"pvc/none|sc/slow|nosuch/x", "", "\nerror: the server doesn't have a resource type \"nosuch\"" + expected + "\n"},
		{"pvc/none|sc/slow", "", `
NAME   PROVISIONER     RECLAIMPOLICY   VOLUMEBINDINGMODE   ALLOWVOLUMEEXPANSION   AGE
slow   example.com/y   Retain          Immediate           false                  2d2h
error: persistentvolumeclaims "none" not found
`},
		{"sc/none", "", "\nerror: storageclasses.storage.k8s.io \"none\" not found\n"},
		{"pvc/data", "jsonpath={.spec.volumeName}", "\npv-1\n"},
		{"pvc/data", "xml", "\nerror: unable to match a printer suitable for the output format \"xml\", allowed formats are: json,jsonpath=...,name,wide,yaml\n"},
		{"", "", "\nerror: you must specify the type of resource to get, for example pvc or pv,pvc\n"},
		{"ns/lab", "yaml", `
apiVersion: v1
kind: Namespace
metadata:
  creationTimestamp: "2026-01-01T11:58:00Z"
  labels:
    team: a
  name: lab
spec: {}
status:
  phase: Active
`},
		{"ns", "yaml", `
apiVersion: v1
items:
- apiVersion: v1
  kind: Namespace
  metadata:
    creationTimestamp: "2026-01-01T11:58:00Z"
    labels:
      team: a
    name: lab
  spec: {}
  status:
    phase: Active
kind: List
metadata:
  resourceVersion: ""
`},
		{"ns/lab", "json", `
{
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {
        "creationTimestamp": "2026-01-01T11:58:00Z",
        "labels": {
            "team": "a"
        },
        "name": "lab"
    },
    "spec": {},
    "status": {
        "phase": "Active"
    }
}
`},
	}
	for _, test := range tests {
		t.Run(test.args+" "+test.output, func(t *testing.T) {
			got := shown(func(w *strings.Builder) error {
				return view.Get(w, Options{Output: test.output}, strings.Split(test.args, "|")...)
			})
			assert.Equal(t, strings.TrimPrefix(test.want, "\n"), got)
		})
	}
}

func TestGetSelectsByNamespaceAndLabel(t *testing.T) {
	view := fixture(t)
	get := func(o Options, args ...string) string {
		return shown(func(w *strings.Builder) error { return view.Get(w, o, args...) })
	}
	assert.Equal(t, `NAMESPACE   NAME   STATUS        VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE
default     data   Bound         pv-1     5Gi        RWO,RWX        fast           <unset>                 10m
default     logs   Terminating                                                     <unset>                 5s
lab         data   Pending                                                         <unset>                 5s
`, get(Options{AllNamespaces: true}, "pvc"))
	assert.Equal(t, `NAME   STATUS    VOLUME   CAPACITY   ACCESS MODES   STORAGECLASS   VOLUMEATTRIBUTESCLASS   AGE   LABELS
data   Pending                                                     <unset>                 5s    <none>
`, get(Options{Namespace: "lab", ShowLabels: true}, "pvc", "data"))
	assert.Equal(t, "lab   Active   2m    team=a\n", get(Options{NoHeaders: true, ShowLabels: true}, "ns"))
	assert.Equal(t, "No resources found in empty namespace.\n", get(Options{Namespace: "empty"}, "pvc"))
	assert.Equal(t, "No resources found\n", get(Options{Namespace: "empty", AllNamespaces: true}, "leases"))
	selector, err := labels.Parse("team!=a")
	require.NoError(t, err)
	assert.Equal(t, "No resources found\n", get(Options{Selector: selector}, "ns"))
	assert.Equal(t, "error: a resource cannot be retrieved by name across all namespaces\n", get(Options{AllNamespaces: true}, "pvc/x"))
}

func TestDescribePrintsWhatKubectlDescribes(t *testing.T) {
	view := fixture(t)
	for _, args := range []string{"pvc data", "pvc logs", "pv pv-1", "pv pv-2", "pod web", "pod init", "pod wipe", "sc fast", "sc slow", "node node-1",
		"csinode node-1", "va csi-1", "quota few", "limits small", "pvc nosuch"} {
		t.Run(args, func(t *testing.T) {
			got := shown(func(w *strings.Builder) error { return view.Describe(w, Options{}, strings.Fields(args)...) })
			file := "testdata/describe-" + strings.ReplaceAll(args, " ", "-") + ".txt"
			if os.Getenv("UPDATE") != "" {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
		})
	}
	got := shown(func(w *strings.Builder) error { return view.Describe(w, Options{}, "sc") })
	assert.Equal(t, 2, strings.Count(got, "Name: "))
	assert.NotContains(t, got, "Events:", "kubectl shows events of a single object only")
	assert.Equal(t, "No resources found in default namespace.\n", shown(func(w *strings.Builder) error { return view.Describe(w, Options{}, "leases") }))
}

func TestEventsAreListedInOrderOfTime(t *testing.T) {
	view := fixture(t)
	assert.Equal(t, `LAST SEEN         TYPE      REASON                 OBJECT                       MESSAGE
9m                Normal    WaitForFirstConsumer   PersistentVolumeClaim/data   waiting for first consumer to be created before binding
8s (x4 over 6m)   Warning   FailedMount            Pod/web                      first line...
`, shown(func(w *strings.Builder) error { return view.Events(w, Options{}, nil) }))
	refs, err := ParseRefs(kinds, "", "pvc/data")
	require.NoError(t, err)
	got := shown(func(w *strings.Builder) error { return view.Events(w, Options{NoHeaders: true}, &refs[0]) })
	assert.Equal(t, "9m    Normal   WaitForFirstConsumer   PersistentVolumeClaim/data   waiting for first consumer to be created before binding\n", got)
	refs[0].Name = "other"
	got = shown(func(w *strings.Builder) error { return view.Events(w, Options{}, &refs[0]) })
	assert.Equal(t, "No events found in default namespace.\n", got)
}

func TestThePodColumnSaysWhatItsContainersDo(t *testing.T) {
	running := v1.ContainerStatus{Ready: true, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
	done := v1.ContainerStatus{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{Reason: "Completed"}}}
	failed := v1.ContainerStatus{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 3}}}
	killed := v1.ContainerStatus{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: 137, Signal: 9}}}
	ready := []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
	tests := map[string]struct {
		pod  v1.Pod
		want string
	}{
		"pending": {v1.Pod{Status: v1.PodStatus{Phase: v1.PodPending}}, "Pending"},
		"evicted": {v1.Pod{Status: v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted"}}, "Evicted"},
		"gated": {v1.Pod{Status: v1.PodStatus{Phase: v1.PodPending,
			Conditions: []v1.PodCondition{{Type: v1.PodScheduled, Reason: "SchedulingGated"}}}}, "SchedulingGated"},
		"succeeded": {v1.Pod{Status: v1.PodStatus{Phase: v1.PodSucceeded, ContainerStatuses: []v1.ContainerStatus{done}}}, "Completed"},
		"failed":    {v1.Pod{Status: v1.PodStatus{Phase: v1.PodFailed, ContainerStatuses: []v1.ContainerStatus{done, failed}}}, "ExitCode:3"},
		"killed":    {v1.Pod{Status: v1.PodStatus{Phase: v1.PodFailed, ContainerStatuses: []v1.ContainerStatus{killed}}}, "Signal:9"},
		"one done":  {v1.Pod{Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{done, running}}}, "NotReady"},
		"one done, ready": {v1.Pod{Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: ready, ContainerStatuses: []v1.ContainerStatus{done, running}}},
			"Running"},
		"init failed": {v1.Pod{Status: v1.PodStatus{Phase: v1.PodPending, InitContainerStatuses: []v1.ContainerStatus{failed}}}, "Init:ExitCode:3"},
		"init done, then runs": {v1.Pod{Status: v1.PodStatus{Phase: v1.PodRunning, InitContainerStatuses: []v1.ContainerStatus{done},
			ContainerStatuses: []v1.ContainerStatus{running}}},
			"Running"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, pod(&test.pod, now)[2])
		})
	}
}

func TestReferencesAreRead(t *testing.T) {
	refs, err := ParseRefs(kinds, "lab", "pvc/data", "pv/x", "pod/other/web")
	require.NoError(t, err)
	assert.Equal(t, []string{"lab/persistentvolumeclaim/data", "/persistentvolume/x", "other/pod/web"},
		[]string{refs[0].Namespace + "/" + refs[0].Qualified(), refs[1].Namespace + "/" + refs[1].Qualified(), refs[2].Namespace + "/" + refs[2].Qualified()})
	for args, want := range map[string]string{
		"pvc":         `"pvc" does not name an object; expected TYPE/NAME, TYPE/NAMESPACE/NAME or TYPE NAME`,
		"pvc/":        `"pvc/" does not name a PersistentVolumeClaim; expected pvc/name or pvc/namespace/name`,
		"pv/a/b":      `"pv/a/b" does not name a PersistentVolume, which has no namespace; expected pv/b`,
		"pvc/a b":     `there is no need to name a type and then an object: "b"; expected TYPE/NAME`,
		"x/a":         `the server doesn't have a resource type "x"` + expected,
		"pvcs,pods a": `the server doesn't have a resource type "pvcs" (did you mean "pvc"?)`,
	} {
		_, err := ParseRefs(kinds, "", strings.Fields(args)...)
		assert.EqualError(t, err, want, args)
	}
}

func TestPrintingChangesNothing(t *testing.T) {
	view := fixture(t)
	var before []runtime.Object
	for _, obj := range view.Objects {
		before = append(before, obj.DeepCopyObject())
	}
	var b strings.Builder
	require.NoError(t, view.Describe(&b, Options{}, "po,no,pv,pvc,sc"))
	require.NoError(t, view.Get(&b, Options{Output: "yaml"}, "po,no,pv,pvc,sc"))
	assert.True(t, equality.Semantic.DeepEqual(before, view.Objects))
}
