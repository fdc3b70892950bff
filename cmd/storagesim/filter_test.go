package main

import (
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
