package apivolume_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/kubelet/internal/apivolume"
	"github.com/storagesim/storagesim/machine/disk"
)

func newWriter(t *testing.T) *apivolume.AtomicWriter {
	node, err := disk.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { _ = node.Close() })
	require.NoError(t, node.MkdirAll("/v", 0o755))
	return &apivolume.AtomicWriter{Node: node, Dir: "/v", Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func files(pairs ...string) map[string]apivolume.FileProjection {
	payload := map[string]apivolume.FileProjection{}
	for i := 0; i < len(pairs); i += 2 {
		payload[pairs[i]] = apivolume.FileProjection{Data: []byte(pairs[i+1]), Mode: 0o644}
	}
	return payload
}

// requireFiles checks what a container sees, and that nothing else is there.
func requireFiles(t *testing.T, w *apivolume.AtomicWriter, dir string, payload map[string]apivolume.FileProjection) {
	t.Helper()
	for name, file := range payload {
		data, err := w.Node.ReadFile("/v/" + name)
		require.NoError(t, err)
		require.Equal(t, string(file.Data), string(data), name)
	}
	text, err := w.Node.Readlink("/v/..data")
	require.NoError(t, err)
	require.Equal(t, dir, text)
	firsts := map[string]bool{"..data": true, dir + "/": true}
	for name := range payload {
		first, _, _ := strings.Cut(name, "/")
		firsts[first] = true
	}
	names, err := w.Node.List("/v")
	require.NoError(t, err)
	require.Len(t, names, len(firsts))
	for _, name := range names {
		require.True(t, firsts[name], name)
	}
}

func TestAllFilesChangeAtOnce(t *testing.T) {
	w := newWriter(t)
	steps := []struct {
		payload map[string]apivolume.FileProjection
		changed bool
		dir     string
	}{
		{files("a", "1", "d/e/f", "2", "d/g", "3"), true, "..2026_01_02_03_04_05.1"},
		{files("a", "1", "d/e/f", "2", "d/g", "3"), false, "..2026_01_02_03_04_05.1"},
		{files("a", "x", "d/g", "3"), true, "..2026_01_02_03_04_05.2"},
		{files("a", "x", "d/g", "3", "new", "4"), true, "..2026_01_02_03_04_05.1"},
		{files(), true, "..2026_01_02_03_04_05.2"},
		{files(), false, "..2026_01_02_03_04_05.2"},
	}
	for _, step := range steps {
		changed, err := w.Write(step.payload, nil)
		require.NoError(t, err)
		require.Equal(t, step.changed, changed)
		requireFiles(t, w, step.dir, step.payload)
	}
}

func TestAWriteThatFailsLeavesTheOldFiles(t *testing.T) {
	w := newWriter(t)
	old := files("a", "1")
	_, err := w.Write(old, nil)
	require.NoError(t, err)
	_, err = w.Write(files("a", "2", "b", "3"), func(string) error { return errors.New("no such group") })
	require.ErrorContains(t, err, "no such group")
	requireFiles(t, w, "..2026_01_02_03_04_05.1", old)
}

// Every state that a crash between two system calls can leave.
func TestWhatAnInterruptedWriteLeftIsFinished(t *testing.T) {
	link := func(w *apivolume.AtomicWriter, target, at string) {
		_, err := w.Node.Symlink("/v/"+target, "/v/"+at)
		require.NoError(t, err)
	}
	for name, interrupt := range map[string]func(w *apivolume.AtomicWriter){
		"a new directory, half written": func(w *apivolume.AtomicWriter) {
			require.NoError(t, w.Node.MkdirAll("/v/..2026_01_02_03_04_05.2/d", 0o755))
		},
		"the next link, not yet renamed": func(w *apivolume.AtomicWriter) { link(w, "..2026_01_02_03_04_05.2", "..data_tmp") },
		"links of old files":             func(w *apivolume.AtomicWriter) { link(w, "..data/gone", "gone") },
		"links of new files missing":     func(w *apivolume.AtomicWriter) { require.NoError(t, w.Node.Remove("/v/a")) },
		"the old directory": func(w *apivolume.AtomicWriter) {
			require.NoError(t, w.Node.MkdirAll("/v/..2025_01_02_03_04_05.1/d", 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWriter(t)
			_, err := w.Write(files("a", "1"), nil)
			require.NoError(t, err)
			interrupt(w)
			next := files("a", "2", "b", "3")
			_, err = w.Write(next, nil)
			require.NoError(t, err)
			current, err := w.Node.Readlink("/v/..data")
			require.NoError(t, err)
			requireFiles(t, w, current, next)

			w = newWriter(t)
			_, err = w.Write(next, nil)
			require.NoError(t, err)
			interrupt(w)
			_, err = w.Write(next, nil)
			require.NoError(t, err)
			requireFiles(t, w, "..2026_01_02_03_04_05.1", next)
		})
	}
}

func TestPathsThatCouldLeadOutAreRefused(t *testing.T) {
	for path, want := range map[string]string{
		"": "must not be empty", "/etc/passwd": "must be relative", "../x": "must not contain '..'", "a/../../x": "must not contain '..'",
		"..data": "must not start with '..'", "./..data": "must not start with '..'", "..2026/x": "must not start with '..'",
		".": "must name a file", "a/..": "must not contain '..'", strings.Repeat("a", 256): "at most", strings.Repeat("a/", 2100) + "a": "4096",
		"b/c": "b is a file, and has b/c in it",
	} {
		if want == "at most" {
			want = "less than or equal to 255"
		}
		w := newWriter(t)
		payload := files("b", "1", path, "dead")
		_, err := w.Write(payload, nil)
		require.ErrorContains(t, err, want, "%q", path)
		names, err := w.Node.List("/v")
		require.NoError(t, err)
		require.Empty(t, names, "nothing is written")
	}
}
