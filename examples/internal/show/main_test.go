package show

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/view"
)

// twice shows two clusters.
func twice(out io.Writer) error {
	for _, name := range []string{"one", "two"} {
		c, err := storagesim.New(storagesim.Config{})
		if err != nil {
			return err
		}
		defer c.Close()
		claim := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: " + name + "}\n" +
			"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n"
		s := New(c, fstest.MapFS{"claim.yaml": {Data: []byte(claim)}}, out)
		s.Title("Cluster " + name)
		s.Apply("claim.yaml")
		if err := s.Err(); err != nil {
			return err
		}
	}
	return nil
}

func TestAnExampleWritesAPageOfEachCluster(t *testing.T) {
	dir := t.TempDir()
	var plain, out bytes.Buffer
	require.NoError(t, run(&plain, []string{"/bin/twice"}, twice))
	require.NoError(t, run(&out, []string{"/bin/twice", "-html", filepath.Join(dir, "page.html")}, twice))
	require.Equal(t, plain.String(), out.String(), "what is printed stays as it is")
	for file, name := range map[string]string{"page.html": "one", "page-2.html": "two"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		_, data, _ := strings.Cut(string(text), `<script type="application/json" id="story">`)
		data, _, _ = strings.Cut(data, "</script>")
		var p view.Page
		require.NoError(t, json.Unmarshal([]byte(data), &p))
		require.Equal(t, []view.Chapter{{Step: 0, Title: "Cluster " + name}, {Step: 0, Title: "$ kubectl apply -f claim.yaml"}}, p.Chapters)
		require.Equal(t, "creates pvc default/"+name, p.Steps[0].Text)
		require.Equal(t, "twice", p.Title)
	}
}

func TestAPageThatCannotBeWrittenIsAnError(t *testing.T) {
	require.ErrorContains(t, run(io.Discard, []string{"x", "-html", filepath.Join(t.TempDir(), "no", "page.html")}, twice), "no such file or directory")
	require.ErrorContains(t, run(io.Discard, []string{"x", "-html", "page.html"}, func(io.Writer) error { return nil }), "this example shows no cluster")
	require.ErrorContains(t, run(io.Discard, []string{"x", "-html"}, twice), "flag needs an argument")
	wrong := errors.New("wrong")
	require.ErrorIs(t, run(io.Discard, []string{"x"}, func(io.Writer) error { return wrong }), wrong)
}
