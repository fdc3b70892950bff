package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/volume"
)

// narrator is a mounter that prints what it is asked, and fails when told to.
type narrator struct {
	mount.Interface
	out io.Writer
	// mountErr and unmountErr are the answers if not nil; halfWay mounts before it
	// says that it failed.
	mountErr, unmountErr error
	halfWay              bool
}

func (m *narrator) say(format string, args ...any) {
	fmt.Fprintf(m.out, "  "+format+"\n", args...)
}

func (m *narrator) IsMountPoint(file string) (bool, error) {
	mounted, err := m.Interface.IsMountPoint(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m.say("is %s a mount point? it does not exist", file)
	case err != nil:
		m.say("is %s a mount point? %v", file, err)
	default:
		m.say("is %s a mount point? %t", file, mounted)
	}
	return mounted, err
}

func (m *narrator) GetMountRefs(pathname string) ([]string, error) {
	refs, err := m.Interface.GetMountRefs(pathname)
	answer := strings.Join(refs, ", ")
	if answer == "" {
		answer = "nowhere"
	}
	m.say("where is %s mounted? %s", pathname, answer)
	return refs, err
}

func (m *narrator) MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitive []string) error {
	m.say("mount -o %s %s %s", strings.Join(options, ","), source, target)
	if m.mountErr != nil && !m.halfWay {
		return m.mountErr
	}
	if err := m.Interface.MountSensitiveWithoutSystemd(source, target, fstype, options, sensitive); err != nil {
		return err
	}
	return m.mountErr
}

func (m *narrator) Unmount(target string) error {
	m.say("umount %s", target)
	if m.unmountErr != nil {
		return m.unmountErr
	}
	return m.Interface.Unmount(target)
}

// describe prints what the plugin says of a volume.
func (n *node) describe() {
	name, err := n.plugin.GetVolumeName(n.spec(volumePath))
	n.try(err)
	n.printf("GetVolumeName: %s\n", name)
	n.printf("GetPath: %s\n", n.podDir("a"))
	rebuilt, err := n.plugin.ConstructVolumeSpec("pv-local", n.podDir("a"))
	n.try(err)
	if n.err == nil {
		n.printf("ConstructVolumeSpec: %s, path %q\n", rebuilt.Spec, rebuilt.Spec.PersistentVolume.Spec.Local.Path)
	}
	block, ok := n.plugin.(volume.BlockVolumePlugin)
	if !ok {
		n.try(errors.New("the plugin has no block volumes"))
		return
	}
	pod := &v1.Pod{}
	pod.UID = "a"
	mapper, err := block.NewBlockVolumeMapper(n.spec("/dev/sdb"), pod)
	n.try(err)
	if n.err != nil {
		return
	}
	global, err := mapper.GetGlobalMapPath(nil)
	n.try(err)
	dir, link := mapper.GetPodDeviceMapPath()
	n.printf("volumeMode Block, for the node: %s\n", global)
	n.printf("volumeMode Block, for the pod: %s/%s\n", dir, link)
}
