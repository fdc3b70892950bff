package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAnExplorationOfManifestsFindsWhatOneFaultBreaksAndRepeatsIt(t *testing.T) {
	path := file(t, "local-path.yaml", strings.NewReplacer("openebs-hostpath", "local-path", "openebs.io/local", "rancher.io/local-path").Replace(manifests))
	code, out, errOut := command(t, "", "explore", "-f", path, "--runs", "200", "--strategies", "faults", "-o", "json")
	require.Equal(t, 1, code, "%s%s", out, errOut)
	var answer found
	require.NoError(t, json.Unmarshal([]byte(out), &answer))
	require.Equal(t, "nothing leaks", answer.Failure.Rule)
	require.Equal(t, "faults", answer.Failure.Strategy)
	require.Contains(t, answer.Failure.Error, "helper pod local-path-storage/helper-pod-create-")
	require.Regexp(t, `^x1;faults=1:rancher\.io/local-path:delete:pods:[a-z-]+;without=[\d,]+$`, answer.Failure.Replay)
	require.Equal(t, []string{"apply sc/local-path", "apply pvc/default/data", "apply pod/default/web"}, answer.Failure.Acts)
	require.Equal(t, answer.Failure.Run, answer.Runs)
	require.Equal(t, 1, answer.Version)
	require.Equal(t, "nothing leaks: helper pod of pod/local-path-storage/helper-pod-create-pvc-", answer.Failure.Key)

	accept := filepath.Join(t.TempDir(), "accepted.txt")
	require.NoError(t, os.WriteFile(accept, []byte("# known, see the tracker\n\n"+answer.Failure.Key+"\n"), 0o600))
	code, out, _ = command(t, "", "explore", "-f", path, "--runs", "200", "--strategies", "faults", "--accept", accept)
	require.Equal(t, 0, code)
	require.Regexp(t, `^Run \d+ fails, and that is accepted: nothing leaks: helper pod of `, out)

	for key, name := range map[string]string{
		"the plain run works: persistentvolumeclaims/default/data": "persistentvolumeclaims/default/data",
		"one owner: pvc default/data":                              "pvc default/data",
		"nothing leaks: lost claim of default/data":                "default/data",
	} {
		require.NoError(t, os.WriteFile(accept, []byte("# known\n"+key+"\n"), 0o600))
		code, _, errOut = command(t, "", "explore", "-f", path, "--accept", accept)
		require.Equal(t, 2, code)
		require.Contains(t, errOut, accept+`:2: --accept: "`+name+
			`" names an object as older versions did; the key of such a failure has the form pvc/default/data now`)
	}

	require.NoError(t, os.WriteFile(accept, []byte("\xff\xfen\x00o\x00"), 0o600)) // a redirection in a shell of Windows
	code, _, errOut = command(t, "", "explore", "-f", path, "--accept", accept)
	require.Equal(t, 2, code)
	require.Contains(t, errOut, "--accept: "+accept+": is encoded in UTF-16; expected UTF-8")

	code, out, _ = command(t, "", "explore", "-f", path, "--replay", answer.Failure.Replay)
	require.Equal(t, 1, code)
	require.Contains(t, out, "nothing leaks: 1 left behind:")
	require.Contains(t, out, "replay "+answer.Failure.Replay)
	require.Equal(t, strings.Join(strings.Fields(answer.Failure.Story), " "), storyOf(out), "the same, in lines that fit")

	code, out, errOut = command(t, "", "explore", "-f", path, "--replay", answer.Failure.Replay, "-o", "html")
	require.Equal(t, 0, code, errOut)
	p := pageOf(t, out)
	require.Equal(t, "A failure: "+answer.Failure.Key, p.Title)
	require.Contains(t, p.Intro, "helper pod local-path-storage/helper-pod-create-")
	require.Contains(t, p.Repeat, "--replay '"+answer.Failure.Replay+"'")
	require.True(t, has(p, "fault", "rancher.io/local-path") || has(p, "down", "rancher.io/local-path"))

	code, out, _ = command(t, "", "explore", "-f", path, "--replay", "x1")
	require.Equal(t, 0, code)
	require.Equal(t, "Nothing was found in this run.\n", out)
	code, out, errOut = command(t, "", "explore", "-f", path, "--replay", "x1", "-o", "html")
	require.Equal(t, 1, code)
	require.Empty(t, out)
	require.Contains(t, errOut, "-o html: the run does not fail, so that there is nothing to show")
	code, _, errOut = command(t, "", "explore", "-f", path, "-o", "html")
	require.Equal(t, 2, code)
	require.Contains(t, errOut, "-o html: it shows one run; name its line with --replay")

	code, _, errOut = command(t, "", "explore", "-f", path, "--replay", "x1;faults=1:rancher.io/local-path:delete:pod:crash")
	require.Equal(t, exitNotReached, code)
	require.Contains(t, errOut, "there are 0 such calls; the nearest is 1:rancher.io/local-path:delete:pods")
	code, _, errOut = command(t, "", "explore", "-f", path, "--replay", "x1;faults=9999:crash")
	require.Equal(t, exitNotReached, code)
	require.Regexp(t, `fault 9999:crash: there are \d+ calls; the nearest is \d+\n`, errOut)

	lonely := file(t, "lonely.yaml", `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: lonely}, spec: {accessModes: [ReadWriteOnce], `+
		`storageClassName: "", resources: {requests: {storage: 1Gi}}}}`)
	code, out, _ = command(t, "", "explore", "-f", lonely, "--runs", "5")
	require.Equal(t, 1, code)
	require.Contains(t, out, "run 1 (in order): the plain run works: pvc/default/lonely is Pending\n")
	require.Contains(t, out, "\nA page of it: the same command with --replay 'x1")
	code, _, errOut = command(t, "", "explore", "-f", lonely, "--runs", "5", "--expect", "pvc/lonely=Pending")
	require.Equal(t, 0, code, errOut)

	code, out, _ = command(t, "", "explore", "-f", path, "--runs", "40", "--except", "nothing leaks")
	require.Equal(t, 0, code)
	require.Regexp(t, `^Nothing was found in 40 runs: \d+ states \(the last new one in run \d+\), \d+ orders of writes \(the last in run \d+\), `+
		`\d+ of \d+ places recover(, \d+ were not tried)?\.\n$`, out)
}

// What was found is a script that plays by itself, and it ends as the run did.
func TestWhatWasFoundIsAScriptThatPlays(t *testing.T) {
	path := file(t, "local-path.yaml", strings.NewReplacer("openebs-hostpath", "local-path", "openebs.io/local", "rancher.io/local-path").Replace(manifests))
	script := filepath.Join(t.TempDir(), "found.txt")
	code, out, errOut := command(t, "", "explore", "-f", path, "--runs", "200", "--strategies", "faults", "--script", script)
	require.Equal(t, 1, code, errOut)
	require.Contains(t, out, "helper pod local-path-storage/helper-pod-create-")
	code, out, errOut = command(t, "", "story", script)
	require.Equal(t, 0, code, errOut)
	require.Contains(t, out, "\nfail rancher.io/local-path delete pods\n----\n")
	require.Contains(t, out, "\nleaks\n----\nhelper pod local-path-storage/helper-pod-create-")
	require.NotContains(t, out, "\ndelete ", "that nothing needs to be deleted")

	code, _, errOut = command(t, "", "explore", "-f", path, "--replay", "x1;faults=1:crash", "--script", script)
	require.Equal(t, 0, code, errOut)
	code, _, errOut = command(t, "", "explore", "-f", path, "--replay", "x1;faults=13:refused;without=4,5", "--script", script,
		"--entrypoint", "example.com/none=echo 'a b'", "--entrypoint", "example.com/other=exit 3", "--disk-size", "1Gi")
	require.Equal(t, 1, code, errOut)
	written, err := os.ReadFile(script)
	require.NoError(t, err)
	require.Contains(t, string(written), ` disk-size=1Gi 'entrypoint=example.com/none=echo '"'"'a b'"'"'' 'entrypoint=example.com/other=exit 3'`)
	code, _, errOut = command(t, "", "story", script)
	require.Equal(t, 0, code, errOut)
	require.Contains(t, string(written), "\nfail rancher.io/local-path delete pods\n----\n", "a run that is repeated is written, too")
	code, out, errOut = command(t, "", "explore", "-f", path, "--runs", "200", "--strategies", "faults", "--script", t.TempDir())
	require.Equal(t, 1, code)
	require.Contains(t, out, "helper pod local-path-storage/helper-pod-create-", "what was found is not lost")
	require.Regexp(t, `note: --script .*: nothing is written: open .*: is a directory\n`, errOut)
	code, _, errOut = command(t, "", "explore", "-f", path, "--script", "nowhere/found.txt")
	require.Equal(t, 2, code)
	require.Contains(t, errOut, "--script nowhere/found.txt: there is no directory nowhere")
}

func TestAnExplorationTakesProgramsOfAnImageForRunningAsRunDoes(t *testing.T) {
	path := file(t, "server.yaml", `apiVersion: v1
kind: Pod
metadata: {name: server}
spec:
  containers: [{name: c, image: example.com/server, command: [start-the-server]}]
`)
	for _, play := range [][]string{{"run", "-o", "table"}, {"explore", "--runs", "20"}} {
		code, out, errOut := command(t, "", append(play, "-f", path)...)
		require.Equal(t, 0, code, "%s%s", out, errOut)
	}
}

// storyOf returns the story of a failure without its line breaks.
func storyOf(out string) string {
	_, story, _ := strings.Cut(out, "the story:\n")
	story, _, _ = strings.Cut(story, "\nkey ")
	return strings.Join(strings.Fields(story), " ")
}

func TestALineSaysHowFarAnExplorationIsAndGoesAway(t *testing.T) {
	var out strings.Builder
	p := &progress{out: &out, of: 100, width: 80, begin: time.Now().Add(-2 * time.Second)}
	p.run(1)
	p.run(2) // at once: not shown
	require.Equal(t, "\r1 of 100 runs in 2 s, 0 a second\x1b[K", out.String())
	p.end()
	require.True(t, strings.HasSuffix(out.String(), "\r\x1b[K"), "%q", out.String())

	out.Reset()
	p = &progress{out: &out, of: 100, width: 20, begin: time.Now()}
	p.run(1)
	require.True(t, strings.HasPrefix(out.String(), "\r1 of 100 runs in 0 \x1b[K"), "it can be written over in a terminal of 20 columns: %q", out.String())
}

// Ctrl-C does not lose what was done.
func TestAnInterruptedExplorationSaysWhereToGoOn(t *testing.T) {
	o := exploreOptions{runOptions: runOptions{nodes: []string{"node-1"}, files: []string{file(t, "m.yaml", manifests)}}, runs: 1_000_000, first: 11}
	cfg, err := o.config()
	require.NoError(t, err)
	ctx, interrupt := context.WithCancel(t.Context())
	cfg.Progress = func(run int) {
		if run >= 20 {
			interrupt()
		}
	}
	var out, errOut strings.Builder
	require.ErrorIs(t, o.explore(ctx, cfg, nil, &out, &errOut), context.Canceled)
	require.Regexp(t, `^note: nothing was found in \d+ runs: .*; go on with --from \d+\n$`, errOut.String())
	require.Empty(t, out.String())
}

func TestShardsDivideTheRunsAndAnExplorationCanGoOn(t *testing.T) {
	path := file(t, "m.yaml", manifests)
	runs := func(args ...string) int {
		code, out, errOut := command(t, "", append([]string{"explore", "-f", path, "--runs", "16", "-o", "json"}, args...)...)
		require.Equal(t, 0, code, "%s%s", out, errOut)
		var answer found
		require.NoError(t, json.Unmarshal([]byte(out), &answer))
		return answer.Runs
	}
	require.Equal(t, 16, runs("--keep-objects"))
	require.Equal(t, 6, runs("--shard", "1/3"))
	require.Equal(t, 5, runs("--shard", "3/3"))
	require.Equal(t, 4, runs("--from", "13"))
}

func TestAWrongExplorationIsRefusedBeforeAnythingIsRead(t *testing.T) {
	for args, says := range map[string]string{
		"":                                   "nothing to apply: give manifests with -f",
		"-f x --runs 0":                      "both must be 1 or more",
		"-f x --shard 4/3":                   `--shard: "4/3" is not PART/PARTS, such as 3/16`,
		"-f x --shard 3":                     `--shard: "3" is not PART/PARTS`,
		"-f x --strategies luck":             `--strategies: there is no "luck"; there are crashes, faults`,
		"-f x --except leaks":                `--except: there is no rule "leaks"; there are ["one owner"`,
		"-f x --replay y1":                   `it begins with "y1", and this version of storagesim plays lines that begin with "x1"`,
		"-f x --time -1s":                    "--time -1s: the time must not be negative",
		"-f x --shard 3/16x":                 `--shard: "3/16x" is not PART/PARTS, such as 3/16`,
		"-f x --runs 5 --from 6":             "--from 6: it is after the last run, 5; --runs counts the runs before --from, too",
		"-f x --accept nowhere.txt":          "--accept: nowhere.txt: no such file",
		"-f x --accept testdata/../..":       "--accept: testdata/../..: it is a directory; expected a file",
		"-f x -o yaml":                       `-o: unknown format "yaml"`,
		"-f x --csi-endpoint unix:///x.sock": "--csi-endpoint: a driver in another process does not repeat itself",
	} {
		code, _, errOut := command(t, "", append([]string{"explore"}, strings.Fields(args)...)...)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, errOut, says)
	}
}

// The helper pod of an earlier attempt is no proof of what a cluster does.
func TestAnExplorationOfManifestsSaysWhereARunIsNoProof(t *testing.T) {
	const says = "deviates at pod openebs/init-pvc-"
	path := file(t, "openebs.yaml", manifests)
	replay := []string{"explore", "-f", path, "--replay", "x1;faults=1:openebs.io/local:create:pods:crash-after"}
	for _, args := range [][]string{replay, {"explore", "-f", path, "--runs", "200", "--strategies", "crashes", "--except", "nothing leaks"}} {
		code, out, errOut := command(t, "", args...)
		require.Equal(t, 0, code, errOut)
		require.Contains(t, strings.Join(strings.Fields(out), " "), "A run "+says)

		code, out, errOut = command(t, "", append(args, "-o", "json")...)
		require.Equal(t, 0, code, errOut)
		var answer found
		require.NoError(t, json.Unmarshal([]byte(out), &answer))
		require.NotEmpty(t, answer.Deviations)
		require.Regexp(t, "^"+says+`.*: upstream waits for the pod as if it were its own, .*; here the pod is deleted and made anew$`, answer.Deviations[0])
	}
	code, out, _ := command(t, "", "explore", "-f", path, "--replay", "x1", "-o", "json")
	require.Equal(t, 0, code)
	require.NotContains(t, out, "deviates")
}
