package runtime_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kubernetes' own tests of volumes are pods of the image agnhost, whose program gets the arguments.
func TestAgnhostShowsVolumesAndOnlyThoseInMemoryAreOfTypeTmpfs(t *testing.T) {
	c := memory(t)
	c.Apply(`
apiVersion: v1
kind: ConfigMap
metadata: {name: words}
data: {word: hello}
---
apiVersion: v1
kind: Secret
metadata: {name: words}
stringData: {word: hush}
---
apiVersion: v1
kind: Pod
metadata: {name: test}
spec:
  restartPolicy: Never
  containers:
  - name: c
    image: registry.k8s.io/e2e-test-images/agnhost:2.59
    args: [mounttest, --fs_type=/mem, --new_file_0644=/mem/f, --file_mode=/words/word]
    volumeMounts: [{name: mem, mountPath: /mem}, {name: words, mountPath: /words}]
  - name: waits
    image: registry.k8s.io/e2e-test-images/agnhost:2.59
    command: [sh, -c, "mount | grep ' on /v'"]
    volumeMounts:
    - {name: mem, mountPath: /v/mem}
    - {name: disk, mountPath: /v/disk}
    - {name: words, mountPath: /v/words}
    - {name: secret, mountPath: /v/secret}
    - {name: all, mountPath: /v/all}
    - {name: down, mountPath: /v/down}
  volumes:
  - {name: mem, emptyDir: {medium: Memory}}
  - {name: disk, emptyDir: {}}
  - {name: words, configMap: {name: words, defaultMode: 0440}}
  - {name: secret, secret: {secretName: words}}
  - {name: all, projected: {sources: [{secret: {name: words}}]}}
  - {name: down, downwardAPI: {items: [{path: name, fieldRef: {fieldPath: metadata.name}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: serves}
spec:
  containers: [{name: c, image: registry.k8s.io/e2e-test-images/agnhost:2.59, args: [netexec]}]
`)
	c.Settle()
	pod, err := c.Client().CoreV1().Pods("default").Get(t.Context(), "test", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, v1.PodSucceeded, pod.Status.Phase)
	log, err := c.Cluster.Machine("pod/test").Logs("c", false)
	require.NoError(t, err)
	require.Equal(t, `mount type of "/mem": tmpfs
content of file "/mem/f": mount-tester new file

mode of file "/words/word": -r--r-----
`, log)
	log, err = c.Cluster.Machine("pod/test").Logs("waits", false)
	require.NoError(t, err)
	require.Equal(t, `tmpfs on /v/mem type tmpfs (rw,relatime)
/dev/disk on /v/disk type ext4 (rw,relatime)
/dev/disk on /v/words type ext4 (ro,relatime)
tmpfs on /v/secret type tmpfs (ro,relatime)
tmpfs on /v/all type tmpfs (ro,relatime)
tmpfs on /v/down type tmpfs (ro,relatime)
`, log)
	pod, err = c.Client().CoreV1().Pods("default").Get(t.Context(), "serves", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, v1.PodRunning, pod.Status.Phase)
}
