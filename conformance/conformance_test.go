package conformance

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checked has what TestTheSimulationDoesWhatARealControlPlaneDid found, by case, for the tests after it.
var checked sync.Map

var update = flag.Bool("update", false, "look for the schedules of testdata/schedules/schedules.json anew")

// schedulesFile has a schedule for each recording that agrees in another order only.
const schedulesFile = "testdata/schedules/schedules.json"

// knownSchedules reads schedulesFile. With -update, and with STORAGESIM_SEEDS as in CI, there are none: each schedule is
// looked for among all.
func knownSchedules(t *testing.T) map[string]Schedule {
	if *update || os.Getenv("STORAGESIM_SEEDS") != "" {
		return nil
	}
	return readSchedules(t)
}

func readSchedules(t *testing.T) (known map[string]Schedule) {
	text, err := os.ReadFile(schedulesFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &known))
	return known
}

// The schedule under which a recording agreed is kept in a file and tried first. If it does not agree any more, all are tried, and
// the file is to be written anew.
func TestTheSimulationDoesWhatARealControlPlaneDid(t *testing.T) {
	agreeing, _ := loadAll(t)
	found, kept := map[string]Schedule{}, readSchedules(t)
	for verdict := range checkAll(agreeing, Options{known: knownSchedules(t)}) {
		require.NoError(t, verdict.err)
		checked.Store(verdict.Case, verdict.Result)
		if len(verdict.Differences) == 0 && !verdict.Schedule.inOrder() {
			found[verdict.Case] = verdict.Schedule
		}
		t.Run(verdict.Case, func(t *testing.T) {
			if assert.Empty(t, verdict.Differences) && !*update {
				assert.Equal(t, kept[verdict.Case], verdict.Schedule, "another schedule agrees now: go test ./conformance -update")
			}
			t.Log(verdict.Result)
		})
	}
	t.Logf("tried %d recordings", len(agreeing))
	if *update {
		var lines []string
		for _, name := range slices.Sorted(maps.Keys(found)) {
			schedule, err := json.Marshal(found[name])
			require.NoError(t, err)
			lines = append(lines, fmt.Sprintf("  %q: %s", name, schedule))
		}
		require.NoError(t, os.WriteFile(schedulesFile, []byte("{\n"+strings.Join(lines, ",\n")+"\n}\n"), 0o600))
	}
}

func TestACaseThatNoLongerDiffersIsTakenOffTheList(t *testing.T) {
	seeds := 50
	if testing.Short() {
		seeds = 5
	}
	_, pending := loadAll(t)
	for verdict := range checkAll(pending, Options{Seeds: seeds}) {
		require.NoError(t, verdict.err)
		t.Run(verdict.Case, func(t *testing.T) {
			assert.NotEmpty(t, verdict.Differences, "it agrees (%s): remove testdata/known/%s", verdict.Schedule, verdict.Case)
		})
	}
}

// loadAll reads the recordings: those that must agree, and those known to differ.
func loadAll(t *testing.T) (agreeing, pending []*Recording) {
	recordings, err := LoadDir("testdata")
	require.NoError(t, err)
	for _, dir := range []string{"full", "unkind", "made"} {
		more, err := LoadDir(filepath.Join("testdata", dir))
		require.NoError(t, err)
		recordings = append(recordings, more...)
	}
	reasons := Pending()
	for _, rec := range recordings {
		if reasons[rec.Case] != "" {
			pending = append(pending, rec)
		} else {
			agreeing = append(agreeing, rec)
		}
	}
	return agreeing, pending
}

func TestEachKnownDifferenceHasARecordingAndAReason(t *testing.T) {
	for name, reason := range Pending() {
		found, err := filepath.Glob(filepath.Join("testdata", "*", name+".json"))
		require.NoError(t, err)
		_, err = os.Stat(filepath.Join("testdata", name+".json"))
		assert.True(t, err == nil || len(found) == 1, "there is no recording %s", name)
		assert.NotEmpty(t, reason, name)
	}
}

// In each of these, a true recording is falsified in one place, and the harness
// must say exactly where the simulation differs from it.
func TestTheHarnessFindsEveryKindOfDifference(t *testing.T) {
	tests := map[string]struct {
		rec     string
		falsify func(t *testing.T, rec *Recording)
		want    string
	}{
		"a write is missing in the recording": {
			"smallest_volume_wins",
			func(t *testing.T, rec *Recording) { dropEntry(t, rec, 1, "persistentvolumes/status") },
			`step 2 of 2, persistentvolumes pv-8: wanted nothing, got persistent-volume-binder update status {"/status/phase":"Bound"}`,
		},
		"a write is missing in the simulation": {
			"class_not_found",
			func(_ *testing.T, rec *Recording) {
				rec.Steps[0].Writes = append(rec.Steps[0].Writes, Entry{
					Actor: "kube-scheduler", Verb: "update", Resource: "persistentvolumeclaims", Name: "default/data", Code: 200,
					Changed: map[string]any{"/metadata/annotations": map[string]any{"a": "b"}},
				})
			},
			`step 1 of 1, persistentvolumeclaims default/data: wanted kube-scheduler update {"/metadata/annotations":{"a":"b"}}, got nothing`,
		},
		"a written value is another": {
			"smallest_volume_wins",
			func(t *testing.T, rec *Recording) {
				entry(t, rec, 1, "persistentvolumeclaims/status").Changed["/status/phase"] = "Lost"
			},
			`step 2 of 2, persistentvolumeclaims default/data: wanted persistent-volume-binder update status {"/status/accessModes":["ReadWriteOnce"],` +
				`"/status/capacity":{"storage":"8Gi"},"/status/phase":"Lost"}, got persistent-volume-binder update status {"/status/accessModes":["ReadWriteOnce"],` +
				`"/status/capacity":{"storage":"8Gi"},"/status/phase":"Bound"}`,
		},
		"somebody else writes": {
			"smallest_volume_wins",
			func(t *testing.T, rec *Recording) { entry(t, rec, 1, "persistentvolumes").Actor = "kube-scheduler" },
			"step 2 of 2, persistentvolumes pv-8: wanted kube-scheduler update {",
		},
		"two writes to one object in another order": {
			"smallest_volume_wins",
			func(_ *testing.T, rec *Recording) {
				w := rec.Steps[1].Writes
				for i, e := range w {
					if e.Resource == "persistentvolumes" && w[i+1].Resource == "persistentvolumes/status" {
						w[i], w[i+1] = w[i+1], w[i]
						return
					}
				}
			},
			"step 2 of 2, persistentvolumes pv-8: wanted persistent-volume-binder update status {",
		},
		"an event has another reason": {
			"class_not_found",
			func(t *testing.T, rec *Recording) { event(t, rec, 0).Event = "FailedBinding" },
			`step 1 of 1, events: wanted persistent-volume-binder Warning FailedBinding persistentvolumeclaim/default/data: storageclass.storage.k8s.io "nope" not ` +
				`found, got persistent-volume-binder Warning ProvisioningFailed persistentvolumeclaim/default/data: storageclass.storage.k8s.io "nope" not found`,
		},
		"an event is missing in the recording": {
			"class_not_found",
			func(t *testing.T, rec *Recording) { *event(t, rec, 0) = Entry{Actor: "user"} },
			"step 1 of 1, events: wanted nothing more, got persistent-volume-binder Warning ProvisioningFailed",
		},
		"a refusal has another code": {
			"api_refusals",
			func(t *testing.T, rec *Recording) { refusedEntry(t, rec, 403).Code = 405 },
			"got patch persistentvolumeclaims default/bound refused with 403 Forbidden: persistentvolumeclaims \"bound\" is forbidden: only dynamically",
		},
		"a refusal has another reason": {
			"api_refusals",
			func(t *testing.T, rec *Recording) { refusedEntry(t, rec, 403).Reason = "Invalid" },
			"refused with 403 Invalid: persistentvolumeclaims \"bound\" is forbidden",
		},
		"a refusal is of another field": {
			"api_refusals",
			func(t *testing.T, rec *Recording) {
				e := refusedEntry(t, rec, 422)
				e.Message = strings.Replace(e.Message, "is invalid: spec:", "is invalid: spec.volumeName:", 1)
			},
			"got patch persistentvolumeclaims default/pending refused with 422 Invalid for spec: ",
		},
		"what was refused is not": {
			"class_not_found",
			func(_ *testing.T, rec *Recording) {
				rec.Steps[0].Writes[0].Code, rec.Steps[0].Writes[0].Reason = 409, "AlreadyExists"
			},
			"step 1 of 1, refusals: wanted create persistentvolumeclaims default/data refused with 409 AlreadyExists, got nothing",
		},
		"a field at the end is another": {
			"smallest_volume_wins",
			func(t *testing.T, rec *Recording) {
				object(t, rec, "PersistentVolumeClaim")["spec"].(map[string]any)["volumeName"] = "pv-20"
			},
			`at the end, persistentvolumeclaim/default/data /spec/volumeName: wanted "pv-20", got "pv-8"`,
		},
		"a field at the end is missing in the simulation": {
			"smallest_volume_wins",
			func(t *testing.T, rec *Recording) {
				object(t, rec, "PersistentVolumeClaim")["status"].(map[string]any)["more"] = 1.0
			},
			`at the end, persistentvolumeclaim/default/data /status/more: wanted 1, got nothing`,
		},
		"an object is left that should be gone": {
			"smallest_volume_wins",
			func(_ *testing.T, rec *Recording) { rec.Objects = rec.Objects[1:] },
			"at the end, persistentvolume/pv-1: wanted no such object, got {",
		},
		"an object is gone that should be left": {
			"smallest_volume_wins",
			func(_ *testing.T, rec *Recording) {
				rec.Objects = append(rec.Objects, map[string]any{"kind": "Pod", "metadata": map[string]any{"namespace": "default", "name": "web"}})
			},
			"at the end, pod/default/web: wanted {",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			rec, err := Load(filepath.Join("testdata", tt.rec+".json"))
			require.NoError(t, err)
			tt.falsify(t, rec)
			differences, err := run(rec, Schedule{}, false)
			require.NoError(t, err)
			require.NotEmpty(t, differences)
			assert.Contains(t, differences[0].String(), tt.want)
		})
	}
}

// entry finds the first controller write to a resource in a step.
func entry(t *testing.T, rec *Recording, step int, resource string) *Entry {
	for i, e := range rec.Steps[step].Writes {
		if e.Actor != "user" && e.Resource == resource {
			return &rec.Steps[step].Writes[i]
		}
	}
	t.Fatalf("%s: step %d writes no %s", rec.Case, step+1, resource)
	return nil
}

func dropEntry(t *testing.T, rec *Recording, step int, resource string) {
	*entry(t, rec, step, resource) = Entry{Actor: "user"}
}

func event(t *testing.T, rec *Recording, step int) *Entry {
	for i, e := range rec.Steps[step].Writes {
		if e.Event != "" {
			return &rec.Steps[step].Writes[i]
		}
	}
	t.Fatalf("%s: step %d has no event", rec.Case, step+1)
	return nil
}

func refusedEntry(t *testing.T, rec *Recording, code int) *Entry {
	for i := range rec.Steps {
		for j, e := range rec.Steps[i].Writes {
			if e.Actor == "user" && e.Code == code {
				return &rec.Steps[i].Writes[j]
			}
		}
	}
	t.Fatalf("%s: nothing is refused with %d", rec.Case, code)
	return nil
}

func object(t *testing.T, rec *Recording, kind string) map[string]any {
	for _, obj := range rec.Objects {
		if obj["kind"] == kind {
			return obj
		}
	}
	t.Fatalf("%s: no %s at the end", rec.Case, kind)
	return nil
}

// The comparison notices each dropped write, event or refusal of a controller, and each changed
// value. It tests the comparison, so that a sample of the recordings is enough; CI takes them
// all.
func TestNothingThatMustAgreeIsOverlooked(t *testing.T) {
	recordings, _ := loadAll(t)
	stride := 4
	switch {
	case os.Getenv("STORAGESIM_SEEDS") != "":
		stride = 1
	case testing.Short():
		stride = 9
	}
	for i, rec := range recordings {
		if i%stride != 0 {
			continue
		}
		t.Run(rec.Case, func(t *testing.T) {
			result, done := checked.Load(rec.Case)
			if !done {
				var err error
				result, err = Check(rec, Options{known: knownSchedules(t)})
				require.NoError(t, err)
			}
			require.Empty(t, result.(Result).Differences)
			r, err := newReplay(rec, result.(Result).Schedule)
			require.NoError(t, err)
			defer func() { require.NoError(t, r.cluster.Close()) }()
			for i, step := range rec.Steps {
				r.begin(i)
				got, err := r.step(step.Action)
				require.NoError(t, err)
				require.Empty(t, r.compare(i, got))
				for j, e := range step.Writes {
					if counts(e) && !repeated(step.Writes, j) && !onlyRepeated(e, got) && !r.leftOut(i, e) && !r.earlierRegistration(step.Writes, j) {
						falsifyWrite(t, r, i, j, got)
					}
				}
			}
			falsifyEnd(t, r)
		})
	}
}

// falsifyWrite requires that the comparison of step i with got notices if its write j is left out, or has another message or value.
func falsifyWrite(t *testing.T, r *replay, i, j int, got *observed) {
	step := &r.rec.Steps[i]
	whole, e := step.Writes, step.Writes[j]
	step.Writes = slices.Delete(slices.Clone(whole), j, j+1)
	assert.NotEmpty(t, r.compare(i, got), "step %d without entry %d: %v", i+1, j+1, e)
	step.Writes = whole
	if e.Event != "" || e.Code >= 400 && e.Code != 422 {
		step.Writes = slices.Clone(whole)
		step.Writes[j].Message = "another text"
		assert.NotEmpty(t, r.compare(i, got), "step %d, entry %d with another message", i+1, j+1)
		step.Writes = whole
	}
	if e.Verb == "delete" { // see write.agrees
		return
	}
	for pointer, value := range e.Changed {
		e.Changed[pointer] = "changed"
		if own := guards[e.Actor]; r.rec.whole() && pointer == "/metadata/finalizers" && own != "" && !hasFinalizer(value, own) {
			e.Changed[pointer] = []any{own} // see apart: what else is left depends on whose went first
		}
		assert.NotEmpty(t, r.compare(i, got), "step %d, entry %d with another %s", i+1, j+1, pointer)
		e.Changed[pointer] = value
	}
}

// falsifyEnd requires that the comparison of the objects at the end notices each changed value.
func falsifyEnd(t *testing.T, r *replay) {
	objects, err := r.seen.objects()
	require.NoError(t, err)
	require.Empty(t, r.compareEnd(objects))
	for i, obj := range r.rec.Objects {
		if kind, _ := obj["kind"].(string); !slices.Contains(recordedKinds(), kind) {
			continue
		}
		optional := r.rec.optionalAtEnd()[strings.Replace(keyOf(obj), "/", "s ", 1)] // two recorded runs did not agree on them
		falsify(obj, func(what string) {
			if !slices.ContainsFunc(optional, func(f string) bool { return strings.HasSuffix(f, "/"+what) }) {
				assert.NotEmpty(t, r.compareEnd(objects), "object %d with another %s", i+1, what)
			}
		})
	}
}

// repeated reports whether an entry is an event that another of the step agrees with.
func repeated(entries []Entry, i int) bool {
	return entries[i].Event != "" && slices.ContainsFunc(append(slices.Clone(entries[:i]), entries[i+1:]...), func(e Entry) bool {
		return e.Actor == entries[i].Actor && e.Type == entries[i].Type && e.Event == entries[i].Event && e.Object == entries[i].Object &&
			comparedText(e.Message) == comparedText(entries[i].Message)
	})
}

// leftOut reports whether an entry is not compared in a case with kubelets: see compare.
func (r *replay) leftOut(step int, e Entry) bool {
	about, _ := e.Object.(string)
	if w := expectations([]Entry{e}).writes; len(w) > len(r.rec.optionalWrites(step).leaveOut(w)) {
		return true // two recorded runs did not agree
	}
	return r.rec.whole() && (!r.simulated(e.Actor) || e.Resource == "nodes/status" ||
		slices.Contains(r.rec.optionalEvents(step), said{e.Actor, e.Type, e.Event, about, ""}))
}

// earlierRegistration reports whether an entry is a driver's registration after which another one follows: see registered.
func (r *replay) earlierRegistration(entries []Entry, j int) bool {
	one, later := expectations(entries[j:j+1]).writes, expectations(entries[j+1:]).writes
	return r.rec.whole() && len(one) == 1 && len(registered(slices.Concat(one, later))) == len(registered(later))
}

// onlyRepeated reports whether an entry is an event that the simulation only repeated: it
// may be there or not.
func onlyRepeated(e Entry, got *observed) bool {
	about, _ := e.Object.(string)
	return e.Event != "" && !slices.Contains(got.events, said{e.Actor, e.Type, e.Event, about, comparedText(e.Message)})
}

// counts reports whether an entry must agree.
func counts(e Entry) bool {
	resource, _, _ := strings.Cut(e.Resource, "/")
	switch {
	case e.Event != "":
		return true
	case !compared(resource):
		return false
	case e.Actor == "user":
		return e.Code >= 400
	}
	if (write{verb: e.Verb, changed: e.Changed, removed: e.Removed}).changesNothing() && e.Verb == "delete" {
		return false
	}
	return e.Code < 400 && (e.Verb == "delete" || e.Resource == "pods/binding" || e.Object != nil || len(e.Changed) > 0)
}

// falsify changes one value of m after the other, has check look, and puts it
// back.
func falsify(m map[string]any, check func(what string)) {
	for key, value := range m {
		if key == "deletionTimestamp" || key == "controller-revision-hash" { // the value is not recorded
			continue
		}
		if inner, ok := value.(map[string]any); ok {
			falsify(inner, check)
		}
		m[key] = "changed"
		check(key)
		m[key] = value
	}
}

func TestAFalseRecordingAgreesUnderNoSchedule(t *testing.T) {
	rec, err := Load(filepath.Join("testdata", "class_not_found.json"))
	require.NoError(t, err)
	event(t, rec, 0).Event = "FailedBinding"
	result, err := Check(rec, Options{})
	require.NoError(t, err)
	assert.NotEmpty(t, result.Differences)
}

func TestRunPrintsOneLineACaseAndCountsThoseThatDiffer(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join("testdata", "class_not_found.json"))
	require.NoError(t, err)
	falsified := strings.ReplaceAll(string(data), "ProvisioningFailed", "FailedBinding")
	falsified = strings.ReplaceAll(falsified, `"class_not_found"`, `"falsified"`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.json"), data, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.json"), []byte(falsified), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "c.json"), []byte(`{"steps": [{"step": {"delete": "pvk/x"}}]}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d.json"), []byte(strings.ReplaceAll(string(data), `"class_not_found"`, `"d"`)), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "e.json"), []byte(`{}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "README.md"), []byte("not a recording"), 0o600))

	var out strings.Builder
	failed, err := Run(dir, &out, Options{})
	require.NoError(t, err)
	assert.Equal(t, 3, failed)
	assert.Equal(t, "cannot read "+filepath.Join(dir, "e.json")+` is not a recording: it has no steps
pass class_not_found
differs falsified: step 1 of 1, events: wanted persistent-volume-binder Warning FailedBinding persistentvolumeclaim/default/data: storageclass.storage.k8s.io "nope" not found, got persistent-volume-binder Warning ProvisioningFailed persistentvolumeclaim/default/data: storageclass.storage.k8s.io "nope" not found
cannot replay c: step 1: the server doesn't have a resource type "pvk" (did you mean "pv"?)
pass d
`, out.String())
}

func TestWhatIsNoRecordingIsRefusedInWords(t *testing.T) {
	_, err := LoadDir(filepath.Join("testdata", "nowhere"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = LoadDir(filepath.Join("testdata", "class_not_found.json"))
	require.ErrorContains(t, err, "is not a directory")
	_, err = LoadDir(t.TempDir())
	require.ErrorContains(t, err, "no recordings (*.json) in")

	tests := map[string]struct{ text, want string }{
		"no JSON": {`steps`, "a.json is not a recording: invalid character"},
		"cut off": {`{"steps": [{"step": {"attach": "n"`, "a.json is not a recording: it is cut off after 34 bytes: unexpected end of JSON input"},
		"of another version": {`{"kubernetes": "v1.36.3", "steps": [{"step": {"attach": "n"}}]}`,
			"a.json was recorded with Kubernetes v1.36.3; the simulation models v1.37.x"},
		"something else":        {`{"kind": "List"}`, "a.json is not a recording: it has no steps"},
		"an unknown step":       {`{"steps": [{"step": {"attach": "n"}}, {"step": {"apply": []}}]}`, `a.json: step 2 cannot be read: json: unknown field "apply"`},
		"an unknown node field": {`{"steps": [{"step": {"nodes": [{"name": "n", "zone": "a"}]}}]}`, `unknown field "zone"`},
		"a step of nothing":     {`{"steps": [{"step": {"quiet": 1}}]}`, "a.json: step 1: expected exactly one of nodes, create,"},
		"two things at once":    {`{"steps": [{"step": {"attach": "n", "detach": "n"}}]}`, "step 1: expected exactly one"},
		"time running backward": {`{"steps": [{"step": {"attach": "n", "quiet": -1}}]}`, "step 1: quiet: -1 s is negative"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.json")
			require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o600))
			_, err := Load(path)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestAStepThatCannotBeCarriedOutIsAnErrorAndNoDifference(t *testing.T) {
	tests := map[string]struct{ step, want string }{
		"an object nobody made": {`{"create": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "<uid:pod/default/x>"}}]}`,
			"step 1: <uid:pod/default/x>: no such object has existed"},
		"an unknown kind":        {`{"create": [{"apiVersion": "v1", "kind": "Pud"}]}`, `no kind "Pud"`},
		"no reference":           {`{"delete": "data"}`, `"data" does not name an object; expected kind/name`},
		"an unknown resource":    {`{"delete": "pvk/data"}`, `resource type "pvk"`},
		"one node twice":         {`{"nodes": ["a", "a"]}`, `step 1: create node a: nodes "a" already exists`},
		"a name that is no name": {`{"nodes": ["A_"]}`, `step 1: create node A_: Node "A_" is invalid`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "case.json")
			require.NoError(t, os.WriteFile(path, []byte(`{"steps": [{"step": `+tt.step+`}]}`), 0o600))
			rec, err := Load(path)
			require.NoError(t, err)
			_, err = Check(rec, Options{})
			require.ErrorContains(t, err, "case: step 1: ")
			require.ErrorContains(t, err, tt.want)
		})
	}
}
