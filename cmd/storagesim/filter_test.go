package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStoryIsToldOfAnObjectOrAnActor(t *testing.T) {
	args := []string{"run", "-f", "../../examples/openebs-hostpath", "-o", "story"}
	code, out, errOut := command(t, "", append(args, "--about", "pvc/local-hostpath-pvc", "--actor", "kube-scheduler")...)
	require.Equal(t, 0, code, errOut)
	require.Equal(t, 4, strings.Count(out, "\n"), out)
	require.Equal(t, 2, strings.Count(out, "kube-scheduler"), out)

	code, out, errOut = command(t, "", append(args, "--about", "pod/openebs/init-pvc-56a9ebfe")...)
	require.Equal(t, 0, code, errOut)
	require.Contains(t, out, "deletes pod openebs/init-pvc-56a9ebfe", "an object that is gone")
	require.NotContains(t, out, "creates sc")

	for flag, says := range map[string]string{
		"--about=pvc/local-hostpath-pv": `--about: there is no pvc default/local-hostpath-pv (did you mean "pvc default/local-hostpath-pvc"?)`,
		"--about=data":                  `--about: "data" does not name an object; write TYPE/NAME, such as pvc/data`,
		"--actor=kube-schedule":         `--actor: no actor is called "kube-schedule" (did you mean "kube-scheduler"?)`,
	} {
		code, out, errOut = command(t, "", append(args, flag)...)
		require.Equal(t, 1, code)
		require.Empty(t, out)
		require.Contains(t, errOut, says)
	}
}

func TestStoriesOfScriptsExhibitsAndFailuresAreToldOfAnObjectOrAnActor(t *testing.T) {
	script := file(t, "s.txt", "apply -f pvc.yaml\n----\n\nsettle\n----\n\nget pvc\n----\n")
	claim := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: NAME}\nspec: {accessModes: [ReadWriteOnce], storageClassName: '', resources: " +
		"{requests: {storage: 1Gi}}}\n"
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(script), "pvc.yaml"),
		[]byte(strings.ReplaceAll(claim, "NAME", "a")+"---\n"+strings.ReplaceAll(claim, "NAME", "b")), 0o600))
	failing := []string{"explore", "-f", filepath.Dir(script), "--runs", "1"}
	for name, tt := range map[string]struct {
		args                []string
		code                int
		has, lacks, refuses string
	}{
		"a script": {[]string{"story", script, "--about", "pvc/b"}, 0, "pvc default/b", "pvc default/a",
			`--about pvc/c: the story does not tell of a pvc default/c (did you mean`},
		"an exhibit": {[]string{"museum", "3", "--about", "pvc/data"}, 1, "pvc default/data", "creates sc",
			"--about pvc/c: the story does not tell of a pvc default/c"},
		"a failure": {append(failing, "--actor", "user", "--about", "pvc/a"), 1, "creates pvc default/a", "FailedBinding",
			"--about pvc/c: the story does not tell of a pvc default/c"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := command(t, "", tt.args...)
			require.Equal(t, tt.code, code, errOut)
			_, told, _ := strings.Cut(out, "the story:")
			if told == "" {
				told = out
			}
			require.Contains(t, told, tt.has)
			require.NotContains(t, told, tt.lacks)
			tt.args[len(tt.args)-1] = "pvc/c"
			code, _, errOut = command(t, "", tt.args...)
			require.NotEqual(t, 0, code)
			require.Contains(t, errOut, tt.refuses)
			code, _, errOut = command(t, "", append(tt.args[:len(tt.args)-2:len(tt.args)-2], "--actor", "kube-schedule")...)
			require.NotEqual(t, 0, code)
			require.Contains(t, errOut, `--actor kube-schedule: the story does not tell of an actor of that name`)
		})
	}
	code, _, errOut := command(t, "", "story", script, "--check", "--actor", "user")
	require.Equal(t, 2, code)
	require.Contains(t, errOut, "--about and --actor leave things out")
	code, _, errOut = command(t, "", append(failing, "-o", "json", "--actor", "user")...)
	require.Equal(t, 2, code)
	require.Contains(t, errOut, "-o json has the whole story")
}

// A format that tells no story is refused with --about and --actor, which it would ignore; the entries of -o trace are chosen.
func TestAFormatWithoutAStoryIsRefusedWithAFilter(t *testing.T) {
	claim := file(t, "claim.yaml", "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\n"+
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n")
	script := file(t, "story.txt", "cluster nodes=node-1\n")
	code, out, errOut := command(t, "", "run", "-f", claim, "-o", "trace", "--actor", "user")
	require.Equal(t, 0, code, errOut)
	require.Contains(t, out, `"actor":"user"`)
	require.NotContains(t, out, "FailedBinding")
	for _, args := range [][]string{
		{"run", "-f", claim, "-o", "table"}, {"run", "-f", claim, "-o", "yaml"}, {"run", "-f", claim, "-o", "json"}, {"run", "-f", claim, "-o", "html"},
		{"story", script, "-o", "mermaid"}, {"museum", "3", "-o", "svg"}, {"explore", "-f", claim, "--replay", "x1", "-o", "perfetto"},
	} {
		code, out, errOut := command(t, "", append(args, "--actor", "user")...)
		require.Equal(t, exitUsage, code, args)
		require.Empty(t, out, args)
		require.Contains(t, errOut, "error: -o "+args[len(args)-1]+": it tells no story, and --about and --actor choose what a story tells; leave them out\n")
	}
	code, out, errOut = command(t, "", "museum", "-o", "html")
	require.Equal(t, exitUsage, code)
	require.Empty(t, out)
	require.Contains(t, errOut, "error: --output: it is about an exhibit; name the NUMBER of one\n")
}

func TestAStoryFoldsNoiseUnlessToldInDetail(t *testing.T) {
	args := []string{"run", "-f", "../../examples/csi-snapshots", "-o", "story", "--width", "0"}
	_, out, _ := command(t, "", args...)
	require.Contains(t, out, "starts container writer of pod default/writer\n")
	require.NotContains(t, out, "Pulling image")
	require.Contains(t, out, "setup ", "the user installed no driver")
	require.NotRegexp(t, `user +creates csidriver`, out)
	require.NotContains(t, out, "acceptedNames")
	_, verbose, _ := command(t, "", append(args, "-v")...)
	require.Contains(t, verbose, "Pulling image")
	require.NotContains(t, verbose, "acceptedNames", "what the server says of a definition is told only by -o trace")
	_, all, _ := command(t, "", append(args, "-o", "trace")...)
	require.Contains(t, all, "acceptedNames")
}

func TestAFaultOfAStoryThatStruckNothingIsTold(t *testing.T) {
	name := file(t, "story.txt", "fail kube-scheduler create pods/binding\n----\nkube-scheduler will fail to create pods/binding\n\nsettle quiet\n----\n")
	code, _, errOut := command(t, "", "story", name)
	require.Equal(t, 0, code)
	require.Contains(t, errOut, "story.txt: a fault struck nothing: error of kube-scheduler before create pods/binding")
	code, _, errOut = command(t, "", "story", "--check", name)
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "a fault struck nothing: ")
}
