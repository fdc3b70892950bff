package shell_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/machine/shell"
)

// A link of the root file system leads where it leads on a cluster: into a volume, or to a device.
func TestALinkOfTheRootFileSystemLeadsIntoAVolume(t *testing.T) {
	for script, want := range map[string]string{
		"echo x > /data/x; ln -s /data/x /etc/x; cat /etc/x; echo y >> /etc/x; cat /data/x":                                    "x\nx\ny\n",
		"ln -s /data /var/lib/db; echo x > /var/lib/db/f; mkdir -p /var/lib/db/a/b; ls /data; cd /var/lib/db/a; pwd; cat ../f": "a\nf\n/var/lib/db/a\nx\n",
		"cd /opt; ln -s ../data here; touch here/f; ls /data; readlink -f here/f; test -L here && test -d here && echo both":   "f\n/data/f\nboth\n",
		"ln -s /data/later /etc/later; cat /etc/later || echo dangling; echo x > /etc/later; cat /data/later": "cat: /etc/later: " +
			"no such file or directory\ndangling\nx\n",
		"ln -s /data /a; ln -s /a/f /b; echo x > /b; cat /data/f; readlink /b": "x\na/f\n",
		"touch /data/f; ln -s /data/f /etc/f; rm /etc/f; ls /data /etc/f": "/data:\nf\nls: cannot access " +
			"'/etc/f': no such file or directory\n",
		"touch /data/f; ln -s /data /etc/d; rm -rf /etc/d; ls /data; ln -s /data /etc/d; rm -rf /etc; ls /data": "f\nrm: cannot remove '/etc': " +
			"device or resource busy\nf\n",
		"touch /data/f; ln -s /data /etc/d; rm -rf /etc/d/*; ls /data; rmdir /etc/d || echo no": "rmdir: failed to remove '/etc/d': " +
			"not a directory\nno\n",
		"touch /data/f; ln -s /data /etc/d; mv /etc/d /opt/e; ls /opt/e; ls /etc/d": "f\nls: cannot access '/etc/d': " +
			"no such file or directory\n",
		"touch /data/f; ln -s /data /etc/d; mv /etc/d/f /etc/d/g; ls /data; mv /etc/d/g /tmp; ls /data /tmp":                "g\n/data:\n\n/tmp:\ng\n",
		"echo x > /tmp/f; ln -s /data /etc/d; cp /tmp/f /etc/d; cat /data/f; ln -sf /data/f /tmp/f; cat /tmp/f":             "x\nx\n",
		"ln -s /dev/stdout /var/log/access.log; echo hello > /var/log/access.log; ln -sf /dev/null /tmp/n; echo x > /tmp/n": "hello\n",
		"ln -s /b /a; ln -s /a /b; ln -s /data /c; cat /a || echo loop": "cat: /a: too many levels of " +
			"symbolic links\nloop\n",
		"ln -s /script /etc/ro; touch /etc/ro/new || echo refused": "touch: cannot touch " +
			"'/etc/ro/new': read-only file system\nrefused\n",
		"ln -s /data /etc/d; touch /data/a.txt /data/b.txt; echo /etc/d/*; ls /etc/d/": "/etc/d/a.txt /etc/d/b.txt\n" +
			"a.txt\nb.txt\n",
		"ln -s /tmp/x /data/l || echo refused; ln -s /etc/hosts /data/l || echo refused; ls /data": "ln: failed to create symbolic link '/data/l': " +
			"it would lead out of its volume, which this simulation does not follow\nrefused\n" +
			"ln: failed to create symbolic link '/data/l': it would lead out of its volume, which this simulation does not follow\nrefused\n",
	} {
		b := newBox(t)
		p := b.run("sh", "-c", script)
		assert.Equal(t, want, p.Log(), script)
		left, err := b.node.List("/")
		require.NoError(t, err)
		require.Equal(t, []string{"disk/", "scripts/"}, left, "the node has nothing else of it: %s", script)
	}
}

// A command that changes a file through a link is told with the path to which the link leads.
func TestTheTraceNamesTheVolumesFileAndNotTheLink(t *testing.T) {
	b := newBox(t)
	root := b.newRoot()
	p := shell.New(b.rootConfig(root, "sh", "-c", "ln -s /data /etc/d; mkdir /etc/d/new"))
	_, ended := p.Run(b.host)
	require.True(t, ended)
	paths := []string{}
	for _, r := range p.Reports() {
		paths = append(paths, r.Paths...)
	}
	require.Equal(t, []string{"/disk/new"}, paths)
}
