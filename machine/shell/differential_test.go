package shell_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/shell"
)

// outcome is all that a script leaves.
type outcome struct {
	code int
	out  string
	tree string
}

// treeOf returns every file below a directory: its kind and what is in it.
func treeOf(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || rel == "." {
			return err
		}
		switch {
		case d.IsDir():
			fmt.Fprintf(&b, "%s/\n", rel)
		case d.Type()&fs.ModeSymlink != 0:
			text, err := os.Readlink(name)
			fmt.Fprintf(&b, "%s -> %s\n", rel, text)
			return err
		default:
			data, err := os.ReadFile(name)
			fmt.Fprintf(&b, "%s: %q\n", rel, data)
			return err
		}
		return nil
	})
	require.NoError(t, err)
	return b.String()
}

// inDash returns what the machine's own dash and coreutils do with a script.
func inDash(t *testing.T, script string) outcome {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "dash", "-c", script+"\n", "script", "one", "two words", "three")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "PWD=" + dir, "HOME=/home", "GREETING=hello"}
	var out bytes.Buffer
	cmd.Stdout = &out
	err := cmd.Run()
	var exit *exec.ExitError
	require.True(t, err == nil || errors.As(err, &exit), "%v", err)
	require.NoError(t, ctx.Err(), script)
	return outcome{cmd.ProcessState.ExitCode(), out.String(), treeOf(t, dir)}
}

// inOurs returns what a program of a container does with it, in a volume at /data.
func inOurs(t *testing.T, script string) (outcome, *shell.Program) {
	dir := t.TempDir()
	node, err := disk.Open(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Close()) }()
	out := &bytes.Buffer{}
	p := shell.New(shell.Config{
		Argv: []string{"sh", "-c", script + "\n", "script", "one", "two words", "three"}, Dir: "/data", Node: node, Stdout: out,
		Env: map[string]string{"HOME": "/home", "GREETING": "hello"}, Mounts: []shell.Mount{{ContainerPath: "/data", VolumePath: "/"}},
	})
	defer p.Stop()
	b := &box{t: t, node: node, host: newHost()}
	require.True(t, b.goOn(p, time.Hour), "the script does not end: %s", script)
	return outcome{int(p.ExitCode()), out.String(), treeOf(t, dir)}, p
}

func needDash(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("dash"); err != nil {
		t.Skipf("this machine has no dash to compare with: %v", err)
	}
}
