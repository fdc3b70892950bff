package conformance

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In each of these, a true recording of the whole stack is falsified in one place, and
// the harness must say exactly where the simulation differs from it.
func TestTheHarnessFindsEveryKindOfDifferenceWithKubelets(t *testing.T) {
	tests := map[string]struct {
		rec     string
		falsify func(rec *Recording)
		want    string
	}{
		"a kubelet's event is missing in the recording": {
			"k24_deleted_while_configmap_missing",
			func(rec *Recording) {
				rec.Steps[0].Writes = slices.DeleteFunc(rec.Steps[0].Writes, func(e Entry) bool { return e.Event == "FailedMount" })
			},
			"step 1 of 2, events: wanted nothing more, got kubelet/node-1 Warning FailedMount pod/default/web",
		},
		"a kubelet's write is another": {
			"k24_deleted_while_configmap_missing",
			func(rec *Recording) {
				for _, e := range rec.Steps[1].Writes {
					if e.Changed["/status/phase"] != nil {
						e.Changed["/status/phase"] = "Succeeded"
					}
				}
			},
			`step 2 of 2, pods default/web: wanted kubelet/node-1 patch status {`,
		},
		"a directory has another mode": {
			"k21_projected", func(rec *Recording) { rec.Steps[1].Files[0].Mode = "40755" },
			`~projected/v0 /mode: wanted "40755", got "41777"`,
		},
		"a directory has another owner": {
			"k21_projected", func(rec *Recording) { rec.Steps[1].Files[0].GID = 1234 },
			`~projected/v0 /owner: wanted "0:1234", got "0:0"`,
		},
		"a directory has another entry": {
			"k21_projected", func(rec *Recording) { rec.Steps[1].Files[0].Entries = append(rec.Steps[1].Files[0].Entries, "z") },
			`~projected/v0 /entries: wanted "[..<stamp> ..data a labels s z]", got "[..<stamp> ..data a labels s]"`,
		},
		"a file has another content": {
			"k21_projected", func(rec *Recording) { rec.Steps[1].Files[0].Content["a"] = "9" },
			`~projected/v0 /content of a: wanted "9", got "1"`,
		},
		"a file has another mode": {
			"k21_projected", func(rec *Recording) { rec.Steps[1].Files[0].Modes["a"] = "0600 0:0" },
			`~projected/v0 /mode of a: wanted "0600 0:0", got "0644 0:0"`,
		},
		"a directory is elsewhere": {
			"k21_projected", func(rec *Recording) { rec.Steps[1].Files[0].Path = "<host>" },
			`files <host> /path: wanted "<host>", got "<root>/pods/<uid:pod/default/web>/volumes/kubernetes.io~projected/v0"`,
		},
		"a node changed": {
			"k21_projected",
			func(rec *Recording) {
				for _, obj := range rec.Objects {
					if keyOf(obj) == "node/node-1" {
						obj["metadata"].(map[string]any)["labels"].(map[string]any)["more"] = "x"
					}
				}
			},
			`at the end, node/node-1 /`,
		},
		"a new node has no taint": {
			"startup_kubelets_register",
			func(rec *Recording) {
				delete(rec.Steps[0].Writes[1].Object.(map[string]any), "spec")
				rec.Differs = slices.DeleteFunc(rec.Differs, func(line string) bool { return strings.Contains(line, "nodes node-1") })
			},
			`step 1 of 1, nodes node-1: wanted kubelet/node-1 create {`,
		},
		"a node keeps its taint": {
			"startup_kubelets_register",
			func(rec *Recording) {
				rec.Steps[0].Writes = slices.DeleteFunc(rec.Steps[0].Writes, func(e Entry) bool { return e.Actor == "node-controller" })
			},
			`step 1 of 1, nodes node-1: wanted nothing, got node-controller patch {"/spec/taints":null}`,
		},
		"a mount is left that should not be": {
			"u09c_claim_deleted_while_createvolume_hangs", func(rec *Recording) {
				rec.Steps[3].Left.Nodes = map[string]OnNode{"node-1": {Mounts: []string{"<root>/pods/x/mount"}}}
			},
			`step 4 of 4, left on node-1, mounts: wanted <root>/pods/x/mount, got nothing`,
		},
		"a pod's directory is left": {
			"u11g_pod_and_claim_deleted_while_kubelet_down", func(rec *Recording) {
				rec.Steps[5].Left.Nodes["node-1"] = OnNode{Mounts: rec.Steps[5].Left.Nodes["node-1"].Mounts, Staging: rec.Steps[5].Left.Nodes["node-1"].Staging}
			},
			`step 6 of 7, left on node-1, pods: wanted nothing, got <uid:pod/default/web>`,
		},
		"a staging directory is left": {
			"u11g_pod_and_claim_deleted_while_kubelet_down", func(rec *Recording) {
				rec.Steps[6].Left.Nodes = map[string]OnNode{"node-2": {Staging: []string{"plain.csi.example.com/x"}}}
			},
			`step 7 of 7, left on node-2, staging directories: wanted plain.csi.example.com/x, got nothing`,
		},
		"a volume is published elsewhere": {
			"u11g_pod_and_claim_deleted_while_kubelet_down", func(rec *Recording) {
				for id := range rec.Steps[2].Left.Storage {
					rec.Steps[2].Left.Storage[id] = []string{"id-node-2"}
				}
			},
			`step 3 of 7, left in the storage, h-pvc-<uid:persistentvolumeclaim/default/data>, published on: wanted id-node-2, got id-node-1`,
		},
		"a volume is not in the storage any more": {
			"u11d_provisioner_killed_in_createvolume_claim_deleted", func(rec *Recording) { rec.Steps[5].Left.Storage = nil },
			`step 6 of 6, left in the storage, h-pvc-<uid:persistentvolumeclaim/default/data>: wanted no such volume, got published on nothing`,
		},
		"a volume is in the storage that is not": {
			"u11g_pod_and_claim_deleted_while_kubelet_down", func(rec *Recording) { rec.Steps[6].Left.Storage = map[string][]string{"h": nil} },
			`step 7 of 7, left in the storage, h: wanted published on nothing, got no such volume`,
		},
		"a call without an answer was not made": {
			"u11d_provisioner_killed_in_createvolume_claim_deleted", func(rec *Recording) { rec.Steps[2].Calls = nil },
			`at the end, calls of plain.csi.example.com: wanted nothing more, got CreateVolume on controller: OK`,
		},
		"a failed question for capabilities": {
			"u04c_capabilities_unanswered_at_teardown", func(rec *Recording) {
				rec.Steps[4].Calls = slices.DeleteFunc(rec.Steps[4].Calls, func(c DriverCall) bool { return c.Method == "NodeGetCapabilities" })
			},
			`step 5 of 6, calls of plain.csi.example.com: wanted nothing more, got NodeGetCapabilities on node-1: Internal {}`,
		},
		"an object is left": {
			"k21_projected",
			func(rec *Recording) {
				rec.Objects = append(rec.Objects, map[string]any{"kind": "Pod", "metadata": map[string]any{"namespace": "default", "name": "web"}})
			},
			`at the end, pod/default/web: wanted {`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := "full"
			if strings.HasPrefix(tt.rec, "u") {
				dir = "unkind"
			}
			rec, err := Load(filepath.Join("testdata", dir, tt.rec+".json"))
			require.NoError(t, err)
			differences, err := run(rec, Schedule{}, false)
			require.NoError(t, err)
			require.Empty(t, differences, "the true recording")
			tt.falsify(rec)
			differences, err = run(rec, Schedule{}, false)
			require.NoError(t, err)
			require.NotEmpty(t, differences)
			assert.Contains(t, differences[0].String(), tt.want)
		})
	}
}

func TestWhatDiffersBetweenTwoRecordedRunsNeedNotAgree(t *testing.T) {
	rec, err := Load(filepath.Join("testdata", "full", "k24_deleted_while_configmap_missing.json"))
	require.NoError(t, err)
	for i, e := range rec.Steps[0].Writes {
		if e.Event == "FailedMount" {
			rec.Steps[0].Writes[i].Event = "FailedMounting"
		}
	}
	differences, err := run(rec, Schedule{}, false)
	require.NoError(t, err)
	assert.NotEmpty(t, differences)
	rec.Differs = []string{
		"step 0 events: only in run 1 [('kubelet/node-1', 'Warning', 'FailedMount', 'pod/default/web')] | only in run 2 [('kubelet/node-1', 'Warning', " +
			"'FailedMounting', 'pod/default/web')]",
	}
	differences, err = run(rec, Schedule{}, false)
	require.NoError(t, err)
	assert.Empty(t, differences)

	rec.Differs = []string{"step 1 writes pods default/web: run 1 [] | run 2 ['x']", "step 2 writes nodes node-1 /spec/taints: run 1 []"}
	assert.Equal(t, doubts{"pods default/web": {""}}, rec.optionalWrites(1))
	assert.Equal(t, doubts{"nodes node-1": {"/spec/taints"}}, rec.optionalWrites(2))
	assert.Empty(t, rec.optionalWrites(0))
}

func TestTheHarnessFindsADifferenceInTheCallsOfADriver(t *testing.T) {
	load := func() *Recording {
		rec, err := Load(filepath.Join("testdata", "full", "csi03_no_attach.json"))
		require.NoError(t, err)
		return rec
	}
	differences, err := run(load(), Schedule{}, false)
	require.NoError(t, err)
	require.Empty(t, differences, "the true recording")
	for want, falsify := range map[string]func(calls []DriverCall) []DriverCall{
		"wanted NodeStageVolume on node-2: OK":                func(c []DriverCall) []DriverCall { c[0].Side = "node-2"; return c },
		"wanted NodePublishVolume on node-1: Internal":        func(c []DriverCall) []DriverCall { c[1].Code = "Internal"; return c },
		"wanted nothing more, got NodePublishVolume":          func(c []DriverCall) []DriverCall { return c[:1] },
		"wanted NodePublishVolume, NodeStageVolume, got Node": func(c []DriverCall) []DriverCall { c[0], c[1] = c[1], c[0]; return c },
		`"volume_id":"another"`:                               func(c []DriverCall) []DriverCall { c[0].Request["volume_id"] = "another"; return c },
	} {
		rec := load()
		rec.Steps[2].Calls = falsify(rec.Steps[2].Calls)
		differences, err := run(rec, Schedule{}, false)
		require.NoError(t, err)
		require.NotEmpty(t, differences, want)
		assert.Contains(t, differences[0].String(), want)
	}
}

// Who removes its finalizer from a volume first is chance, but not which finalizer it is.
func TestTheOwnFinalizerOfEachComponentIsCompared(t *testing.T) {
	entry := func(actor string, finalizers ...any) Entry {
		return Entry{Actor: actor, Verb: "patch", Resource: "persistentvolumes", Name: "pv", Code: 200, Changed: map[string]any{"/metadata/finalizers": finalizers}}
	}
	const protection, provisioner, attacher = "kubernetes.io/pv-protection", "external-provisioner.volume.kubernetes.io/finalizer", "external-attacher/plain"
	writes := func(entries ...Entry) []write { return apart(expectations(entries).writes) }
	first := writes(entry("csi-provisioner", protection, attacher), entry("csi-attacher", protection))
	assert.Empty(t, compareWrites(first, writes(entry("csi-attacher", provisioner, protection), entry("csi-provisioner", protection))), "the other order")
	assert.NotEmpty(t, compareWrites(first, writes(entry("csi-attacher", protection, attacher), entry("csi-provisioner", protection))),
		"the attacher left its own")
	assert.NotEmpty(t, compareWrites(first, writes(entry("csi-attacher", protection), entry("kubelet/node-1", protection, attacher))), "another actor")
}

func TestTheOrderInWhichDriversRegisterIsNotCompared(t *testing.T) {
	registers := func(drivers ...any) write {
		return write{object: "csinodes node-1", actor: "kubelet/node-1", verb: "update", changed: map[string]any{"/spec/drivers": drivers}}
	}
	first := registered([]write{registers("plain"), registers("plain", "topo")})
	assert.Equal(t, []write{registers("plain", "topo")}, first)
	assert.Empty(t, compareWrites(first, registered([]write{registers("topo"), registers("plain", "topo")})))
	assert.NotEmpty(t, compareWrites(first, registered([]write{registers("topo")})), "one never registers")
}

func TestADeletionOfWhatIsBeingDeletedChangesNothing(t *testing.T) {
	deletion := func(changed map[string]any) Entry {
		return Entry{Actor: "csi-provisioner", Verb: "delete", Resource: "persistentvolumes", Name: "pv", Code: 200, Changed: changed}
	}
	assert.Empty(t, expectations([]Entry{deletion(map[string]any{"/metadata/finalizers": []any{"x"}})}).writes, "another removed a finalizer")
	assert.Len(t, expectations([]Entry{
		deletion(map[string]any{"/metadata/deletionTimestamp": "<set>"}), deletion(map[string]any{"/metadata/deletionGracePeriodSeconds": 0}), deletion(nil),
	}).writes, 3)
}

// Where two runs differ in one field of an object, the others are compared still.
func TestOfAFieldInDoubtOnlyTheFieldIsLeftOut(t *testing.T) {
	inUse := func(value any) Entry {
		return Entry{Actor: "kubelet/node-1", Verb: "patch", Resource: "nodes/status", Name: "node-1", Code: 200,
			Changed: map[string]any{"/status/volumesInUse": value}}
	}
	rec := &Recording{
		Steps: []Step{{}, {Writes: []Entry{inUse([]any{"v"})}}},
		Differs: []string{`step 1 writes nodes node-1 /status/volumesInUse: run 1 ['kubelet/node-1 patch nodes/status {"/status/volumesInUse": ["v"]}'] | run 2 []`,
			"step 1 writes pods default/web: run 1 [] | run 2 ['y']"},
	}
	writes := []write{
		{object: "nodes node-1", changed: map[string]any{"/status/volumesInUse": "v", "/spec/taints": "t"}},
		{object: "nodes node-1", changed: map[string]any{"/status/volumesInUse": "v"}},
		{object: "pods default/web", changed: map[string]any{"/status/phase": "Running"}},
	}
	assert.Equal(t, []write{{object: "nodes node-1", changed: map[string]any{"/spec/taints": "t"}}}, rec.optionalWrites(1).leaveOut(writes))
	assert.Equal(t, writes, rec.optionalWrites(0).leaveOut(writes))
	node := map[string]any{"status": map[string]any{"volumesInUse": []any{"v"}, "volumesAttached": []any{"a"}}}
	assert.Equal(t, map[string]any{"status": map[string]any{"volumesAttached": []any{"a"}}}, rec.optionalAtEnd().without("node/node-1", node))
	assert.Contains(t, node["status"], "volumesInUse", "the recording itself stays")
	assert.Equal(t, node, rec.optionalAtEnd().without("node/node-2", node))
	rec.Steps = append(rec.Steps, Step{Writes: []Entry{inUse(nil)}})
	assert.Empty(t, rec.optionalAtEnd(), "both runs wrote the last value")
}

func TestAStepOfTheWholeStackThatIsNotUnderstoodIsAnError(t *testing.T) {
	_, err := load(t, `{"steps": [{"step": {"kubelet": {"node-1": "pause"}}}]}`)
	require.ErrorContains(t, err, `step 1: kubelet: node-1: "pause": expected start, stop or restart`)
	_, err = load(t, `{"steps": [{"step": {"program": {"kcm": "pauze"}}}]}`)
	require.ErrorContains(t, err, `step 1: program: kcm: "pauze": expected one of ["pause" "restart" "resume" "start" "stop"]`)
	_, err = load(t, `{"steps": [{"step": {"fail": [{"Method": "CreateVolume", "Answer": "nothing"}]}}]}`)
	require.ErrorContains(t, err, `step 1: fail: Answer "nothing": expected "empty" or "no id"`)
	_, err = load(t, `{"steps": [{"step": {"wait": 1}, "left": {"node-1": {"mount": []}}}]}`)
	require.ErrorContains(t, err, `unknown field "mount"`)
	for step, want := range map[string]string{
		`{"program": {"etcd": "stop"}}`:         `program: there is no program "etcd"`,
		`{"program": {"prov-plan": "stop"}}`:    `program: there is no program "prov-plan"`,
		`{"program": {"sched": "start"}}`:       `program: sched: actor "kube-scheduler" is not stopped`,
		`{"driver": "/caps?driver=x&without="}`: `driver: "/caps?driver=x&without=": there is no driver "x"`,
		`{"driver": "/reboot"}`:                 `driver: "/reboot": it is not a known control: expected "/set" or one of`,
		`{"delete": "pod/<uid:pod/default/x>"}`: `<uid:pod/default/x>: no such object has existed`,
		`{"host": ["reboot now"]}`:              `host: reboot now: exit code 127: sh: reboot: not found`,
		`{"wait": 1, "until": "pod/web"}`:       `until: "pod/web" is not a known condition`,
		`{"wait": 1, "until": ["cow/web Fed"]}`: `until: the server doesn't have a resource type "cow"`,
		`{"wait": 1, "until": "gone cow/web"}`:  `until: the server doesn't have a resource type "cow"`,
		`{"wait": 1, "until": "gone cows"}`:     `until: gone "cows": the server doesn't have a resource type "cows"`,
		`{"kubelet": {"node-1": "start"}}`:      `kubelet: node-1: actor "kubelet/node-1" is not stopped`,
		`{"kubelet": {"node-3": "stop"}}`:       `kubelet: node-3: no actor is called "kubelet/node-3" (did you mean "kubelet/node-1"?)`,
	} {
		rec, err := load(t, `{"before": [{"kind": "Node", "metadata": {"name": "node-1"}}], "steps": [{"step": `+step+`}]}`)
		require.NoError(t, err)
		_, err = Check(rec, Options{})
		assert.ErrorContains(t, err, "case: step 1: "+want)
	}
}

// What a stopped kubelet does not do is in the next step, when it has started.
func TestAKubeletThatIsStoppedAndStartedIsReplayed(t *testing.T) {
	load := func(first, last string) *Recording {
		rec, err := load(t, `{"before": [{"kind": "Node", "metadata": {"name": "node-1"}}], "steps": [
			{"step": {"kubelet": {"node-1": "`+first+`"}}},
			{"step": {"create": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
				"spec": {"nodeName": "node-1", "containers": [{"name": "c", "image": "nginx"}]}}]}},
			{"step": {"kubelet": {"node-1": "`+last+`"}, "until": "pod/web Running"}}]}`)
		require.NoError(t, err)
		return rec
	}
	for _, tt := range []struct {
		first, last string
		step        int
	}{{"stop", "start", 3}, {"restart", "restart", 2}} {
		differences, err := run(load(tt.first, tt.last), Schedule{}, true)
		require.NoError(t, err)
		require.NotEmpty(t, differences)
		assert.Equal(t, tt.step, differences[0].Step, "the kubelet writes the pod's status after %s: %s", tt.first, differences[0])
	}
}

func TestHostCommandsReachTheNodesDisksAndNothingElse(t *testing.T) {
	rec, err := load(t, `{"before": [{"kind": "Node", "metadata": {"name": "node-1"}}, {"kind": "Node", "metadata": {"name": "node-2"}}], "steps": `+
		`[{"step": {"wait": 1}}]}`)
	require.NoError(t, err)
	r, err := newReplay(rec, Schedule{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.cluster.Close()) }()
	require.NoError(t, r.host([]string{"mkdir -p <host>/a/b; echo some words > <host>/a/f; touch <host>/../../../../x",
		"mkdir <host>/c; rmdir <host>/c; touch <host>/g; chmod 600 <host>/g; rm <host>/g; rm -rf <host>/a/b"}))
	for _, node := range []string{"node/node-1", "node/node-2"} {
		list, err := r.cluster.Machine(node).ListDir(hostDir)
		require.NoError(t, err)
		assert.Equal(t, []string{"a/"}, list)
		data, err := r.cluster.Machine(node).ReadFile(hostDir + "/a/f")
		require.NoError(t, err)
		assert.Equal(t, "some words\n", data)
		_, err = r.cluster.Machine(node).ReadFile("/x")
		require.NoError(t, err)
	}
	assert.NoFileExists(t, filepath.Join(r.cluster.Lab().Dir(), "x"))
	assert.ErrorContains(t, r.host([]string{"rm <host>/none"}), "host: rm <host>/none: ")
}

func TestTheResultDoesNotDependOnTheNumberOfCores(t *testing.T) {
	rec, err := Load(filepath.Join("testdata", "random_716.json"))
	require.NoError(t, err)
	one, err := check(rec, Options{}, make(chan struct{}, 1))
	require.NoError(t, err)
	many, err := check(rec, Options{}, make(chan struct{}, 16))
	require.NoError(t, err)
	assert.Equal(t, one, many)
	assert.False(t, one.Schedule.inOrder())
}

func TestEachKubeletOfAScheduleHasAPhaseOfItsOwn(t *testing.T) {
	rec, err := Load(filepath.Join("testdata", "made", "resources.json"))
	require.NoError(t, err)
	r, err := newReplay(rec, Schedule{Kubelets: 74})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.cluster.Close()) }()
	require.Equal(t, 4*time.Second, r.disks["node-1"].StatusPhase)
	require.Equal(t, 7*time.Second, r.disks["node-2"].StatusPhase)
	require.Equal(t, "kubelets' phases 04", Schedule{Kubelets: 4}.String())
}

func TestLookingIntoAPodThatIsNotThereShowsNothing(t *testing.T) {
	rec, err := Load(filepath.Join("testdata", "made", "resources.json"))
	require.NoError(t, err)
	r, err := newReplay(rec, Schedule{})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.cluster.Close()) }()
	files, err := r.look([]string{"volume refused *"})
	require.NoError(t, err)
	require.Empty(t, files)
	require.NotEmpty(t, compareFiles(nil, []File{{Path: "/a"}}), "and what is there only here is a difference")
}
