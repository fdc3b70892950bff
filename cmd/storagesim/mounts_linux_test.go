package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/internal/rigs/outside"
	"github.com/storagesim/storagesim/internal/rigs/soon"
	"github.com/storagesim/storagesim/internal/unshared"
	"github.com/storagesim/storagesim/machine/mount"
)

// mountedIn returns where something is mounted in a directory, the last one first.
func mountedIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	table, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	for line := range strings.Lines(string(table)) {
		if at := strings.Fields(line)[4]; strings.HasPrefix(at, dir+"/") {
			list = append([]string{at}, list...)
		}
	}
	return list
}

// ending is one way in which a run with a driver that mounts comes to its end.
type ending struct {
	name   string
	serves bool           // serve in place of run
	after  string         // see outside.Config
	signal syscall.Signal // that ends the command, 0 for none
	driver bool           // the driver is killed before
	keep   bool           // with --keep
	spawn  bool           // the driver is started by --csi-command
}

func endings() []ending {
	return []ending{
		{name: "run to its end"},
		{name: "run --keep", keep: true},
		{name: "a driver that dies in NodePublishVolume", after: "die"},
		{name: "Ctrl-C while NodePublishVolume hangs", after: "hang", signal: syscall.SIGINT},
		{name: "SIGTERM while NodePublishVolume hangs", after: "hang", signal: syscall.SIGTERM},
		{name: "Ctrl-C with --keep while NodePublishVolume hangs", after: "hang", signal: syscall.SIGINT, keep: true},
		{name: "serve and Ctrl-C", serves: true, signal: syscall.SIGINT},
		{name: "serve and SIGTERM", serves: true, signal: syscall.SIGTERM},
		{name: "serve and SIGHUP", serves: true, signal: syscall.SIGHUP},
		{name: "serve and SIGKILL", serves: true, signal: syscall.SIGKILL},
		{name: "serve, and the driver is killed first", serves: true, signal: syscall.SIGTERM, driver: true},
		{name: "serve while NodePublishVolume hangs", serves: true, after: "hang", signal: syscall.SIGTERM},
		{name: "run with a driver that it starts", spawn: true},
		{name: "serve with a driver that it starts", spawn: true, serves: true, signal: syscall.SIGTERM},
	}
}

// Twenty endings, chosen by a seed with what the driver mounts. After each, every file behind a mount is there, and what
// stays is named, with each mount and the command that ends it.
func TestNothingBehindAMountIsDeletedHoweverARunEnds(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		const seed = 39
		r := rand.New(rand.NewPCG(seed, 0))
		kinds := []string{"bind", "ro", "tmpfs", "nested", "busy"}
		all := endings()
		for i, n := range append(r.Perm(len(all)), r.Perm(len(all))...)[:20] {
			kind := kinds[r.IntN(len(kinds))]
			t.Run(fmt.Sprintf("%d %s, %s", i, all[n].name, kind), func(t *testing.T) { all[n].play(t, kind) })
		}
	})
}

// play plays an ending.
func (e ending) play(t *testing.T, kind string) {
	p := outside.New(t, outside.Config{Mount: kind, After: e.after})
	require.NoError(t, os.WriteFile(p.Dir+"/older", []byte("kept"), 0o644))
	require.NoError(t, os.Mkdir(p.Dir+"/nested", 0o755))
	args := []string{"run", "-f", file(t, "all.yaml", outsideManifests), "--for", "5s", "-o", "table"}
	if e.serves {
		args = []string{"serve", "-f", args[2], "--speed", "100x"}
	}
	if e.spawn {
		args = append(args, "--csi-command", p.Command())
	} else {
		p.Start()
		args = append(args, "--csi-endpoint", p.Endpoint())
	}
	cmd, top := process(t, args...)
	if e.keep {
		top = filepath.Join(t.TempDir(), "kept")
		cmd.Args = append(cmd.Args, "--keep", top)
	}
	t.Cleanup(func() {
		for _, at := range mountedIn(t, top) {
			assert.NoError(t, syscall.Unmount(at, syscall.MNT_DETACH))
		}
	})
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if e.signal != 0 {
		takeUp(t, e.signal)
	}
	require.NoError(t, cmd.Start())
	if e.signal != 0 {
		require.True(t, soon.Is(t, func() bool {
			mounts := mountedIn(t, top)
			if len(mounts) != mountsOf(kind) {
				return false
			}
			kept, err := os.ReadFile(filepath.Join(mounts[0], fileIn(kind, mounts[0])))
			return err == nil && len(kept) > 0
		}))
		if e.driver {
			p.Kill()
		}
		require.NoError(t, cmd.Process.Signal(e.signal))
	}
	begun := time.Now()
	_ = cmd.Wait()
	assert.Less(t, time.Since(begun), grace, "it does not wait for a driver that hangs")
	e.check(t, kind, p.Dir, top, errOut.String())
}

// takeUp lets processes that this one starts have a signal's default action, also where this one was started with the
// signal ignored, as by nohup: an ignored signal is handed down, a handled one is not.
func takeUp(t *testing.T, s os.Signal) {
	t.Helper()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, s)
	t.Cleanup(func() { signal.Stop(signals) })
}

// mountsOf returns how many mounts a driver makes for a volume.
func mountsOf(kind string) int {
	if kind == "nested" {
		return 2
	}
	return 1
}

// fileIn returns the name of the file behind a mount of a driver.
func fileIn(kind, at string) string {
	if kind == "tmpfs" || strings.HasSuffix(at, "/nested") {
		return "kept"
	}
	return "older"
}

// check fails the test unless every file is there, and what stays is named.
func (e ending) check(t *testing.T, kind, data, top, said string) {
	t.Helper()
	kept, err := os.ReadFile(data + "/older")
	require.NoError(t, err, said)
	require.Equal(t, "kept", string(kept))
	mounts := mountedIn(t, top)
	if e.keep && kind != "tmpfs" && kind != "nested" {
		require.Empty(t, mounts, "what removes the directory later goes through mounts")
		require.DirExists(t, top+"/node-1")
		return
	}
	require.Len(t, mounts, mountsOf(kind), said)
	for _, at := range mounts {
		kept, err := os.ReadFile(filepath.Join(at, fileIn(kind, at)))
		require.NoError(t, err)
		require.Equal(t, "kept", string(kept))
	}
	if e.signal == syscall.SIGKILL {
		again, _ := process(t, "run", "-f", file(t, "one.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"))
		again.Env = append(again.Env, "TMPDIR="+top)
		out, err := again.CombinedOutput()
		require.NoError(t, err, string(out))
		said = string(out)
		require.Contains(t, said, "note: the directory "+top+"/storagesim-")
	}
	for _, at := range mounts {
		require.Contains(t, said, "umount "+at)
	}
	require.Contains(t, said, " stays: removing it would delete the files of what is mounted there")
}

// Nothing is mounted below it, so that its directory can go.
func TestADriverThatHangsAndHasMountedNothingLeavesNothing(t *testing.T) {
	p := outside.Start(t, outside.Config{Mount: "none", After: "hang"})
	for _, args := range [][]string{
		{"run", "-f", file(t, "all.yaml", outsideManifests), "--for", "1h", "--csi-endpoint", p.Endpoint()},
		{"serve", "-f", file(t, "all.yaml", outsideManifests), "--speed", "100x", "--csi-endpoint", p.Endpoint()},
	} {
		cmd, temp := process(t, args...)
		takeUp(t, syscall.SIGINT)
		var errOut bytes.Buffer
		cmd.Stderr = &errOut
		require.NoError(t, cmd.Start())
		awaitSomething(t, filepath.Join(temp, "storagesim-*", "node-1", "var", "lib", "kubelet", "pods", "*", "volumes", "*", "*", "mount"))
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		_ = cmd.Wait()
		requireEmpty(t, temp)
		require.NotContains(t, errOut.String(), "stays")
	}
}

// Its mounts outlive it.
func TestADriverThatDiesInCloseKeepsItsFiles(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		p := outside.Start(t, outside.Config{Mount: "bind"})
		require.NoError(t, os.WriteFile(p.Dir+"/kept", nil, 0o644))
		c, err := storagesim.New(storagesim.Config{})
		require.NoError(t, err)
		d, err := csi.AtEndpoint(context.Background(), p.Endpoint())
		require.NoError(t, err)
		require.NoError(t, c.InstallCSIDriver(d))
		require.NoError(t, c.Apply(outsideManifests))
		require.NoError(t, c.RunFor(time.Minute))
		require.Len(t, mount.Mounted(c.Lab().Dir()), 1)
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			p.Kill()
		}()
		err = c.Close()
		<-dead
		require.ErrorAs(t, err, new(*mount.MountedError))
		require.FileExists(t, p.Dir+"/kept")
		require.NoError(t, mount.Detach(c.Lab().Dir(), nil))
		require.NoError(t, c.Close())
	})
}

func TestRealMountsAndADriverThatIsStartedInsideLeaveNothing(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		p := outside.New(t, outside.Config{Mount: "bind"})
		require.NoError(t, os.WriteFile(p.Dir+"/older", []byte("kept"), 0o644))
		cmd, temp := process(t, "run", "-f", file(t, "all.yaml", outsideManifests), "--for", "5s", "-o", "table", "--real-mounts", "--csi-command", p.Command())
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Regexp(t, `pod/web +1/1 +Running`, string(out))
		require.FileExists(t, p.Dir+"/older")
		requireEmpty(t, temp)
	})
}

// The refusal has the whole command line, for the simulator and for its driver.
func TestRealMountsAreRefusedWithTheCommandThatCanMakeThem(t *testing.T) {
	unshared.Test(t, func(t *testing.T) {
		require.NoError(t, syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""))
		defer func() { require.NoError(t, syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")) }()
		t.Setenv("TMPDIR", t.TempDir())
		all := file(t, "all.yaml", outsideManifests)
		code, _, errOut := command(t, "", "run", "-f", all, "--nodes", "n1", "--real-mounts", "--csi-command", "a b {socket}")
		assert.Equal(t, exitError, code)
		unshare := "unshare --mount "
		if os.Geteuid() != 0 {
			unshare = "unshare --user --map-root-user --mount "
		}
		assert.Contains(t, errOut, "error: --real-mounts: node n1: Config.RealMounts: real bind mounts: mounts below ")
		assert.Contains(t, errOut, "Start the simulator and the driver in a mount namespace of their own:\n  "+unshare+
			"storagesim run '--csi-command=a b {socket}' --filename="+all+" --nodes=n1 --real-mounts=true\n")
		requireEmpty(t, os.TempDir())
		_, _, errOut = command(t, "", "serve", "--real-mounts", "--csi-endpoint", "unix:///tmp/x.sock")
		assert.Contains(t, errOut, ", where DRIVER is the command of the driver:\n  "+unshare+
			"sh -c 'DRIVER & storagesim serve --csi-endpoint=unix:///tmp/x.sock --real-mounts=true'\n")
		code, _, errOut = command(t, "", "run", "-f", all, "--real-mounts", "--nfs", "10.0.0.1:/data")
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, errOut, "--real-mounts: nodes make bind mounts only, so that there can be no --nfs")
	})
}

func TestADriverThatDoesNotStartIsToldOf(t *testing.T) {
	all := file(t, "all.yaml", outsideManifests)
	t.Setenv("TMPDIR", t.TempDir())
	for text, want := range map[string]string{
		"/not/there {socket}":                     `error: --csi-command "/not/there {socket}": fork/exec /not/there: no such file or directory`,
		"sh -c 'echo no device; exit 7' {socket}": "it ended before it made its socket",
	} {
		code, _, errOut := command(t, "", "run", "-f", all, "--csi-command", text)
		assert.Equal(t, exitError, code, text)
		assert.Contains(t, errOut, want, text)
		requireEmpty(t, os.TempDir())
	}
	_, _, errOut := command(t, "", "run", "-f", all, "--csi-command", "sh -c 'echo no device; exit 7' {socket}")
	assert.Contains(t, errOut, ": exit status 7: no device\n")
	for text, want := range map[string]string{
		"driver":           "write {socket} where the driver is told its socket",
		"'driver {socket}": "the quote ' is not closed",
	} {
		code, _, errOut := command(t, "", "run", "-f", all, "--csi-command", text)
		assert.Equal(t, exitUsage, code, text)
		assert.Contains(t, errOut, want, text)
	}
}

func TestADriverThatNeverMakesItsSocketIsGivenUp(t *testing.T) {
	o := runOptions{commands: []string{"sh -c 'echo thinking; exec sleep 60' {socket}"}, nodes: []string{"n1"}, patience: 2 * time.Second}
	drivers, _, err := o.startDrivers(context.Background())
	require.ErrorContains(t, err, "it has not made its socket "+drivers.dir.Path()+"/0.sock within 2s: thinking")
	require.NoError(t, drivers.stop())
	require.NoDirExists(t, drivers.dir.Path())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	drivers, _, err = o.startDrivers(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, drivers.stop())
}

func TestADriverThatEndsDuringTheRunIsToldOf(t *testing.T) {
	o := runOptions{commands: []string{outside.New(t, outside.Config{}).Command()}, nodes: []string{"n1"}, patience: time.Minute}
	drivers, _, err := o.startDrivers(context.Background())
	require.NoError(t, err)
	kill(drivers.list[0].cmd)
	<-drivers.list[0].ended
	require.ErrorContains(t, drivers.stop(), "the driver has ended during the run: signal: killed")
}
