package museum

import (
	"fmt"
	"strings"
)

// storageClass returns a class with this volumeBindingMode.
func storageClass(name, provisioner, bindingMode string) string {
	return fmt.Sprintf(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: %s}
provisioner: %s
volumeBindingMode: %s
`, name, provisioner, bindingMode)
}

// claims returns claims of a class.
func claims(class, size string, names ...string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec:
  storageClassName: %s
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: %s}}
`, name, class, size))
	}
	return strings.Join(list, "---")
}

// volume returns a PersistentVolume. source is a line of its spec, such as "hostPath: {path: /data}".
func volume(name, class, size, source string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec:
  storageClassName: %s
  capacity: {storage: %s}
  accessModes: [ReadWriteOnce]
  %s
`, name, class, size, source)
}

// localVolume returns a PersistentVolume that is a directory of a node.
func localVolume(name, class, size, node, path string) string {
	return volume(name, class, size, fmt.Sprintf("local: {path: %s}", path)) + fmt.Sprintf(`
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%s]}]
`, node)
}

// pod returns a pod that uses claims. field is another line of its spec, or "".
func pod(name, field string, claims ...string) string {
	var volumes, mounts []string
	for _, claim := range claims {
		volumes = append(volumes, fmt.Sprintf("{name: %[1]s, persistentVolumeClaim: {claimName: %[1]s}}", claim))
		mounts = append(mounts, fmt.Sprintf("{name: %[1]s, mountPath: /%[1]s}", claim))
	}
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  %s
  terminationGracePeriodSeconds: 1
  volumes: [%s]
  containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [%s]}]
`, name, field, strings.Join(volumes, ", "), strings.Join(mounts, ", "))
}
