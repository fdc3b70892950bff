package gaps_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/internal/gaps"
)

// objects holds an object of each kind whose fields are judged.
var objects = []any{
	v1.PersistentVolumeClaim{}, v1.PersistentVolume{}, storagev1.StorageClass{}, storagev1.CSIDriver{}, storagev1.CSINode{}, storagev1.VolumeAttachment{},
	storagev1.CSIStorageCapacity{}, storagev1.VolumeAttributesClass{}, snapshotv1.VolumeSnapshot{}, snapshotv1.VolumeSnapshotContent{},
	snapshotv1.VolumeSnapshotClass{},
	v1.Pod{}, appsv1.StatefulSet{}, appsv1.Deployment{}, appsv1.ReplicaSet{}, appsv1.DaemonSet{}, v1.ReplicationController{}, batchv1.Job{}, batchv1.CronJob{},
	v1.Node{}, policyv1.PodDisruptionBudget{}, schedulingv1.PriorityClass{}, autoscalingv2.HorizontalPodAutoscaler{},
	admissionv1.MutatingWebhookConfiguration{}, admissionv1.ValidatingWebhookConfiguration{}, admissionv1.MutatingAdmissionPolicy{},
	admissionv1.MutatingAdmissionPolicyBinding{},
	admissionv1.ValidatingAdmissionPolicy{}, admissionv1.ValidatingAdmissionPolicyBinding{},
}

// kindsOf returns the types of objects by kind.
func kindsOf(objects []any) map[string]reflect.Type {
	kinds := map[string]reflect.Type{}
	for _, obj := range objects {
		kinds[reflect.TypeOf(obj).Name()] = reflect.TypeOf(obj)
	}
	return kinds
}

// whole lists types that are one field to the judges. What is in a template is judged with its kind.
var whole = []string{"ObjectMeta", "Quantity", "LabelSelector", "IntOrString", "Time", "ObjectReference", "PodTemplateSpec", "NodeConfigSource",
	"PersistentVolumeSpec", "PersistentVolumeClaimSpec", "PersistentVolumeClaim"}

// leaves returns the fields below a type that have no fields of their own, and of a status only the
// first level.
func leaves(t reflect.Type, path string) (paths []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || path != "" && path != "spec" && slices.Contains(whole, t.Name()) || strings.HasPrefix(path, "status.") {
		return []string{path}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Type.Name() == "TypeMeta" || name == "metadata" && path == "" || name == "-":
		case name == "":
			paths = append(paths, leaves(f.Type, path)...)
		case path == "":
			paths = append(paths, leaves(f.Type, name)...)
		default:
			paths = append(paths, leaves(f.Type, path+"."+name)...)
		}
	}
	return paths
}

// A line of the file says what becomes of fields of a kind.
type line struct {
	kind, path string
	test       string // that fails if the field is ignored
	harmless   string // why it does no harm to ignore it
}

func parse(text string) (lines []line, err error) {
	kind := ""
	for n, row := range strings.Split(text, "\n") {
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		if name, ok := strings.CutPrefix(row, "== "); ok {
			kind = name
			continue
		}
		paths, verdict, _ := strings.Cut(row, ": ")
		why, harmless := strings.CutPrefix(verdict, "harmless: ")
		if kind == "" || verdict == "" || !harmless && !regexp.MustCompile(`^Test\w+$`).MatchString(verdict) {
			return nil, fmt.Errorf("line %d: %q is not \"field, field: TestName\" or \"field, field: harmless: why\" below a kind", n+1, row)
		}
		for path := range strings.SplitSeq(paths, ", ") {
			l := line{kind: kind, path: path}
			if harmless {
				l.harmless = why
			} else {
				l.test = verdict
			}
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// verdicts judges fields by the longest path that leads to them.
type verdicts struct {
	lines map[string]line // by kind and path
	gaps  map[string]bool
	used  map[string]bool
}

func (v *verdicts) of(kind, path string) (l line, inRegister, ok bool) {
	for at := path; ; {
		key := kind + " " + at
		if v.gaps[key] || v.lines[key].kind != "" {
			v.used[key] = true
			return v.lines[key], v.gaps[key], true
		}
		i := strings.LastIndex(at, ".")
		if i < 0 {
			break
		}
		at = at[:i]
	}
	for _, list := range []string{"spec.initContainers.", "spec.ephemeralContainers."} {
		if rest, found := strings.CutPrefix(path, list); found {
			return v.of(kind, "spec.containers."+rest)
		}
	}
	return line{}, false, false
}

// judge returns what is wrong with the lines and the register about the fields of the kinds. exists
// reports whether there is a test of a name.
func judge(kinds map[string]reflect.Type, register []*gaps.Gap, lines []line, exists func(test string) bool) (wrong []string) {
	v := verdicts{lines: map[string]line{}, gaps: map[string]bool{}, used: map[string]bool{}}
	known, wholeKinds := map[string]bool{}, map[string]bool{}
	for kind, t := range kinds {
		for _, path := range leaves(t, "") {
			for known[kind+" "+path] = true; strings.Contains(path, "."); known[kind+" "+path] = true {
				path = path[:strings.LastIndex(path, ".")]
			}
		}
	}
	for _, g := range register {
		for _, kind := range g.Kinds {
			if kinds[kind] == nil {
				wrong = append(wrong, fmt.Sprintf("the register names the kind %s: add it to objects", kind))
			}
			wholeKinds[kind] = wholeKinds[kind] || len(g.Fields) == 0
		}
		for _, path := range g.Fields {
			found := false
			for _, kind := range g.Kinds {
				v.gaps[kind+" "+path] = v.gaps[kind+" "+path] || len(g.Images) == 0 // of other images the field is acted on
				found = found || known[kind+" "+path] || known[kind+" "+path[:strings.LastIndex(path, ".")]] && isMapKey(path)
			}
			if !found {
				wrong = append(wrong, fmt.Sprintf("register: no field %s of %s: it is gone", path, strings.Join(g.Kinds, ", ")))
			}
		}
	}
	for _, l := range lines {
		key := l.kind + " " + l.path
		switch {
		case !known[key]:
			wrong = append(wrong, fmt.Sprintf("fields.txt: %s has no field %s: it is gone", l.kind, l.path))
		case v.lines[key].kind != "":
			wrong = append(wrong, fmt.Sprintf("fields.txt: %s: %s is there twice", l.kind, l.path))
		case v.gaps[key] || wholeKinds[l.kind]:
			wrong = append(wrong, fmt.Sprintf("fields.txt: %s: %s is in the register, too", l.kind, l.path))
		case l.test != "" && !exists(l.test):
			wrong = append(wrong, fmt.Sprintf("fields.txt: %s: %s: there is no test %s", l.kind, l.path, l.test))
		}
		v.lines[key] = l
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if wholeKinds[kind] {
			continue
		}
		all, harmless := leaves(kinds[kind], ""), 0
		for _, path := range all {
			l, _, ok := v.of(kind, path)
			switch {
			case !ok:
				wrong = append(wrong,
					fmt.Sprintf("%s: %s: name a test that fails if it is ignored, say why that does no harm (testdata/fields.txt), or add it to the register", kind, path))
			case l.harmless != "":
				harmless++
			}
		}
		if harmless*4 > len(all) {
			wrong = append(wrong, fmt.Sprintf("%s: %d of %d fields are harmless: that is more than a quarter", kind, harmless, len(all)))
		}
	}
	for _, l := range lines {
		if key := l.kind + " " + l.path; known[key] && !v.used[key] && !wholeKinds[l.kind] {
			wrong = append(wrong, fmt.Sprintf("fields.txt: %s: %s: longer paths leave nothing to this one", l.kind, l.path))
		}
	}
	return wrong
}

// isMapKey reports whether the last element of a path is the key of a map.
func isMapKey(path string) bool { return strings.Contains(path, "resources.limits.") }

// tests returns the names of all tests in the tree.
func tests(t *testing.T) map[string]bool {
	t.Helper()
	all, name := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			all[m[1]] = true
		}
		return err
	}))
	return all
}

func TestEachFieldIsActedOnHarmlessOrInTheRegister(t *testing.T) {
	text, err := os.ReadFile("testdata/fields.txt")
	require.NoError(t, err)
	lines, err := parse(string(text))
	require.NoError(t, err)
	all := tests(t)
	require.Greater(t, len(all), 1000)
	for _, wrong := range judge(kindsOf(objects), gaps.All(), lines, func(test string) bool { return all[test] }) {
		t.Error(wrong)
	}
}

func TestTheJudgesOfFieldsFindWhatIsWrong(t *testing.T) {
	kinds := map[string]reflect.Type{"PriorityClass": reflect.TypeOf(schedulingv1.PriorityClass{})}
	const good = "== PriorityClass\nvalue, globalDefault: TestA\ndescription: harmless: why\n"
	register := []*gaps.Gap{{Kinds: []string{"PriorityClass"}, Fields: []string{"preemptionPolicy"}}}
	for text, want := range map[string]string{
		good: "",
		"== PriorityClass\nvalue: TestA\ndescription: harmless: why\n": "PriorityClass: globalDefault: name a test that fails if it is ignored, " +
			"say why that does no harm (testdata/fields.txt), or add it to the register",
		good + "weight: TestA\n":           "fields.txt: PriorityClass has no field weight: it is gone",
		good + "value: TestA\n":            "fields.txt: PriorityClass: value is there twice",
		good + "preemptionPolicy: TestA\n": "fields.txt: PriorityClass: preemptionPolicy is in the register, too",
		"== PriorityClass\nvalue, globalDefault: TestA\ndescription: TestB\n":         "fields.txt: PriorityClass: description: there is no test TestB",
		"== PriorityClass\nvalue: TestA\ndescription, globalDefault: harmless: why\n": "PriorityClass: 2 of 4 fields are harmless: that is more than a quarter",
	} {
		lines, err := parse(text)
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(judge(kinds, register, lines, func(test string) bool { return test == "TestA" }), "; "), text)
	}
	lines, err := parse(good)
	require.NoError(t, err)
	register = append(register, &gaps.Gap{Kinds: []string{"PriorityClass"}, Fields: []string{"spec.weight"}})
	require.Equal(t, []string{"register: no field spec.weight of PriorityClass: it is gone"}, judge(kinds, register, lines, func(string) bool { return true }))
	_, err = parse("== Pod\nspec.x\n")
	require.EqualError(t, err, `line 2: "spec.x" is not "field, field: TestName" or "field, field: harmless: why" below a kind`)
}
