package manifest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/seedtest"
)

var kinds = registry.New()

const claim = `apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
spec:
  storageClassName: fast
  accessModes:
    - ReadWriteOnce
  resources:
    requests:
      storage: 5Gi
`

func TestAManifestBecomesTypedObjectsInOrder(t *testing.T) {
	objects, err := manifest.Parse(kinds, "a.yaml",
		[]byte("# a class and a claim\n---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\nprovisioner: x/y\n---\n---\n"+claim))
	require.NoError(t, err)
	require.Len(t, objects, 2)

	class := objects[0].Object.(*storagev1.StorageClass)
	assert.Equal(t, "x/y", class.Provisioner)
	assert.Equal(t, "StorageClass", class.Kind)
	assert.Empty(t, class.Namespace)
	assert.Equal(t, 3, objects[0].Line)

	pvc := objects[1].Object.(*v1.PersistentVolumeClaim)
	assert.Equal(t, "5Gi", pvc.Spec.Resources.Requests.Storage().String())
	assert.Equal(t, "default", pvc.Namespace, "the namespace is defaulted")
	assert.Equal(t, "PersistentVolumeClaim/data", objects[1].Ref())
	assert.JSONEq(t, `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},
		"spec":{"storageClassName":"fast","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}}}}`, string(objects[1].JSON))
}

func TestListsAreTakenApart(t *testing.T) {
	for _, kind := range []string{"List", "PersistentVolumeClaimList"} {
		objects, err := manifest.Parse(kinds, "a.yaml",
			[]byte("apiVersion: v1\nkind: "+kind+"\nitems:\n- "+strings.ReplaceAll(strings.TrimSpace(claim), "\n", "\n  ")+"\n"))
		require.NoError(t, err)
		require.Len(t, objects, 1)
		assert.Equal(t, "data", objects[0].Meta().GetName())
	}
}

func TestJSONReadsLikeYAML(t *testing.T) {
	objects, err := manifest.Parse(kinds, "a.json",
		[]byte("{\n\t\"apiVersion\": \"v1\", \"kind\": \"Namespace\",\n\t\"metadata\": {\"name\": \"a\", \"annotations\": {\"x\": \"\\ud83d\\ude00\", \"y\": "+
			"\"yes\"}}\n}\n{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"b\"}}"))
	require.NoError(t, err)
	require.Len(t, objects, 2)
	assert.Equal(t, "\U0001F600", objects[0].Meta().GetAnnotations()["x"])
	assert.Equal(t, "yes", objects[0].Meta().GetAnnotations()["y"])
	assert.Equal(t, 5, objects[1].Line)

	_, err = manifest.Parse(kinds, "a.json",
		[]byte("{\n\t\"apiVersion\": \"v1\", \"kind\": \"Namespace\",\n\t\"metadata\": {\"name\": \"a\",\n\t\t\"name\": 5}\n}"))
	assert.EqualError(t, err, `a.json:4: Namespace/a: metadata.name: is set twice, first in line 3`)
}

func TestAnchorsAndMergeKeysWork(t *testing.T) {
	objects, err := manifest.Parse(kinds, "a.yaml",
		[]byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: &l {a: b, c: d}\n  annotations:\n    <<: *l\n    c: e\n"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "b", "c": "e"}, objects[0].Meta().GetAnnotations())
}

// The library that kubectl reads manifests with is the judge.
func TestKeysAreReadAsKubectlReadsThem(t *testing.T) {
	for _, key := range []string{"a", "y", "Y", "n", "N", "yes", "no", "on", "On", "OFF", "true", "False", "'y'", `"on"`, "!!str y", "oN", "7", "0x10", "0o17",
		"017", "1_000", "-3", "1.50", "1e3", "123456789012345678901", "1:30", "2026-01-31", "null-1", "=", "a b"} {
		text := []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  " + key + ": x\n")
		var want v1.ConfigMap
		require.NoError(t, yaml.Unmarshal(text, &want), key)
		objects, err := manifest.Parse(kinds, "a.yaml", text)
		require.NoError(t, err, key)
		assert.Equal(t, want.Data, objects[0].Object.(*v1.ConfigMap).Data, key)
	}
	_, err := manifest.Parse(kinds, "a.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  y: x\n  on: x\n"))
	assert.EqualError(t, err, "a.yaml:6: ConfigMap/c: data.on: is set twice, first in line 5; without quotes the key on is read as \"true\"")
}

func TestNumbersAndBooleansAreReadAsKubectlReadsThem(t *testing.T) {
	objects, err := manifest.Parse(kinds, "a.yaml", []byte(`apiVersion: v1
kind: Pod
metadata: {name: a, creationTimestamp: null}
spec:
  hostNetwork: yes
  terminationGracePeriodSeconds: 0x10
  containers: [{name: c, image: x, livenessProbe: {httpGet: {port: http}}, readinessProbe: {tcpSocket: {port: 80}}}]
  volumes: [{name: v, configMap: {name: x, defaultMode: 0644}}, {name: e, emptyDir: {sizeLimit: 1.5}}]
`))
	require.NoError(t, err)
	pod := objects[0].Object.(*v1.Pod)
	assert.True(t, pod.Spec.HostNetwork)
	assert.EqualValues(t, 16, *pod.Spec.TerminationGracePeriodSeconds)
	assert.EqualValues(t, 0644, *pod.Spec.Volumes[0].ConfigMap.DefaultMode)
	assert.Equal(t, "1500m", pod.Spec.Volumes[1].EmptyDir.SizeLimit.String())
	assert.Equal(t, "http", pod.Spec.Containers[0].LivenessProbe.HTTPGet.Port.String())
}

func TestEachProblemNamesFileLineObjectFieldAndWhatWasExpected(t *testing.T) {
	pv := func(spec string) string {
		return "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec:\n" + spec
	}
	pod := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n" + spec
	}
	tests := map[string]struct{ manifest, want string }{
		"bad quantity": {strings.Replace(claim, "5Gi", "5GG", 1),
			`a.yaml:11: PersistentVolumeClaim/data: spec.resources.requests.storage: "5GG" is not a quantity (number with unit such as 5Gi, 500M, 1.5T)`},
		"a huge quantity": {strings.Replace(claim, "5Gi", "1e2147483648", 1),
			`a.yaml:11: PersistentVolumeClaim/data: spec.resources.requests.storage: "1e2147483648" is not a quantity (number with unit such as 5Gi, 500M, 1.5T): ` +
				`the exponent of a quantity must be from -999 to 999`},
		"a tiny quantity": {strings.Replace(claim, "5Gi", `"1E-2147483648"`, 1), `a.yaml:11: PersistentVolumeClaim/data: spec.resources.requests.storage: ` +
			`"1E-2147483648" is not a quantity (number with unit such as 5Gi, 500M, 1.5T): the exponent of a quantity must be from -999 to 999`},
		"quantity is a list": {strings.Replace(claim, "5Gi", "[5Gi]", 1),
			`a.yaml:11: PersistentVolumeClaim/data: spec.resources.requests.storage: is a list; expected a quantity (number with unit such as 5Gi, 500M, 1.5T)`},
		"unknown field": {strings.Replace(claim, "accessModes", "accesModes", 1),
			`a.yaml:7: PersistentVolumeClaim/data: spec.accesModes: unknown field (did you mean "accessModes"?)`},
		"snapshots have types": {"apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshot\nmetadata: {name: s}\nspec:\n" +
			"  source: {persistentVolumeClaim: data}\n",
			`a.yaml:5: VolumeSnapshot/s: spec.source.persistentVolumeClaim: unknown field (did you mean "persistentVolumeClaimName"?)`},
		"their classes, too": {"apiVersion: snapshot.storage.k8s.io/v1\nkind: VolumeSnapshotClass\nmetadata: {name: s}\ndriver: d\ndeletionpolicy: Delete\n",
			`a.yaml:5: VolumeSnapshotClass/s: deletionpolicy: unknown field (did you mean "deletionPolicy"?)`},
		"wrong case": {strings.Replace(claim, "storageClassName", "storageclassname", 1),
			`a.yaml:6: PersistentVolumeClaim/data: spec.storageclassname: unknown field (did you mean "storageClassName"?)`},
		"field like none": {claim + "zzzzzzzz: 1\n", `a.yaml:12: PersistentVolumeClaim/data: zzzzzzzz: unknown field`},
		"duplicate key": {claim + "  storageClassName: slow\n",
			`a.yaml:12: PersistentVolumeClaim/data: spec.storageClassName: is set twice, first in line 6`},
		"two objects in one": {claim + "apiVersion: v1\nkind: Pod\nmetadata: {nam: web}\nspec: {}\n",
			`a.yaml:12: PersistentVolumeClaim/data: apiVersion: is set twice, first in line 1; if another object begins here, put --- above it`},
		"text for a list": {strings.Replace(claim, "accessModes:\n    -", "accessModes:", 1),
			`a.yaml:7: PersistentVolumeClaim/data: spec.accessModes: "ReadWriteOnce" is text; expected a list of text`},
		"text for a mapping": {pv("  local: /data\n"),
			`a.yaml:5: PersistentVolume/pv: spec.local: "/data" is text; expected a mapping with fields such as path, fsType`},
		"list for a mapping": {pv("  local: [a]\n"), `a.yaml:5: PersistentVolume/pv: spec.local: is a list; expected a mapping with fields such as path, fsType`},
		"number for text": {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations: {x.io/y: 5}\n",
			`a.yaml:5: Pod/web: metadata.annotations[x.io/y]: 5 is a number; expected text (put it in quotes)`},
		"boolean for text": {strings.Replace(claim, "fast", "true", 1),
			`a.yaml:6: PersistentVolumeClaim/data: spec.storageClassName: true is a boolean; expected text (put it in quotes)`},
		"text for a number": {pod("  terminationGracePeriodSeconds: \"5\"\n"),
			`a.yaml:5: Pod/web: spec.terminationGracePeriodSeconds: "5" is text; expected a whole number (without quotes)`},
		"fraction": {pod("  terminationGracePeriodSeconds: 1.5\n"),
			`a.yaml:5: Pod/web: spec.terminationGracePeriodSeconds: 1.5 is a number; expected a whole number`},
		"number too large": {pod("  priority: 3000000000\n"),
			`a.yaml:5: Pod/web: spec.priority: 3000000000 is a number; expected a whole number from -2147483648 to 2147483647`},
		"text for a boolean": {pod("  hostPID: maybe\n"), `a.yaml:5: Pod/web: spec.hostPID: "maybe" is text; expected true or false`},
		"quoted boolean":     {pod("  hostPID: \"true\"\n"), `a.yaml:5: Pod/web: spec.hostPID: "true" is text; expected true or false (without quotes)`},
		"bad time": {"apiVersion: v1\nkind: Pod\nmetadata: {name: web, creationTimestamp: today}\n",
			`a.yaml:3: Pod/web: metadata.creationTimestamp: "today" is text; expected a time such as 2026-01-31T12:00:00Z`},
		"bad base64": {"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: '#'}\n", `a.yaml:4: Secret/s: data.a: is text; expected base64`},
		"deep in a list": {pod("  volumes:\n  - name: a\n  - name: b\n    persistentVolumeClaim:\n      claimname: data\n"),
			`a.yaml:9: Pod/web: spec.volumes[1].persistentVolumeClaim.claimname: unknown field (did you mean "claimName"?)`},
		"empty item": {pod("  volumes:\n  -\n"), `a.yaml:6: Pod/web: spec.volumes[0]: is empty; expected Volume`},
		"empty annotation": {"apiVersion: v1\nkind: Pod\nmetadata:\n  name: web\n  annotations:\n    a:\n",
			`a.yaml:6: Pod/web: metadata.annotations.a: is empty; expected text (for the empty text write "")`},
		"unknown kind": {strings.Replace(claim, "PersistentVolumeClaim", "PersistentVolumClaim", 1),
			`a.yaml:2: PersistentVolumClaim/data: kind: unknown kind "PersistentVolumClaim" (did you mean "PersistentVolumeClaim"?)`},
		"kind in small letters": {strings.Replace(claim, "PersistentVolumeClaim", "persistentvolumeclaim", 1),
			`a.yaml:2: persistentvolumeclaim/data: kind: unknown kind "persistentvolumeclaim" (did you mean "PersistentVolumeClaim"?)`},
		"wrong version": {"apiVersion: v1\nkind: CSIDriver\nmetadata: {name: d}\n",
			`a.yaml:1: CSIDriver/d: apiVersion: no matches for kind "CSIDriver" in version "v1"; expected storage.k8s.io/v1`},
		"old version": {"apiVersion: storage.k8s.io/v1beta1\nkind: StorageClass\nmetadata: {name: d}\n",
			`a.yaml:1: StorageClass/d: apiVersion: no matches for kind "StorageClass" in version "storage.k8s.io/v1beta1"; expected storage.k8s.io/v1`},
		"a kind that has moved": {"apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: d}\n",
			`a.yaml:1: Deployment/d: apiVersion: no matches for kind "Deployment" in version "extensions/v1beta1"; expected apps/v1`},
		"bad version":            {"apiVersion: a/b/c\nkind: Pod\nmetadata: {name: d}\n", `a.yaml:1: Pod/d: apiVersion: "a/b/c" is not group/version`},
		"kind that is no object": {"apiVersion: v1\nkind: DeleteOptions\n", `a.yaml:2: DeleteOptions: kind: unknown kind "DeleteOptions"`},
		"no kind":                {"apiVersion: v1\nmetadata: {name: d}\n", `a.yaml:1: d: kind: is missing; expected for example PersistentVolumeClaim`},
		"kind is a number":       {"apiVersion: v1\nkind: 5\nmetadata: {name: d}\n", `a.yaml:2: 5/d: kind: 5 is a number; expected text`},
		"no name": {"apiVersion: v1\nkind: Pod\nmetadata: {}\n",
			`a.yaml:3: Pod: metadata.name: is missing; expected a name, or generateName with a prefix`},
		"no metadata": {"apiVersion: v1\nkind: Pod\n", `a.yaml:1: Pod: metadata.name: is missing; expected a name, or generateName with a prefix`},
		"name is a number": {"apiVersion: v1\nkind: Pod\nmetadata: {name: 5}\n",
			`a.yaml:3: Pod/5: metadata.name: 5 is a number; expected text (put it in quotes)`},
		"not an object": {"- a\n", `a.yaml:1: this is a list; expected an object with apiVersion, kind and metadata`},
		"just text":     {"hello\n", `a.yaml:1: this is text; expected an object with apiVersion, kind and metadata`},
		"nothing":       {"# nothing here\n", `a.yaml: has no object, only comments or empty documents; expected at least one object in YAML or JSON`},
		"not YAML":      {"a: b: c\n", `a.yaml:1: not valid YAML: mapping values are not allowed in this context`},
		"tabs": {"apiVersion: v1\nmetadata:\n\tname: x\n",
			`a.yaml:3: not valid YAML: found character that cannot start any token (indent with spaces, not tabs)`},
		"bad indentation": {"a:\n  b: 1\n c: 1\n", `a.yaml:3: not valid YAML: did not find expected key (is this line indented like its neighbours?)`},
		"open quote":      {"a: 1\nb: 'x\nc: 1\n", `a.yaml:2: not valid YAML: found unexpected end of stream`},
		"open brace":      {"a: 1\nb: {x\nc: 1\n", `a.yaml:2: not valid YAML: did not find expected ',' or '}'`},
		"unknown anchor": {"a: 1\nb: *x\n",
			`a.yaml:2: not valid YAML: a word that begins with * is an alias, and there is no such anchor (&); put text that begins with * in quotes`},
		"alias to itself": {"apiVersion: v1\nkind: ConfigMap\nmetadata: &m\n  name: a\n  labels: *m\n",
			`a.yaml:5: the alias *m refers to a value that contains it`},
		"list with a stray key": {"apiVersion: v1\nkind: List\nitem: []\nitems: []\n", `a.yaml:3: List: item: unknown field (did you mean "items"?)`},
		"list of text":          {"apiVersion: v1\nkind: List\nitems: [a]\n", `a.yaml:3: this is text; expected an object with apiVersion, kind and metadata`},
		"yes is no text": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: yes\n",
			`a.yaml:5: ConfigMap/a: data.x: yes is a boolean; expected text (put it in quotes)`},
		"nor is n": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n}\n",
			`a.yaml:3: ConfigMap/n: metadata.name: n is a boolean; expected text (put it in quotes)`},
		"a template": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.name }}}\n",
			`a.yaml:3: ConfigMap: metadata.name: is a mapping; expected text (is this a template? Render it first, for example with helm template)`},
		"kustomize's file": {"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n",
			`a.yaml:2: Kustomization: kind: "Kustomization" is a file of kustomize, not of a cluster; write kubectl kustomize FOLDER, and give what it prints to ` +
				`storagesim run -f -`},
		"an ideographic space": {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n\u3000name: a\n",
			"a.yaml:4: ConfigMap: \u3000name: begins with a full-width space (U+3000), which does not indent; indent with plain spaces"},
		"and one that the parser meets": {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n \u3000labels: {}\n", "a.yaml:5: not valid YAML: did not " +
			"find expected key (is there a full-width space? YAML wants plain ones)"},
		"Latin-1": {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\xa0\n",
			"a.yaml:4: is not UTF-8: the byte 0xA0 is part of another encoding; save the file as UTF-8"},
		"a key that is a boolean": {"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    on: yes\n",
			`a.yaml:6: ConfigMap/a: metadata.labels.on: yes is a boolean; expected text (put it in quotes); without quotes the key on is read as "true"`},
		"mapping as key": {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {{a: b}: c}\n",
			`a.yaml:4: ConfigMap/a: data: is a mapping as a key; expected a word`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects, err := manifest.Parse(kinds, "a.yaml", []byte(test.manifest))
			assert.EqualError(t, err, test.want)
			assert.Nil(t, objects)
		})
	}
}

func TestAllProblemsOfASetAreReportedAndNothingIsReturned(t *testing.T) {
	objects, err := manifest.ParseSet(kinds,
		manifest.Source{"a.yaml", []byte(strings.NewReplacer("5Gi", "much", "accessModes", "modes").Replace(claim) + "---\nkind: X\n")},
		manifest.Source{"b.yaml", []byte(claim)},
		manifest.Source{"c.yaml", []byte(claim)},
		manifest.Source{"d.yaml", []byte("a: [\n")},
	)
	assert.Nil(t, objects)
	var errs manifest.Errors
	require.ErrorAs(t, err, &errs)
	assert.Equal(t, strings.Join([]string{
		`a.yaml:7: PersistentVolumeClaim/data: spec.modes: unknown field`,
		`a.yaml:11: PersistentVolumeClaim/data: spec.resources.requests.storage: "much" is not a quantity (number with unit such as 5Gi, 500M, 1.5T)`,
		`a.yaml:13: X: apiVersion: is missing; expected for example v1 or storage.k8s.io/v1`,
		`d.yaml:2: not valid YAML: did not find expected node content`,
	}, "\n"), err.Error())
	var first *manifest.Error
	require.True(t, errors.As(err, &first))
	assert.Equal(t, 7, first.Line)
}

func TestAliasesCannotBlowUpADocument(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		n := string(rune('1' + i))
		p := string(rune('0' + i))
		bomb += "a" + n + ": &a" + n + " [" + strings.Repeat("*a"+p+", ", 9) + "*a" + p + "]\n"
	}
	_, err := manifest.Parse(kinds, "bomb.yaml", []byte(bomb))
	assert.ErrorContains(t, err, "more than 200000 values")
	_, err = manifest.Parse(kinds, "deep.yaml", []byte(strings.Repeat("[", 5000)))
	assert.Error(t, err)
	_, err = manifest.Parse(kinds, "deep.json", []byte(strings.Repeat(`{"a":`, 5000)+"1"+strings.Repeat("}", 5000)))
	assert.Error(t, err)
}

func TestFilesAndDirectoriesAreReadAsOneSet(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("b.yaml", claim)
	write("a.yml", strings.Replace(claim, "name: data", "name: more", 1))
	write("notes.txt", "not: a: manifest")
	objects, err := manifest.ParseFiles(kinds, dir)
	require.NoError(t, err)
	require.Len(t, objects, 2)
	assert.Equal(t, "more", objects[0].Meta().GetName())

	objects, err = manifest.ParseFiles(kinds, dir, filepath.Join(dir, "b.yaml"))
	require.NoError(t, err)
	require.Len(t, objects, 3, "an object that occurs twice is applied twice")
	_, err = manifest.ParseFiles(kinds, filepath.Join(dir, "c.yaml"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = manifest.ParseFiles(kinds, t.TempDir())
	assert.ErrorContains(t, err, "the directory holds no .yaml, .yml or .json file")
}

func TestResourcesAreFoundByAnyOfTheirNames(t *testing.T) {
	for word, want := range map[string]string{
		"pvc": "persistentvolumeclaims", "PV": "persistentvolumes", "po": "pods", "pods": "pods", "no": "nodes", "ev": "events", "events": "events",
		"va": "volumeattachments", "sts": "statefulsets", "ns": "namespaces", "cm": "configmaps", "sc": "storageclasses", "StorageClass": "storageclasses",
		"statefulsets.apps": "statefulsets", "csinodes": "csinodes", "csidriver": "csidrivers", "csistoragecapacities": "csistoragecapacities",
		"deploy": "deployments", "ing": "ingresses",
	} {
		r, err := manifest.FindResource(kinds, word)
		require.NoError(t, err, word)
		assert.Equal(t, want, r.Plural, word)
	}
	for word, group := range map[string]string{"event": "", "statefulset": "apps", "ingress": "networking.k8s.io", "sc": "storage.k8s.io"} {
		r, err := manifest.FindResource(kinds, word)
		require.NoError(t, err)
		assert.Equal(t, group, r.Group, word)
	}
	sts, _ := manifest.FindResource(kinds, "sts")
	assert.Equal(t, "v1", sts.Version, "the preferred version")
	assert.True(t, sts.Namespaced)
	pv, _ := manifest.FindResource(kinds, "pv")
	assert.False(t, pv.Namespaced)

	_, err := manifest.FindResource(kinds, "persistantvolume")
	assert.EqualError(t, err, `the server doesn't have a resource type "persistantvolume" (did you mean "persistentvolume"?)`)
}

func FuzzNothingPanicsAndWhatParsesIsWhole(f *testing.F) {
	seedtest.Corpus(f, 200,
		[]any{[]byte(claim)},
		[]any{[]byte("{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{}]}")},
		[]any{[]byte("a: &a [*a]\n")},
		[]any{[]byte("<<: {<<: [1]}\n? {a: b}\n: c")},
		[]any{[]byte("apiVersion: v1\nkind: Pod\nmetadata: {generateName: a}\nspec: {containers: [{name: x, livenessProbe: {httpGet: {port: 99999999999}}}]}")},
		[]any{[]byte("apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: a}\ndata: {a: [.nan, 1e400, 0x, ~]}\nrevision: 1")},
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, err := manifest.Parse(kinds, "fuzz", data)
		if (err == nil) == (len(objects) == 0) {
			t.Fatalf("%d objects and error %v", len(objects), err)
		}
		for _, o := range objects {
			if o.Object == nil || o.Meta().GetName()+o.Meta().GetGenerateName() == "" || len(o.JSON) == 0 {
				t.Fatalf("incomplete object %+v", o)
			}
		}
	})
}

// What stands in a Secret may be a password, whichever way it is written wrongly.
func TestNoProblemOfASecretQuotesItsValue(t *testing.T) {
	const head = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
	for text, want := range map[string]string{
		head + "data: {a: hunter2}\n":          `a.yaml:4: Secret/s: data.a: is text; expected base64`,
		head + "data: {a: 47110815}\n":         `a.yaml:4: Secret/s: data.a: is a number; expected base64 (put it in quotes)`,
		head + "stringData: {a: 47110815}\n":   `a.yaml:4: Secret/s: stringData.a: is a number; expected text (put it in quotes)`,
		head + "stringData: {a: !hunter2 x}\n": `a.yaml:4: Secret/s: stringData.a: has a tag; expected text`,
		head + "stringData: hunter2\n":         `a.yaml:4: Secret/s: stringData: is text; expected a mapping from names to text`,
		head + "stringData: {a: [hunter2]}\n":  `a.yaml:4: Secret/s: stringData.a: is a list; expected text`,
		head + "immutable: hunter2\n":          `a.yaml:4: Secret/s: immutable: is text; expected true or false`,
		head + "stringData: {a: *hunter2}\n": `a.yaml:4: not valid YAML: a word that begins with * is an alias, and there is no such anchor (&); ` +
			`put text that begins with * in quotes`,
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: s}\n" +
			"  data: {a: hunter2}\n": `a.yaml:7: Secret/s: data.a: is text; expected base64`,
	} {
		_, err := manifest.Parse(kinds, "a.yaml", []byte(text))
		assert.EqualError(t, err, want)
	}
}

func TestAnEmptyManifestIsAnErrorThatSaysSo(t *testing.T) {
	for text, want := range map[string]string{
		"":             "a.yaml: is empty; expected at least one object in YAML or JSON",
		" \n\t\n":      "a.yaml: is empty; expected at least one object in YAML or JSON",
		"# later\n":    "a.yaml: has no object, only comments or empty documents; expected at least one object in YAML or JSON",
		"---\n---\n{}": "",
	} {
		_, err := manifest.Parse(kinds, "a.yaml", []byte(text))
		if want == "" {
			assert.Error(t, err)
			continue
		}
		assert.EqualError(t, err, want)
	}
	_, err := manifest.ParseSet(kinds)
	assert.EqualError(t, err, "no manifest is given; expected at least one object in YAML or JSON")
	_, err = manifest.ParseSet(kinds, manifest.Source{Name: "a.yaml"}, manifest.Source{Name: "b.yaml"})
	assert.EqualError(t, err, "a.yaml, b.yaml: is empty; expected at least one object in YAML or JSON")
}

// What people paste: from a web page that lost the indentation, from a chart, from an
// editor that writes UTF-16 or full-width characters.
func TestWhatIsOftenWrongWithAManifestIsHinted(t *testing.T) {
	for text, want := range map[string][]string{
		"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\nname: data\nspec:\naccessModes: [ReadWriteOnce]\n": {
			"a.yaml:4: PersistentVolumeClaim: name: unknown field; it belongs below metadata, so indent it",
			"a.yaml:6: PersistentVolumeClaim: accessModes: unknown field; it belongs below spec, so indent it",
		},
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nname: a\n": {"a.yaml:4: ConfigMap/a: name: unknown field; it belongs below metadata, so indent it"},
		"{{- if .Values.x }}\napiVersion: v1\n{{- end }}\n": {"a.yaml:1: not valid YAML: did not find expected node content (is this a template? " +
			"Render it first, for example with helm template)"},
		"apiVersion：v1\nkind: ConfigMap\n": {"a.yaml:2: not valid YAML: mapping values are not allowed in this context (are there " +
			"full-width or curly characters ：，“”? YAML wants : , \")"},
		"apiVersion：v1\nkind：ConfigMap\n": {"a.yaml:1: this is text; expected an object with apiVersion, kind and metadata (it has full-width colons ：; " +
			"YAML wants a plain one and a space)"},
		"\xff\xfea\x00p\x00i\x00": {"a.yaml: is encoded in UTF-16; expected UTF-8"},
		"apiVersion: groupsnapshot.storage.k8s.io/v1\nkind: VolumeGroupSnapshot\n" +
			"metadata: {name: a}\n": {`a.yaml:2: VolumeGroupSnapshot/a: kind: no matches for kind "VolumeGroupSnapshot" in version "groupsnapshot.storage.k8s.io/v1": ` +
			`ensure CRDs are installed first; expected the CustomResourceDefinition volumegroupsnapshots.groupsnapshot.storage.k8s.io`},
		"apiVersion: v1\nkind: Widget\nmetadata: {name: a}\n": {`a.yaml:2: Widget/a: kind: unknown kind "Widget"`},
	} {
		_, err := manifest.Parse(kinds, "a.yaml", []byte(text))
		for _, line := range want {
			assert.Contains(t, strings.Split(err.Error(), "\n"), line)
		}
	}
}

func TestACommentInAnyLanguageAndAByteOrderMarkAreRead(t *testing.T) {
	objects, err := manifest.Parse(kinds, "a.yaml", []byte("\ufeff# 这是一个注释\r\napiVersion: v1 # 版本\r\nkind: ConfigMap\r\nmetadata:\r\n  name: a # 名字\r\n"))
	require.NoError(t, err)
	require.Equal(t, "ConfigMap/a", objects[0].Ref())
}

func TestAPathThatCannotBeReadIsNamedWithoutASystemCall(t *testing.T) {
	for path, want := range map[string]string{
		"none.yaml":             "none.yaml: no such file or directory",
		"*.yaml":                "*.yaml: no such file; patterns are not expanded here: name a directory, or each file",
		"https://x.io/pvc.yaml": "https://x.io/pvc.yaml: files are not downloaded; download it first, or write -f - and pipe it in",
	} {
		_, err := manifest.ParseFiles(kinds, path)
		assert.EqualError(t, err, want)
	}
}
