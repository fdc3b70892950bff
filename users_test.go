package storagesim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/storagesimtest"
)

// aUsersPod returns a pod whose containers sleep, with these security contexts and volumes.
func aUsersPod(pod, container, volumes, mounts string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: node-1, securityContext: {%s},
  containers: [
    {name: a, image: busybox, command: [sleep, infinity], securityContext: {%s}, volumeMounts: [%s]},
    {name: b, image: busybox, command: [sleep, infinity], volumeMounts: [%s]}],
  volumes: [%s]}}`, pod, container, mounts, mounts, volumes)
}

// Upstream: pkg/kubelet/kuberuntime/security_context.go determineEffectiveSecurityContext, v1.37.2.
func TestAProgramHasTheUserAndTheGroupsOfItsPodAndContainer(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	c.Apply(aUsersPod("runAsUser: 1000, runAsGroup: 3000, fsGroup: 2000, supplementalGroups: [4000, 2000]", "runAsUser: 0, runAsGroup: 0", "", ""))
	c.Settle()
	requireExec(t, c, "uid=0(root) gid=0(root) groups=0(root),2000,4000\n", "web", "a", "id")
	requireExec(t, c, "uid=1000 gid=3000 groups=3000,2000,4000\n", "web", "b", "id")
	requireExec(t, c, "1000\n3000\n3000 2000 4000\n", "web", "b", "sh", "-c", "id -u; id -g; id -Gn")
	requireExec(t, c, "whoami: unknown uid 1000\n", "web", "b", "whoami")
	requireExec(t, c, "", "web", "b", "sh", "-c", "echo x > /tmp/f; echo bye > /dev/termination-log; echo x > /dev/null")
	requireExec(t, c, "-rw-r--r-- 1 1000 3000 2 Jan  1 00:00 /tmp/f\n", "web", "b", "ls", "-l", "/tmp/f")
	requireExec(t, c, `touch: cannot touch '/f': permission denied
mkdir: cannot create directory '/opt/x': permission denied
sh: cannot create /etc/hosts: permission denied
ls: cannot open directory '/root': permission denied
sh: cd: can't cd to /root
rmdir: failed to remove '/tmp': permission denied
chmod: cannot change permissions of '/etc': operation not permitted
chown: cannot change ownership of '/tmp/f': operation not permitted
`, "web", "b", "sh", "-c", "touch /f; mkdir /opt/x; echo >> /etc/hosts; ls /root; cd /root; mkdir -p /var/tmp/a/b; rm -r /var/tmp/a; rmdir /tmp; "+
		"chmod 777 /etc; chown 0 /tmp/f; chown :2000 /tmp/f")
}

// usersVolumes are volumes of all kinds that the kubelet makes directories for, and two of the node.
const usersVolumes = `{name: root, hostPath: {path: /srv/root}}, {name: new, hostPath: {path: /srv/new, type: DirectoryOrCreate}},
  {name: dir, emptyDir: {}}, {name: memory, emptyDir: {medium: Memory}}, {name: config, configMap: {name: config}},
  {name: secret, secret: {secretName: secret, defaultMode: 0400}}, {name: token, projected: {sources: [{serviceAccountToken: {path: token}}]}}`

const usersMounts = `{name: root, mountPath: /root/mine}, {name: root, mountPath: /v/root}, {name: new, mountPath: /v/new}, {name: dir, mountPath: /v/dir},
  {name: dir, mountPath: /v/part, subPath: part}, {name: memory, mountPath: /v/memory}, {name: config, mountPath: /v/config},
  {name: config, mountPath: /etc/app.conf, subPath: key}, {name: secret, mountPath: /v/secret}, {name: token, mountPath: /v/token}`

func TestAUserUsesAVolumeAsItsModesAndOwnersAllow(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
	node, err := c.Cluster.Machine("node/node-1").Disk()
	require.NoError(t, err)
	require.NoError(t, node.MakeDir("/srv/root", 0o755))
	require.NoError(t, node.WriteFile("/srv/root/f", []byte("of root\n"), 0o644))
	require.NoError(t, node.WriteFile("/srv/root/private", []byte("of root\n"), 0o600))
	c.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {key: value}}
---
{apiVersion: v1, kind: Secret, metadata: {name: secret}, stringData: {key: value}}`)
	script := `for v in root new dir part memory config; do touch /v/$v/x; done 2>&1
ls -ld /v/root /v/new /v/dir /v/part /v/memory /v/dir/x
cat /v/root/f /v/root/private /v/secret/key /v/token/token /etc/app.conf 2>&1
test -w /v/root/f || echo not writable; test -r /v/root/private || echo not readable; test -w /v/dir && echo writable; test -O /v/dir/x && echo mine
ls /root/mine 2>&1; echo >> /v/root/f; rm -rf /v/root/f 2>&1; mv /v/root/f /v/dir 2>&1; cp -r /v/root /v/dir/copy 2>&1; ls -l /v/dir/copy`
	c.Apply(aUsersPod("runAsUser: 1000", "", usersVolumes, usersMounts))
	c.Settle()
	requireExec(t, c, `touch: cannot touch '/v/root/x': permission denied
touch: cannot touch '/v/new/x': permission denied
touch: cannot touch '/v/config/x': read-only file system
drwxrwxrwx 1 root root 4096 Jan  1 00:00 /v/dir
-rw-r--r-- 1 1000 root 0 Jan  1 00:00 /v/dir/x
drwxrwxrwt 1 root root 4096 Jan  1 00:00 /v/memory
drwxr-xr-x 1 root root 4096 Jan  1 00:00 /v/new
drwxrwxrwx 1 root root 4096 Jan  1 00:00 /v/part
drwxr-xr-x 1 root root 4096 Jan  1 00:00 /v/root
of root
this-is-not-a-token.storagesim-signs-nonevaluecat: /v/root/private: permission denied
cat: /v/secret/key: permission denied
not writable
not readable
writable
mine
ls: cannot access '/root/mine': permission denied
rm: cannot remove '/v/root/f': permission denied
mv: cannot move '/v/root/f' to '/v/dir/f': permission denied
cp: cannot open '/v/root/private' for reading: permission denied
total 0
-rw-r--r-- 1 1000 root 8 Jan  1 00:00 f
sh: cannot create /v/root/f: permission denied
`, "web", "b", "sh", "-c", script)
	c.Delete("pod/web")
	c.Settle()
	c.Apply(aUsersPod("runAsUser: 1000, fsGroup: 2000", "runAsUser: 1001", usersVolumes, usersMounts))
	c.Settle()
	requireExec(t, c, `touch: cannot touch '/v/root/x': permission denied
touch: cannot touch '/v/new/x': permission denied
touch: cannot touch '/v/config/x': read-only file system
drwxrwsrwx 1 root 2000 4096 Jan  1 00:00 /v/dir
-rw-r--r-- 1 1000 2000 0 Jan  1 00:00 /v/dir/x
drwxrwsrwt 1 root 2000 4096 Jan  1 00:00 /v/memory
drwxr-xr-x 1 root root 4096 Jan  1 00:00 /v/new
drwxrwsrwx 1 root 2000 4096 Jan  1 00:00 /v/part
drwxr-xr-x 1 root root 4096 Jan  1 00:00 /v/root
of root
valuethis-is-not-a-token.storagesim-signs-nonevaluecat: /v/root/private: permission denied
not writable
not readable
writable
mine
ls: cannot access '/root/mine': permission denied
rm: cannot remove '/v/root/f': permission denied
mv: cannot move '/v/root/f' to '/v/dir/f': permission denied
cp: cannot open '/v/root/private' for reading: permission denied
total 0
-rw-r--r-- 1 1000 2000 8 Jan  1 00:00 f
sh: cannot create /v/root/f: permission denied
`, "web", "b", "sh", "-c", script)
}

// Upstream: pkg/kubelet/kuberuntime/security_context_others.go verifyRunAsNonRoot, v1.37.2.
func TestAContainerThatMustNotRunAsRootIsNotStartedAsRoot(t *testing.T) {
	for _, tc := range []struct{ context, image, want string }{
		{"runAsNonRoot: true, runAsUser: 0", "example.com/app", "container's runAsUser breaks non-root policy"},
		{"runAsNonRoot: true", "busybox", "container has runAsNonRoot and image will run as root"},
		{"runAsNonRoot: true", "docker.io/library/nginx:1.29", "container has runAsNonRoot and image will run as root"},
		{"runAsNonRoot: true, runAsUser: 1000", "busybox", ""},
		{"runAsNonRoot: true", "example.com/app", ""},
		{"runAsNonRoot: false, runAsUser: 0", "busybox", ""},
	} {
		c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks})
		c.Apply(fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {nodeName: node-1, securityContext: {runAsNonRoot: true},
  containers: [{name: a, image: %q, command: [sleep, infinity], securityContext: {%s}}]}}`, tc.image, tc.context))
		c.Settle()
		deviates := 0
		for range c.Trace().Deviations() {
			deviates++
		}
		if tc.want == "" {
			c.RequireRunning("web")
			require.Equal(t, tc.image == "example.com/app" && tc.context == "runAsNonRoot: true", deviates == 1, tc)
			continue
		}
		want := fmt.Sprintf("%s (pod: \"web_default(%s)\", container: a)", tc.want, c.Pod("web").UID)
		state := containerStatus(c, "web").State.Waiting
		require.NotNil(t, state)
		require.Equal(t, "CreateContainerConfigError", state.Reason)
		require.Equal(t, want, state.Message)
		said, _ := eventsOf(t, c, "web", "Failed")
		require.Equal(t, "Error: "+want, said[0])
	}
}
