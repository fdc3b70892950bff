package requests

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/storagesim/storagesim/api/crd/cel" // rules are evaluated, as by the recorded server
)

// play plays one request whose answer is recorded as body, and returns what differs.
func play(t *testing.T, recorded Request) []Difference {
	t.Helper()
	results, err := Play([]Request{recorded})
	require.NoError(t, err)
	require.Len(t, results, 1)
	return results[0].Differences
}

// aConfigMap returns a request for a ConfigMap with its recorded answer.
func aConfigMap() Request {
	return Request{
		Name: "create", Section: "test", Method: "POST", Path: "/api/v1/namespaces/default/configmaps", ContentType: "application/json",
		Body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`,
		Answer: Answer{Code: 201, ContentType: "application/json", Content: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{
				"name": "a", "namespace": "default", "uid": "5a0cbb0c-0000-0000-0000-000000000000", "resourceVersion": "167",
				"creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": []any{},
			},
		}},
	}
}

func TestTheSampleOfARecordedServerAgreesButForTheKnownRequests(t *testing.T) {
	var out bytes.Buffer
	dir := t.TempDir()
	sample, err := os.ReadFile(filepath.Join("testdata", "sample.json"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sample.json"), sample, 0o600))

	failed, err := Run(dir, &out, false)
	require.NoError(t, err)
	assert.Zero(t, failed)
	assert.Equal(t, "sample.json: 338 of 341 requests agree, 3 differ for a known reason\n", out.String(),
		"a request that agrees now is to be removed from testdata/known.txt")
}

func TestWhatTheServersChooseIsNoDifference(t *testing.T) {
	assert.Empty(t, play(t, aConfigMap()))
}

func TestEachPartOfAnAnswerIsCompared(t *testing.T) {
	for where, change := range map[string]func(r *Request){
		"status":       func(r *Request) { r.Code = 200 },
		"content type": func(r *Request) { r.ContentType, r.Answer.ContentType = "application/json", "text/plain" },
		"warnings":     func(r *Request) { r.Warnings = []string{`299 - "old"`} },
		"retry":        func(r *Request) { r.RetryAfter = "1" },
		"/kind":        func(r *Request) { r.Content.(map[string]any)["kind"] = "Secret" },
		"/data":        func(r *Request) { r.Content.(map[string]any)["data"] = map[string]any{"a": "1"} },
	} {
		r := aConfigMap()
		change(&r)
		found := play(t, r)
		if assert.Len(t, found, 1, where) {
			assert.Equal(t, where, found[0].Where)
		}
	}
}

func TestVersionsInLaterRequestsAreOurs(t *testing.T) {
	put := aConfigMap()
	put.Name, put.Method, put.Path, put.Code = "put", "PUT", put.Path+"/a", 200
	put.Body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion": "167","uid":"5a0cbb0c-0000-0000-0000-000000000000"}}`
	results, err := Play([]Request{aConfigMap(), put})
	require.NoError(t, err)
	assert.Empty(t, results[1].Differences)

	put.Body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":"166"}}`
	results, err = Play([]Request{aConfigMap(), put})
	require.NoError(t, err)
	assert.NotEmpty(t, results[1].Differences, "a version that no answer gave is sent as it is")
}

func TestARequestThatWasNotRecordedWholeIsNotPlayed(t *testing.T) {
	r := aConfigMap()
	r.Body += string(bytes.Repeat([]byte(" "), bodyLimit-len(r.Body)))
	results, err := Play([]Request{r})
	require.NoError(t, err)
	assert.Equal(t, "its body was recorded only up to 3000 characters", results[0].Skipped)
}

func TestWhatIsNoRecordingIsRefused(t *testing.T) {
	dir := t.TempDir()
	_, err := Run(dir, &bytes.Buffer{}, false)
	assert.ErrorContains(t, err, "there is no recording in "+dir)

	for text, want := range map[string]string{
		"{":          "it is not a list of recorded requests",
		`{"name":1}`: "it is not a list of recorded requests",
		`[{"name":"a","method":"GET","path":"/"}]`:              "request 0 needs a name, a method, a path that begins with / and a status",
		`[{"name":"a","method":"GET","path":"x","status":200}]`: "request 0 needs a name",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "r.json"), []byte(text), 0o600))
		_, err := Run(dir, &bytes.Buffer{}, false)
		assert.ErrorContains(t, err, want, text)
	}
}

func TestAReportNamesWhatDiffersAndWhatIsStale(t *testing.T) {
	differs := Result{Request: aConfigMap(), Differences: []Difference{{"status", "201", "200"}}}
	agrees := Result{Request: aConfigMap()}
	_, text := Report([]Result{differs}, nil, false)
	assert.Equal(t, "differs: test: create: POST /api/v1/namespaces/default/configmaps\n  status: recorded 201, here 200\n", text)
	for _, names := range []string{"create", "test: create", "test: *", "*: cre*"} {
		known := parseKnown("it has a reason\n " + names + "\n")
		counts, text := Report([]Result{differs}, known, false)
		assert.Empty(t, text)
		assert.Equal(t, "0 of 1 requests agree, 1 differ for a known reason", counts.String())
		_, text = Report([]Result{differs}, known, true)
		assert.Contains(t, text, "because: it has a reason")
		counts, text = Report([]Result{agrees}, known, false)
		assert.Equal(t, []string{names}, counts.Stale)
		assert.Contains(t, text, "agrees, though it is known to differ")
		counts, _ = Report([]Result{agrees, differs}, known, false)
		assert.Empty(t, counts.Stale, "one of them differs still")
	}
	counts, _ := Report([]Result{differs}, parseKnown("it has a reason\n create*x\n"), false)
	assert.Equal(t, 1, counts.Differ)
}

func TestManagedFieldsInATextAreLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		`{\"a\":1,\"managedFields\":[{\"b\":[1]}],\"c\":2}`: `{\"a\":1,\"c\":2}`,
		`{"a":1,"managedFields":[{"b":1}]}`:                 `{"a":1}`,
		`"managedFields":[`:                                 ``,
		`no fields`:                                         `no fields`,
	} {
		assert.Equal(t, want, withoutManagedFields(text), text)
	}
}

// The recording holds random sequences of requests, two about an object of each kind of testdata/sequences.yaml in
// conformance/interop/apiserver: several managers create, patch, apply and delete it in turn.
func TestManagersAndVersionsAreKeptAsByARealServer(t *testing.T) {
	list, err := Load(filepath.Join("testdata", "sequences.json.gz"))
	require.NoError(t, err)
	results, err := Play(list)
	require.NoError(t, err)
	counts, text := Report(results, nil, false)
	assert.Greater(t, counts.All, 1000)
	assert.Equal(t, counts.All, counts.Agree, text)
}

// These recordings hold requests that were answered otherwise here before: about collections, in sequences, about the fields of storage kinds and
// of snapshots, and about subresources, discovery and unknown paths, with others between them.
func TestWhatDifferedFromARealServerAgrees(t *testing.T) {
	for _, name := range []string{"collections", "moresequences", "scales", "storage", "subresources"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := Load(filepath.Join("testdata", name+".json.gz"))
			require.NoError(t, err)
			results, err := Play(list)
			require.NoError(t, err)
			counts, text := Report(results, nil, false)
			assert.Greater(t, counts.All, 80)
			assert.Equal(t, counts.All, counts.Agree, text)
		})
	}
}

// A server that keeps other managers, or writes where nothing changed, is found out.
func TestOtherManagersAndWritesAreDifferences(t *testing.T) {
	metadata := func(version, manager string) map[string]any {
		return map[string]any{"resourceVersion": version, "managedFields": []any{map[string]any{"manager": manager, "time": version}}}
	}
	assert.Empty(t, compareManagers(metadata("1", "a"), metadata("2", "a")))
	assert.NotEmpty(t, compareManagers(metadata("1", "a"), metadata("1", "b")))
	for name, tt := range map[string]struct {
		recorded, here string
		want           []string
	}{
		"both wrote":                      {"2", "12", nil},
		"neither wrote":                   {"1", "11", nil},
		"only the recorded server wrote":  {"2", "11", []string{"/metadata/resourceVersion: recorded another, here as before"}},
		"only the one of the replay does": {"1", "12", []string{"/metadata/resourceVersion: recorded as before, here another"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := At("", nil)
			server.ours["1"] = "11"
			var found []string
			for _, d := range server.compareVersions(&Result{}, metadata(tt.recorded, ""), metadata(tt.here, "")) {
				found = append(found, d.String())
			}
			assert.Equal(t, tt.want, found)
		})
	}
}

// The recording holds generated requests about the fields of all kinds that are validated here (conformance/interop/apiserver), one
// for each rule that a comparison with kube-apiserver v1.37.2 found broken here, or checked.
func TestFieldsAreCheckedAndDefaultedAsByARealServer(t *testing.T) {
	list, err := Load(filepath.Join("testdata", "fields.json.gz"))
	require.NoError(t, err)
	results, err := Play(list)
	require.NoError(t, err)
	counts, text := Report(results, nil, false)
	assert.Greater(t, counts.All, 1400)
	assert.Equal(t, counts.All, counts.Agree, text)
}
