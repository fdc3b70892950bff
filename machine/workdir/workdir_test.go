package workdir

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test's binary stand for a process that makes a directory, and waits.
func TestMain(m *testing.M) {
	if os.Getenv("BE_WORKER") == "" {
		os.Exit(m.Run())
	}
	dir, err := Make()
	if err == nil {
		_, err = os.Stdout.WriteString(dir.Path() + "\n")
	}
	if err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	_ = dir.Remove()
	os.Exit(0)
}

func TestTheDirectoryOfAProcessThatWasKilledIsFound(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("TMPDIR is not the directory for temporary files there")
	}
	t.Setenv("TMPDIR", t.TempDir())
	self, err := os.Executable()
	require.NoError(t, err)
	for _, killed := range []bool{false, true} {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "BE_WORKER=1")
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		dir := line[:len(line)-1]
		require.DirExists(t, dir)
		require.Empty(t, Left(), "its process is alive")
		require.Empty(t, Mine())
		if killed {
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
			require.Equal(t, []string{dir}, Left())
			continue
		}
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
		require.NoDirExists(t, dir)
	}
}

func TestADirectoryIsThisProcesssUntilItIsRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("TMPDIR is not the directory for temporary files there")
	}
	t.Setenv("TMPDIR", t.TempDir())
	for _, other := range []string{"storagesim-nodes", "storagesim-7", "storagesim-7-x", "other-7-7"} {
		require.NoError(t, os.Mkdir(filepath.Join(os.TempDir(), other), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(os.TempDir(), "storagesim-7-8"), nil, 0o644))
	dir, err := Make()
	require.NoError(t, err)
	require.Equal(t, []string{dir.Path()}, Mine())
	require.Empty(t, Left(), "others have other names")
	require.NoError(t, os.Symlink(os.TempDir(), filepath.Join(dir.Path(), "link")))
	require.NoError(t, dir.Remove())
	require.NoError(t, dir.Remove())
	require.Empty(t, Mine())
	require.DirExists(t, filepath.Join(os.TempDir(), "storagesim-nodes"))
}
