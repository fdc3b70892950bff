package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/story"
)

func TestAShellPlaysWhatItIsGivenAndGoesBack(t *testing.T) {
	in, err := os.ReadFile("testdata/shell.in")
	require.NoError(t, err)
	code, out, errOut := command(t, strings.ReplaceAll(string(in), "\r\n", "\n"), "shell", "nodes=node-1", "provisioners=")
	require.Equal(t, 0, code, errOut)
	if *update {
		require.NoError(t, os.WriteFile("testdata/shell.golden", []byte(out), 0o644))
	}
	want, err := os.ReadFile("testdata/shell.golden")
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), out)
}

func TestAShellSavesAStoryThatPlaysTheSame(t *testing.T) {
	manifest := file(t, "a.yaml", manifests)
	saved := filepath.Join(t.TempDir(), "saved.txt")
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	input := "save " + filepath.Join(nowhere, "x") + "\n" +
		"settle\nback 20\ncrash openebs.io/local\n# It is back.\nsettle\nget pods,pvc,pv\nsave " + saved + "\nsave " + saved + "\n"
	code, out, errOut := command(t, input, "shell", "-f", manifest)
	require.Equal(t, 0, code, errOut)
	require.Contains(t, out, "error: save: there is no directory "+nowhere+"\n")
	require.Contains(t, out, "20 steps back; the last command is now: step ")
	require.Contains(t, out, saved+" is written; storagesim story --check "+saved+" plays it\nerror: save: "+saved+" exists already; save "+saved+
		" --force replaces it\n")
	code, _, errOut = command(t, "", "story", "--check", saved)
	require.Equal(t, 0, code, errOut)
	script, err := os.ReadFile(saved)
	require.NoError(t, err)
	require.Contains(t, string(script), "\ncrash openebs.io/local\n----\nopenebs.io/local crashed\n")
	require.Contains(t, string(script), "\n# It is back.\nsettle\n----\n")
	require.NotContains(t, string(script), "\nsettle\n----\n  0:00:00  user ", "what was taken back")
	_, told, _ := strings.Cut(string(script), "# It is back.\nsettle\n----\n")
	require.Contains(t, out, told[:strings.Index(told, "\n\n")], "the same records")
}

func TestAShellRunsTheProvisionersOfItsManifests(t *testing.T) {
	manifest := file(t, "a.yaml",
		`{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: rancher.io/local-path, volumeBindingMode: Immediate}`)
	code, out, errOut := command(t, "", "shell", "-f", manifest)
	require.Equal(t, 0, code, errOut)
	require.Contains(t, out, ", rancher.io/local-path\n")
	code, out, errOut = command(t, "", "shell", "-f", manifest, "provisioners=nfs")
	require.Equal(t, 0, code, errOut)
	require.NotContains(t, out, "rancher.io/local-path")
}

func TestAWrongShellIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"shell a.yaml":          `"a.yaml" is not a setting such as nodes=n1,n2; manifests are named with -f`,
		"shell no=thing":        `unknown setting "no"`,
		"shell -f no-such.yaml": "no-such.yaml",
		"explain pvc/a -f a.yaml": "-f a.yaml: explain asks a cluster that storagesim serve offers; storagesim run -f a.yaml explains what does not run there, and " +
			"in storagesim shell -f a.yaml explain is a command",
	} {
		code, _, errOut := command(t, "", strings.Fields(line)...)
		require.NotEqual(t, 0, code, line)
		require.Contains(t, errOut, want, line)
	}
}

func TestTabCompletesCommandsActorsAndObjects(t *testing.T) {
	p := &prompt{Shell: story.NewShell(t.Context(), story.Options{})}
	defer func() { require.NoError(t, p.Close()) }()
	_, err := p.Do("settle")
	require.NoError(t, err)
	for line, want := range map[string]string{
		"sa": "save ", "appl": "apply ", "crash pers": "crash persistent-volume-binder ", "stop node/": "stop node/node-",
		"describe node node-": "describe node node-",
		"get --n":             "get --n", "get node/node-1": "get node/node-1 ", "nothing x": "nothing x", "help ba": "help ba",
	} {
		got, _ := p.complete(line)
		require.Equal(t, want, got, line)
	}
	_, possible := p.complete("describe node node-")
	require.Equal(t, []string{"node-1", "node-2", "node-controller"}, possible)
}

func TestAMisspeltCommandOfTheShellIsSuggested(t *testing.T) {
	_, out, _ := command(t, "bacc 3\nhelp savv\n", "shell")
	require.Contains(t, out, `error: unknown command "bacc" (did you mean "back"?); expected one of cluster,`)
	require.Contains(t, out, `error: help: unknown command "savv" (did you mean "save"?); expected one of cluster,`)
}

func TestWhatIsWrongInTheShellIsWrapped(t *testing.T) {
	_, out, _ := command(t, "settle nobody\nnonsense\n", "shell")
	require.Contains(t, out, `error: unknown command "nonsense"`)
	require.Contains(t, out, "help, back, save, exit\n")
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, len(line), 121)
	}
}
