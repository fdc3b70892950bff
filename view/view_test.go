package view_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/view"
)

var start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func entry(after time.Duration, actor string, r trace.Record) trace.Entry {
	return trace.Entry{Time: start.Add(after), Actor: actor, Record: r}
}

func write(verb, sub string, rv uint64, old, new runtime.Object) trace.Write {
	w := trace.Write{Verb: verb, Subresource: sub, RV: rv, Old: old, New: new, Code: 200}
	switch obj := any(firstOf(new, old)).(type) {
	case *v1.PersistentVolumeClaim:
		w.Kind, w.Namespace, w.Name, w.Resource = "PersistentVolumeClaim", obj.Namespace, obj.Name,
			schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	case *v1.PersistentVolume:
		w.Kind, w.Name, w.Resource = "PersistentVolume", obj.Name, schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
	case *v1.Pod:
		w.Kind, w.Namespace, w.Name, w.Resource = "Pod", obj.Namespace, obj.Name, schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	case *v1.Node:
		w.Kind, w.Name, w.Resource = "Node", obj.Name, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	case *v1.Secret:
		w.Kind, w.Namespace, w.Name, w.Resource = "Secret", obj.Namespace, obj.Name, schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	case *storagev1.VolumeAttachment:
		w.Kind, w.Name, w.Resource = "VolumeAttachment", obj.Name, schema.GroupVersionResource{Group: "storage.k8s.io", Version: "v1", Resource: "volumeattachments"}
	}
	return w
}

func firstOf(objects ...runtime.Object) runtime.Object {
	i := slices.IndexFunc(objects, func(o runtime.Object) bool { return o != nil })
	return objects[i]
}

func claim(volume string) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data", UID: "uid-data", ResourceVersion: "7"},
		Spec: v1.PersistentVolumeClaimSpec{VolumeName: volume}}
}

func pod(node string, phase v1.PodPhase) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: v1.PodSpec{NodeName: node, Volumes: []v1.Volume{
			{Name: "d", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
		}},
		Status: v1.PodStatus{Phase: phase, Message: string(phase) + node},
	}
}

// run has a record of each type.
func run() []trace.Entry {
	about := trace.Ref{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "data"}
	va := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va"},
		Spec: storagev1.VolumeAttachmentSpec{NodeName: "node-1", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("pv-1")}}}
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-1"},
		Spec: v1.PersistentVolumeSpec{ClaimRef: &v1.ObjectReference{Namespace: "default", Name: "data"}}}
	refused := write("update", "", 0, nil, claim(""))
	refused.New, refused.Err, refused.Code = nil, apierrors.NewConflict(schema.GroupResource{Resource: "persistentvolumeclaims"}, "data", errors.New("modified")),
		409
	return []trace.Entry{
		entry(0, "user", write("create", "", 1, nil, claim(""))),
		entry(0, "persistent-volume-binder", trace.Decision{About: about, Text: "takes pv pv-1"}),
		entry(time.Second, "persistent-volume-binder", write("update", "", 2, claim(""), claim("pv-1"))),
		entry(time.Second, "persistent-volume-binder", refused),
		entry(time.Second, "persistent-volume-binder",
			trace.Retry{Queue: "claims", Key: "default/data", About: "pvc default/data", Delay: 5 * time.Second, Err: errors.New("again")}),
		entry(time.Second, "persistent-volume-binder",
			trace.GaveUp{Queue: "claims", Key: "default/data", About: "pvc default/data", Failures: 3, Err: errors.New("again")}),
		entry(time.Second, "persistent-volume-binder", write("create", "", 3, nil, pv)),
		entry(time.Second, "persistent-volume-binder", trace.Event{About: about, Type: "Normal", Reason: "Bound", Message: "it is bound"}),
		entry(time.Second, "persistent-volume-binder", trace.Event{About: about, Type: "Normal", Reason: "Bound", Message: "it is bound", Repeated: true}),
		entry(time.Second, "user", write("create", "", 4, nil, pod("", "Pending"))),
		entry(time.Second, "kube-scheduler", write("create", "binding", 5, pod("", "Pending"), pod("node-1", "Pending"))),
		entry(time.Second, "attachdetach-controller", write("create", "", 6, nil, va)),
		entry(time.Second, "csi-attacher/csi.storagesim.io", trace.RPC{
			Driver: "csi.storagesim.io", Machine: "host/csi.storagesim.io", Service: "csi.v1.Controller", Method: "ControllerPublishVolume", Code: "OK",
			Request: map[string]any{"volume_id": "vol-1"}, Answer: map[string]any{"size": math.Inf(1)}, Took: time.Second,
		}),
		entry(time.Second, "csi-attacher/csi.storagesim.io",
			trace.RPC{Driver: "csi.storagesim.io", Machine: "host/x", Service: "csi.v1.Identity", Method: "Probe", Code: "OK", Routine: true}),
		entry(time.Second, "kubelet/node-1",
			trace.RPC{Driver: "csi.storagesim.io", Machine: "node/node-1", Service: "csi.v1.Node", Method: "NodePublishVolume", Code: "Internal", Err: "no"}),
		entry(time.Second, "kubelet/node-1", trace.RPC{Driver: "the registrar of csi.storagesim.io", Machine: "node/node-1",
			Service: "pluginregistration.Registration", Method: "GetInfo", Code: "OK"}),
		entry(time.Second, "kubelet/node-1",
			trace.Mount{Op: "mount", About: trace.Ref{Kind: "Pod", Namespace: "default", Name: "web"}, Volume: "pv-1", Source: "/a", Target: "/b"}),
		entry(time.Second, "kubelet/node-1",
			trace.Command{About: trace.Ref{Kind: "Pod", Namespace: "default", Name: "web"}, Argv: []string{"sh", "-c", "true"}, Node: "node-1", Err: "no"}),
		entry(time.Second, "mine", trace.Call{Method: "Provision", About: about, Volume: "pv-1", Took: time.Second}),
		entry(time.Second, "mine", trace.Call{Method: "Provision", About: about, Class: "Finished", Err: "no"}),
		entry(time.Second, "example.com/shelf", trace.Asset{Op: trace.Made, Machine: "nfs/nas", Path: "/x", Volume: "pv-1", About: about}),
		entry(time.Second, "user", trace.Gap{About: about, Fields: []string{"spec.x"}, Cluster: "does", Here: "it does not"}),
		entry(time.Second, "user", trace.StandIn{Name: "x", As: "y"}),
		entry(time.Second, "kubelet/node-1", write("patch", "status", 7, pod("node-1", "Pending"), pod("node-1", "Running"))),
		entry(time.Second, "kubelet/node-1", write("patch", "status", 8, pod("node-1", "Running"), pod("node-2", "Running"))),
		entry(time.Second, "kubelet/node-1", trace.Crashed{Downtime: time.Minute}),
		entry(time.Second, "kubelet/node-1", trace.Restarted{}),
		entry(time.Second, "kubelet/node-1", trace.Stopped{Off: true}),
		entry(time.Second, "mine", trace.Panicked{Doing: "Provision", About: about, Value: "nil", At: "a.go:1", Restart: time.Second}),
		entry(time.Second, "mine", trace.Blocks{Doing: "Provision", About: about, Took: time.Minute}),
		entry(time.Second, "program", trace.Exited{Err: errors.New("no"), Restart: time.Second}),
		entry(time.Second, "program", trace.Lingers{After: time.Second}),
		entry(time.Second, "kubelet/node-1", trace.Struck{Call: "update x", Delay: time.Second, Err: errors.New("no")}),
		entry(time.Second, "mine", trace.PointStruck{Point: "disk.make", Delay: time.Second, Err: errors.New("no")}),
		entry(time.Second, "user", trace.MachineStruck{Machine: "node/node-1", Op: "mount", Path: "/a", Err: errors.New("no")}),
		entry(time.Second, "kubelet/node-1", trace.Held{Actor: "kubelet/node-1", Resource: "pods", For: time.Second}),
		entry(time.Second, "kube-apiserver", write("delete", "", 9, va, nil)),
	}
}

func laneIDs(p view.Page) (ids []string) {
	for _, lane := range p.Lanes {
		ids = append(ids, lane.ID)
	}
	return ids
}

func named(p view.Page, s view.Step) (names []string) {
	if s.About == nil {
		return nil
	}
	for _, i := range append([]int{*s.About}, s.Also...) {
		names = append(names, p.Objects[i].Short+" "+p.Objects[i].Name)
	}
	return names
}

func TestLanesAreInTheOrderInWhichTheyAreDrawn(t *testing.T) {
	p := view.Make(run(), view.Options{})
	require.Equal(t, []string{
		"user", "persistent-volume-binder", "kube-scheduler", "csi-attacher/csi.storagesim.io", "csi-registrar/csi.storagesim.io/node-1", "example.com/shelf", "mine",
		"attachdetach-controller", "kubelet/node-1", "csi-driver/csi.storagesim.io", "csi-driver/csi.storagesim.io/node-1", "program", "apiserver",
	}, laneIDs(p))
	require.Equal(t, view.Lane{ID: "kubelet/node-1", Name: "kubelet", Kind: view.Kubelet, Node: "node-1"}, p.Lanes[8])
	require.Equal(t, view.Lane{ID: "mine", Name: "mine", Kind: view.Provisioner}, p.Lanes[6], "it records calls of a provisioner")
	require.Equal(t, len(p.Lanes)-1, p.Steps[len(p.Steps)-1].Lane, "what the API server writes itself")
	require.Equal(t, []string{"apiserver"}, laneIDs(view.Make(nil, view.Options{})))
}

func TestEachTypeOfRecordIsAStepWithItsFields(t *testing.T) {
	p := view.Make(run(), view.Options{Told: 0, Title: "a run"})
	var kinds []string
	for i, s := range p.Steps {
		kinds = append(kinds, s.Kind)
		require.Equal(t, i, s.N)
		require.NotEmpty(t, s.Text)
	}
	require.Equal(t, "write decision write write retry retry write event event write write write call call call call mount command call call file gap gap "+
		"write write down up down down fault down fault fault fault fault fault write", strings.Join(kinds, " "))

	created := p.Steps[0].Write
	require.True(t, created.Created)
	require.Equal(t, "", created.Changes[0].Path)
	require.Equal(t, "PersistentVolumeClaim", created.Changes[0].Value.(map[string]any)["kind"])
	require.Equal(t, view.Object{Kind: "PersistentVolumeClaim", Short: "pvc", Namespace: "default", Name: "data", UID: "uid-data"}, p.Objects[0])
	require.Equal(t, int64(1000), p.Steps[2].T)
	require.Equal(t, []view.Change{{Path: "/spec/volumeName", Value: "pv-1"}}, p.Steps[2].Write.Changes)
	require.Equal(t, []string{"pvc data", "pv pv-1"}, named(p, p.Steps[2]))
	require.Equal(t, 409, p.Steps[3].Write.Refused.Code)
	require.Equal(t, []string{"pvc data"}, named(p, p.Steps[4]), "what a retry is about")
	require.Equal(t, int64(5000), p.Steps[4].For)
	require.True(t, p.Steps[8].Detail, "a repeated event")
	require.Equal(t, []string{"pod web", "pvc data", "node node-1"}, named(p, p.Steps[10]))
	require.Equal(t, []string{"volumeattachment va", "pv pv-1", "node node-1"}, named(p, p.Steps[11]))
	require.Equal(t, "csi-driver/csi.storagesim.io", p.Lanes[*p.Steps[12].Call.To].ID)
	require.Equal(t, map[string]any{"size": "+Inf"}, p.Steps[12].Call.Answer)
	require.True(t, p.Steps[13].Detail, "a routine call")
	require.Equal(t, "csi-driver/csi.storagesim.io/node-1", p.Lanes[*p.Steps[14].Call.To].ID)
	require.Equal(t, "csi-registrar/csi.storagesim.io/node-1", p.Lanes[*p.Steps[15].Call.To].ID)
	require.Equal(t, &view.Mount{Op: "mount", Machine: "node/node-1", Source: "/a", Target: "/b", Volume: "pv-1"}, p.Steps[16].Mount)
	require.Equal(t, []string{"pod web", "pv pv-1"}, named(p, p.Steps[16]))
	require.Equal(t, &view.Command{Machine: "node/node-1", Argv: []string{"sh", "-c", "true"}, Err: "no"}, p.Steps[17].Command)
	require.Equal(t, "OK", p.Steps[18].Call.Code)
	require.Equal(t, "Finished", p.Steps[19].Call.Code)
	require.Equal(t, &view.File{Op: "make", Machine: "nfs/nas", Path: "/x", Volume: "pv-1"}, p.Steps[20].File)
	require.False(t, p.Steps[23].Detail, "the phase changes")
	require.True(t, p.Steps[24].Detail, "only a message changes")
	require.Equal(t, []view.Change{{Path: "/status/message", Old: "Runningnode-1", Value: "Runningnode-2"}}, p.Steps[24].Write.Changes[1:])
	require.Equal(t, int64(60_000), p.Steps[25].For)
	require.True(t, p.Steps[len(p.Steps)-1].Write.Gone)
}

// x returns the record with another sentence.
func x(r trace.Record) trace.Record {
	const x = "x"
	switch r := r.(type) {
	case trace.Decision:
		r.Text = x
		return r
	case trace.Event:
		r.Message = x
		return r
	case trace.Gap:
		r.Cluster, r.Here = x, x
		return r
	case trace.StandIn:
		r.As = x
		return r
	case trace.Retry:
		r.Err = errors.New(x)
		return r
	case trace.GaveUp:
		r.Err = errors.New(x)
		return r
	case trace.Struck:
		r.Call, r.Err = x, errors.New(x)
		return r
	case trace.PointStruck:
		r.Point, r.Err = x, errors.New(x)
		return r
	case trace.MachineStruck:
		r.Err = errors.New(x)
		return r
	case trace.Exited:
		r.Err = errors.New(x)
		return r
	}
	return r
}

// wordless returns the JSON of a page without its sentences.
func wordless(t *testing.T, p view.Page) string {
	t.Helper()
	for i := range p.Steps {
		p.Steps[i].Text = ""
		if p.Steps[i].Event != nil {
			p.Steps[i].Event.Message = ""
		}
	}
	text, err := json.MarshalIndent(p, "", " ")
	require.NoError(t, err)
	return string(text)
}

func TestNoSentenceIsRead(t *testing.T) {
	silent := run()
	for i := range silent {
		silent[i].Record = x(silent[i].Record)
	}
	told, untold := view.Make(run(), view.Options{}), view.Make(silent, view.Options{})
	require.NotEqual(t, told.Steps[1].Text, untold.Steps[1].Text)
	require.Equal(t, wordless(t, told), wordless(t, untold))
	said := view.Make(run(), view.Options{Shorten: func(string) string { return "x" }})
	require.Equal(t, "x", said.Steps[0].Text)
	for i := range said.Steps {
		if said.Steps[i].Write != nil && said.Steps[i].Write.Refused != nil {
			said.Steps[i].Write.Refused.Message = told.Steps[i].Write.Refused.Message
		}
	}
	require.Equal(t, wordless(t, told), wordless(t, said))
}

func TestTheDataOfASecretIsNotInAPage(t *testing.T) {
	secret := func(value string) *v1.Secret {
		return &v1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s", Annotations: map[string]string{v1.LastAppliedConfigAnnotation: value, "note": "shown"}},
			Data:       map[string][]byte{"key": []byte(value)}, StringData: map[string]string{"other": value},
		}
	}
	bare := &v1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}}
	entries := []trace.Entry{
		entry(0, "user", write("create", "", 1, nil, secret("hunter2"))),
		entry(0, "user", write("update", "", 2, secret("hunter2"), secret("hunter3"))),
		entry(0, "user", write("update", "", 3, secret("hunter3"), bare)),
		entry(0, "user", write("update", "", 4, bare, secret("hunter4"))),
		entry(0, "user", write("delete", "", 5, secret("hunter4"), nil)),
	}
	for told := range entries {
		text, err := json.Marshal(view.Make(entries, view.Options{Told: told}))
		require.NoError(t, err)
		require.NotContains(t, string(text), "hunter")
		require.NotContains(t, string(text), "aHVudGVy", "in base64")
		require.Contains(t, string(text), `(not shown)`, "from record %d on", told)
	}
}

func TestALongRunHasItsLastStepsAndWhatWasBefore(t *testing.T) {
	p := view.Make(run(), view.Options{Steps: 14, Chapters: []view.Chapter{{Step: 0, Title: "a"}, {Step: 1, Title: "b"}, {Step: 30, Title: "c"}}})
	require.Len(t, p.Steps, 14)
	require.Equal(t, 23, p.Steps[0].N)
	require.Equal(t, []string{"23 earlier records are left out: a page has at most 14 steps and about 16 MiB."}, p.Missing)
	require.Equal(t, []view.Chapter{{Step: 0, Title: "b"}, {Step: 7, Title: "c"}}, p.Chapters)
	var base []string
	for _, b := range p.Base {
		base = append(base, p.Objects[b.Object].Name)
	}
	require.Equal(t, []string{"web", "pv-1", "data", "va"}, base)

	p = view.Make(run(), view.Options{Bytes: 2000})
	require.NotEmpty(t, p.Steps)
	require.Less(t, len(p.Steps), 30)
	require.Len(t, p.Missing, 1)

	node := func(ready string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", ResourceVersion: "3", Labels: map[string]string{"ready": ready}}}
	}
	lost := []trace.Entry{entry(0, "kubelet/node-1", write("patch", "", 4, node("no"), node("yes")))}
	p = view.Make(lost, view.Options{First: 1000, Told: 1000})
	require.Equal(t, []string{"1000 earlier records were dropped by the trace, which is bounded."}, p.Missing)
	require.Equal(t, uint64(3), p.Base[0].RV)
	require.Equal(t, "no", p.Base[0].Value.(map[string]any)["metadata"].(map[string]any)["labels"].(map[string]any)["ready"])
	require.Equal(t, 1000, p.Steps[0].N)
}

func TestAMillionRecordsAreBounded(t *testing.T) {
	entries := make([]trace.Entry, 1_000_000)
	for i := range entries {
		entries[i] = entry(time.Duration(i)*time.Second, "user", trace.Event{About: trace.Ref{Kind: "Pod", Name: "web"}, Message: "again"})
	}
	p := view.Make(entries, view.Options{})
	require.Len(t, p.Steps, view.DefaultSteps)
	require.Equal(t, 999_999, p.Steps[len(p.Steps)-1].N)
	require.Equal(t, []string{fmt.Sprintf("980000 earlier records are left out: a page has at most %d steps and about 16 MiB.", view.DefaultSteps)}, p.Missing)
}

func TestLongAndStrangeTextsAreCutAndEscaped(t *testing.T) {
	entries := []trace.Entry{
		entry(0, "user\x1b[2J", trace.Event{About: trace.Ref{Kind: "Pod", Name: "a\u202eb"}, Message: strings.Repeat("é", 1_000_000)}),
		entry(0, "user", trace.RPC{Driver: "d", Request: map[string]any{"list": slices.Repeat([]any{"x"}, 1000), "map": deep(100)}}),
	}
	p := view.Make(entries, view.Options{})
	require.Equal(t, `a\u202eb`, p.Objects[0].Name)
	require.Less(t, len(p.Steps[0].Event.Message), 5000)
	require.Contains(t, p.Steps[0].Event.Message, "(2000000 bytes in all)")
	text, err := json.Marshal(p)
	require.NoError(t, err)
	require.Less(t, len(text), 20_000)
	require.Contains(t, string(text), "... (1000 items in all)")
}

func deep(n int) any {
	if n == 0 {
		return "end"
	}
	return map[string]any{"in": deep(n - 1)}
}
