package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim/internal/rigs/volumetest"
	"github.com/storagesim/storagesim/kubelet/local"
	"github.com/storagesim/storagesim/machine/disk"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/volume"
)

// Groups as they are printed. The first stands for the group of the user who runs this, who may
// give files to no other.
const (
	first  = 1000
	second = 2000
)

// node is one node's directory with the plugin on it. After the first error nothing
// is done any more.
type node struct {
	out    io.Writer
	dir    string
	host   *volumetest.Host
	mounts *narrator
	plugin volume.VolumePlugin
	gid    int // really
	err    error
}

func newNode(out io.Writer) (*node, error) {
	dir, err := os.MkdirTemp("", "setupat-")
	if err != nil {
		return nil, err
	}
	n := &node{out: out, dir: dir, plugin: local.NewPlugin()}
	files, err := disk.Open(dir)
	n.try(err)
	n.host = &volumetest.Host{FS: files}
	if n.err == nil {
		mounter, err := mount.NewTempDir(mount.Config{Dir: files})
		n.try(err)
		n.mounts = &narrator{Interface: mounter, out: out}
		n.host.Mounter = n.mounts
		n.try(files.MakeDir(volumePath, 0o755))
		n.try(n.plugin.Init(n.host))
	}
	if n.err == nil {
		info, err := files.Stat(volumePath)
		n.try(err)
		_, n.gid, _ = disk.Owner(info)
	}
	return n, n.err
}

func (n *node) close() error { return errors.Join(n.host.FS.Close(), mount.RemoveAll(n.dir)) }

func (n *node) try(err error) {
	if n.err == nil {
		n.err = err
	}
}

func (n *node) printf(format string, args ...any) {
	if n.err == nil {
		fmt.Fprintf(n.out, format, args...)
	}
}

func (n *node) title(text string) { n.printf("\n# %s\n\n", text) }

func (n *node) spec(path string) *volume.Spec {
	pv := &v1.PersistentVolume{Spec: v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{
		Local: &v1.LocalVolumeSource{Path: path},
	}}}
	pv.Name = "pv-local"
	return volume.NewSpecFromPersistentVolume(pv, false)
}

func (n *node) podDir(uid string) string {
	return n.host.GetPodVolumeDir(types.UID(uid), volume.EscapeQualifiedName(local.PluginName), "pv-local")
}

// fsGroup returns the group that is printed as shown.
func (n *node) fsGroup(shown int) *volume.MounterArgs {
	group := int64(n.gid + shown - first)
	return &volume.MounterArgs{FsGroup: &group}
}

// newMounter makes a mounter that cannot be.
func (n *node) newMounter(path string) {
	_, err := n.plugin.NewMounter(n.spec(path), &v1.Pod{})
	n.printf("NewMounter of path %s returns: %v\n", path, err)
}

// setUp sets the volume up for a pod and prints what happens.
func (n *node) setUp(uid string, spec *volume.Spec, args *volume.MounterArgs) {
	pod := &v1.Pod{}
	pod.Name, pod.UID = uid, types.UID(uid)
	with := ""
	if args == nil {
		args = &volume.MounterArgs{}
	} else {
		with = fmt.Sprintf(", fsGroup %d", int(*args.FsGroup)-n.gid+first)
	}
	mounter, err := n.plugin.NewMounter(spec, pod)
	n.try(err)
	if n.err != nil {
		return
	}
	n.printf("SetUpAt for pod %s%s\n", uid, with)
	err = mounter.SetUp(context.Background(), *args)
	n.said()
	n.printf("  returns %v\n", err)
}

func (n *node) tearDown(uid string) {
	unmounter, err := n.plugin.NewUnmounter("pv-local", types.UID(uid))
	n.try(err)
	if n.err != nil {
		return
	}
	n.printf("TearDown for pod %s\n", uid)
	err = unmounter.TearDown(context.Background())
	n.said()
	n.printf("  returns %v\n", err)
}

// said prints events and notes, with the groups as they are printed.
func (n *node) said() {
	var pairs []string
	for _, shown := range []int{first, second} {
		for _, text := range []string{"fsGroup is %d,", "GID %d."} {
			pairs = append(pairs, fmt.Sprintf(text, n.gid+shown-first), fmt.Sprintf(text, shown))
		}
	}
	printed := strings.NewReplacer(pairs...)
	for _, text := range slices.Concat(n.host.Events, n.host.Notes) {
		n.printf("  says %s\n", printed.Replace(text))
	}
	n.host.Events, n.host.Notes = nil, nil
}

func (n *node) write(name, text string) {
	n.try(n.host.FS.MkdirAll(path.Dir(name), 0o755))
	n.try(n.host.FS.WriteFile(name, []byte(text), 0o644))
	n.try(n.host.FS.Chmod(name, 0o644))
}

func (n *node) chmod(name string, mode fs.FileMode) {
	n.printf("$ chmod %04o %s\n", mode, name)
	n.try(n.host.FS.Chmod(name, mode))
}

func (n *node) ls(dir string) {
	n.printf("$ ls -A %s\n", dir)
	names, err := n.host.FS.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		n.printf("ls: cannot access '%s': No such file or directory\n", dir)
		return
	}
	n.try(err)
	for _, name := range names {
		n.printf("%s\n", name)
	}
}

// stat prints modes as ls -l does.
func (n *node) stat(files ...string) {
	n.printf("$ stat -c '%%A %%n' %s\n", strings.Join(files, " "))
	for _, name := range files {
		info, err := n.host.FS.Stat(name)
		n.try(err)
		if n.err == nil {
			n.printf("%s %s\n", lsMode(info.Mode()), name)
		}
	}
}

// lsMode returns a directory's or file's mode as ls prints it.
func lsMode(mode fs.FileMode) string {
	text := []byte("-" + mode.Perm().String()[1:])
	if mode.IsDir() {
		text[0] = 'd'
	}
	if mode&fs.ModeSetgid != 0 {
		text[6] = 's'
	}
	return string(text)
}
