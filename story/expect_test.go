package story

import (
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
)

const two = "cluster nodes=node-1,node-2 provisioners= only=kube-scheduler\n"

func TestAnExpectationThatIsMetPrintsNothingAndOneThatIsNotEndsTheStory(t *testing.T) {
	for line, wrong := range map[string]string{
		"expect node-2 in get nodes":                                         "",
		"expect 'node-2 Ready' in get nodes":                                 "", // however wide the column is
		"expect only node-1 in get node node-1 -o jsonpath={.metadata.name}": "",
		"expect no node-3 in get nodes":                                      "",
		"expect NotFound in get node node-3":                                 "", // a refusal is an output
		"expect only node in get node node-1 -o jsonpath={.metadata.name}": "test.txt:2: expect: expected only \"node\" in the output of \"get node node-1 -o " +
			"jsonpath={.metadata.name}\", which is:\nnode-1",
		"expect node-3 in get node node-1 -o name": "test.txt:2: expect: expected \"node-3\" in the output of \"get node node-1 -o " +
			"name\", which is:\nnode/node-1",
		"expect no node-1 in get node node-1 -o name": "test.txt:2: expect: expected no \"node-1\" in the output of \"get node node-1 -o " +
			"name\", which is:\nnode/node-1",
		"expect node-1": "test.txt:2: expect: \"node-1\" is not TEXT in COMMAND; a TEXT with blanks stands in quotes; usage: " +
			"expect [no | only] TEXT in COMMAND...",
		"expect a in expect a in get node": "test.txt:2: expect: its command is expect again; expected one that prints something, such as get or explain; usage: " +
			"expect [no | only] TEXT in COMMAND...",
		"expect a in settle -x": "test.txt:2: expect: settle: unknown shorthand flag: 'x' in -x; usage: settle [quiet | ACTOR... TOPIC... TYPE/NAME...]",
	} {
		_, err := Run("test.txt", two+line+"\n")
		if wrong == "" {
			require.NoError(t, err, line)
			continue
		}
		require.EqualError(t, err, wrong)
	}
}

func TestAScriptOnAShellReadsFilesOfAFileSystemAndTellsWhatCameOfIt(t *testing.T) {
	var told []Expectation
	var refused []string
	sh := NewShell(t.Context(), Options{
		Files: fstest.MapFS{"claim.yaml": {Data: []byte("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n" +
			"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n")}},
		Expected: func(e Expectation) { told = append(told, e) },
		Refused:  func(file string, line int, problem string) { refused = append(refused, problem) },
		MostTime: time.Hour,
	})
	defer func() { require.NoError(t, sh.Close()) }()
	var played strings.Builder
	require.NoError(t, sh.Play(&played, "a.txt",
		"apply -f claim.yaml\napply -f other.yaml\n! get pvc other\nexpect Lost in get pvc\nexpect Pending in get pvc data\n"))
	require.Contains(t, played.String(), "persistentvolumeclaim/data created\n")
	require.Len(t, told, 2)
	require.False(t, told[0].Met)
	require.True(t, told[1].Met)
	require.Equal(t, 5, told[1].Line)
	require.Equal(t, []string{"error: other.yaml: file does not exist"}, refused)

	require.EqualError(t, sh.Play(io.Discard, "b.txt", "get pvc\n\nstop node/node-1\n", "get", "apply"),
		`b.txt:3: this script may not use "stop"; expected one of get, apply`)
	require.ErrorContains(t, sh.Play(io.Discard, "b.txt", "run-for 100000h\n"),
		`b.txt:1: run-for: TIME: "100000h" is longer than the 1h0m0s that one command may let pass here`)
	_, err := sh.Do("get pvc")
	require.NoError(t, err)
}
