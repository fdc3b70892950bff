package story

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: lab}\n"

// beside plays a script in a folder of its own; "secret.yaml" is in the folder above.
func beside(t *testing.T, script string, o Options) (output, outside string) {
	t.Helper()
	outside = t.TempDir()
	dir := filepath.Join(outside, "scripts")
	require.NoError(t, os.Mkdir(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ns.yaml"), []byte(namespace), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.yaml"), []byte("password: hunter2\n"), 0o600))
	require.NoError(t, os.Symlink("../secret.yaml", filepath.Join(dir, "link.yaml")))
	require.NoError(t, os.Symlink("ns.yaml", filepath.Join(dir, "inside.yaml")))
	script = strings.ReplaceAll(script, "OUTSIDE", outside)
	if o.AllowFiles != nil {
		o.AllowFiles = []string{outside}
	}
	o.Width = -1
	var b strings.Builder
	require.NoError(t, Play(t.Context(), &b, filepath.Join(dir, "story.txt"), script, o))
	return b.String(), outside
}

func TestAScriptReadsFilesOfItsOwnFolderOnly(t *testing.T) {
	got, outside := beside(t, "apply -f inside.yaml\n----\n\napply -f ../secret.yaml\n----\n\napply -f OUTSIDE/secret.yaml\n----\n\n"+
		"apply -f link.yaml\n----\n\napply -f ../scripts/ns.yaml\n----\n\napply -f none.yaml\n----\n", Options{})
	const refused = "is outside of the script's folder; storagesim story --allow-files DIR lets scripts read another one"
	assert.Equal(t, []string{
		"namespace/lab created",
		`error: "../secret.yaml" ` + refused,
		`error: "` + outside + `/secret.yaml" ` + refused,
		`error: "link.yaml" ` + refused,
		"namespace/lab unchanged",
		"error: none.yaml: no such file or directory",
	}, outputs(got))
	assert.NotContains(t, got, "hunter2")
}

func TestWhoPlaysAScriptCanAllowOtherFolders(t *testing.T) {
	got, _ := beside(t, "apply -f ../scripts/ns.yaml\n----\n\napply -f ../secret.yaml\n----\n", Options{AllowFiles: []string{}})
	lines := outputs(got)
	assert.Equal(t, "namespace/lab created", lines[0])
	assert.Contains(t, lines[1], "secret.yaml:1: apiVersion: is missing")
	assert.NotContains(t, got, "hunter2")
}
