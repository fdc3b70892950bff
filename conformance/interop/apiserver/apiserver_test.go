package apiserver

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/storagesim/storagesim/api/crd/cel" // rules are evaluated, as by the real server
	"github.com/storagesim/storagesim/conformance/requests"
)

var (
	limit     = flag.Int("limit", 150, "how many changes are tried of each object in each way")
	seed      = flag.Uint64("seed", 46, "chooses the changes")
	pairs     = flag.Int("pairs", 0, "how many pairs of changes are tried of each object in each way")
	kinds     = flag.String("kinds", "", "the kinds that are asked about, with commas; all if empty")
	recording = flag.String("recording", "../../requests/testdata/sample.json", "a recording with which the server is compared")
	runs      = flag.Int("runs", 42, "how many random sequences are tried")
	sequences = flag.Uint64("sequences", 81, "chooses the sequences")
	length    = flag.Int("length", 25, "how many requests a sequence has")
	save      = flag.String("save", "", "write all requests and answers to this file")
)

// start starts a real server. It ends with the test.
func start(t testing.TB) *Real {
	t.Helper()
	real, err := Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, real.Close()) })
	return real
}

// own lists the recorded requests whose answers tell which server it was, or how it was built.
var own = []string{"del kubernetes svc"}

// That the server answers as the one that was recorded shows that it was started as that one.
func TestTheServerAnswersAsTheOneThatWasRecorded(t *testing.T) {
	real := start(t)
	list, err := requests.Load(*recording)
	require.NoError(t, err)
	results, err := requests.At(real.URL, real.Transport()).Play(list)
	require.NoError(t, err)
	counts, text := requests.Report(results, reasons(own), false)
	t.Logf("%s\n%s", counts, text)
	assert.Zero(t, counts.Differ)
}

// reasons returns that the requests of these names are the server's own.
func reasons(names []string) (list []requests.Reason) {
	for _, name := range names {
		list = append(list, requests.Reason{Names: name, Text: "it tells which server it is"})
	}
	return list
}

func TestOurServerAnswersAsTheRealOne(t *testing.T) {
	o := Options{Seed: *seed, Limit: *limit, Pairs: *pairs}
	if *kinds != "" {
		o.Kinds = strings.Split(*kinds, ",")
	}
	list, err := Record(start(t), o)
	if *save != "" {
		require.NoError(t, write(*save, list))
	}
	require.NoError(t, err)
	results, err := requests.Play(list)
	require.NoError(t, err)
	counts, text := requests.Report(results, requests.Known(), false)
	t.Logf("seed %d, %d changes of each object in each way: %s", *seed, *limit, counts)
	assert.Zero(t, counts.Differ, text)
}

// write keeps requests in a file as package requests reads them, NAME.json or NAME.json.gz.
func write(file string, list []requests.Request) error {
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if strings.HasSuffix(file, ".gz") {
		var out bytes.Buffer
		w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression)
		if _, err = w.Write(data); err == nil {
			err = w.Close()
		}
		data = out.Bytes()
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// The reports of collections and of pairs of changes: docs/apiserver.md says what was found.
func TestRequestsAboutCollectionsAreAnsweredAsByTheRealServer(t *testing.T) {
	agreesWhole(t, RecordCollections, "%d collections, %d requests about each")
}

// Evictions, bindings, tokens, scales and other parts of objects, methods and paths, discovery and tables: docs/apiserver.md says what is left.
func TestRequestsAboutSubresourcesAreAnsweredAsByTheRealServer(t *testing.T) {
	agreesWhole(t, RecordSubresources, "%d runs of %d requests")
}

// Other sequences show what docs/apiserver.md says of the differences that are left.
func TestSequencesOfRequestsAreAnsweredAsByTheRealServer(t *testing.T) {
	agreesWhole(t, RecordSequences, "%d sequences of %d requests")
}

// agreesWhole records requests of the real server, keeps them if that is asked for, and plays them here. what is a format of what is counted: runs, and
// the requests of each.
func agreesWhole(t *testing.T, record func(real *Real, runs, length int, options Options) ([]requests.Request, error), what string) {
	o := Options{Seed: *sequences}
	if *kinds != "" {
		o.Kinds = strings.Split(*kinds, ",")
	}
	list, err := record(start(t), *runs, *length, o)
	if *save != "" {
		require.NoError(t, write(*save, list))
	}
	require.NoError(t, err)
	results, err := requests.Play(list)
	require.NoError(t, err)
	counts, text := requests.Report(results, requests.Known(), false)
	t.Logf("seed %d, "+what+": %s", *sequences, *runs, *length, counts)
	assert.Zero(t, counts.Differ, text)
}
