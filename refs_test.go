package storagesim_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/storagesimtest"
)

// named is a claim, its volume and a pod that uses it, in a namespace.
func named(namespace string) string {
	return `
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk-` + namespace + `}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /srv}, claimRef: {namespace: ` + namespace + `, name: data}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: ` + namespace + `}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: ` + namespace + `}
spec:
  containers: [{name: c, image: busybox, volumeMounts: [{name: data, mountPath: /data}]}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`
}

func TestAReferenceIsUnderstoodInEveryFormWhereverOneIsTaken(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{Disks: storagesim.MemoryDisks}).Cluster
	require.NoError(t, errors.Join(c.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: team}", named("default"), named("team")), c.Settle()))

	claim := func(ref string) error { _, err := c.Claim(ref); return err }
	pod := func(ref string) error { _, err := c.Pod(ref); return err }
	volume := func(ref string) error { _, err := c.Volume(ref); return err }
	explain := func(ref string) error { _, err := c.Explain(ref); return err }
	file := func(ref string) error { _, err := c.ListDir(ref, "/data"); return err }
	running := func(ref string) error { return c.RequireRunning(ref) }
	bound := func(ref string) error { return c.RequireBound(ref) }
	remove := func(ref string) error { return c.Delete(ref) }
	claims := []string{"data", "team/data", "pvc/data", "pvc/team/data", "persistentvolumeclaims/team/data", "PersistentVolumeClaim/data"}
	pods := []string{"web", "team/web", "pod/web", "pod/team/web", "po/web", "pods/team/web"}
	const aClaim, aPod = "does not name a PersistentVolumeClaim; expected pvc/name or pvc/namespace/name", "does not name a Pod; expected pod/name or pod/namespace/name"
	for entrance, tt := range map[string]struct {
		call    func(ref string) error
		good    []string
		refused map[string]string
	}{
		"Claim":          {claim, claims, map[string]string{"": aClaim, "pvc/": aClaim, "a/b/c": aClaim, "pvc/a/b/c": aClaim, "pod/team/data": `"pod/team/data" names a Pod, not a PersistentVolumeClaim; expected pvc/name`, "other": `"other" not found`}},
		"Pod":            {pod, pods, map[string]string{"": aPod, "/web": aPod, "pod/": aPod, "pvc/team/web": "names a PersistentVolumeClaim, not a Pod; expected pod/name or pod/namespace/name"}},
		"Volume":         {volume, []string{"disk-team", "pv/disk-team", "persistentvolume/disk-team"}, map[string]string{"": "does not name a PersistentVolume; expected pv/name", "pvc/data": `"pvc/data" names a PersistentVolumeClaim, not a PersistentVolume; expected pv/name`, "team/disk": `"team/disk" does not name a PersistentVolume, which has no namespace; expected pv/disk`}},
		"RequireBound":   {bound, claims, map[string]string{"pvc/a/b/c": aClaim}},
		"RequireRunning": {running, pods, map[string]string{"pod/": aPod}},
		"Explain":        {explain, append([]string{"pv/disk-team"}, append(claims[2:], pods[2:]...)...), map[string]string{"data": `"data" does not name an object; expected kind/name or kind/namespace/name`, "pcv/data": `the server doesn't have a resource type "pcv"`, "pod/": aPod}},
		"a place":        {file, pods[2:], map[string]string{"web": "is not a place for files", "pod/": aPod, "pvc/data": "is not a place for files"}},
		"Delete":         {remove, []string{"pod/web", "pods/team/web", "pvc/data", "persistentvolumeclaim/team/data"}, map[string]string{"data": "does not name an object", "pod/": aPod, "pv/a/b": "which has no namespace; expected pv/b"}},
	} {
		if entrance == "Delete" {
			defer func() {
				for _, ref := range tt.good {
					require.NoError(t, tt.call(ref), ref)
				}
			}()
		} else {
			for _, ref := range tt.good {
				require.NoError(t, tt.call(ref), "%s %s", entrance, ref)
			}
		}
		for ref, says := range tt.refused {
			require.ErrorContains(t, tt.call(ref), says, "%s %s", entrance, ref)
		}
	}
}

func TestAFaultStrikesTheObjectThatItNames(t *testing.T) {
	down := errors.New("down")
	config := storagesim.Config{Disks: storagesim.MemoryDisks, NoNodes: true}
	for _, f := range []engine.Fault{
		{Resource: "pvc", Name: "team/data"}, {Name: "pvc/team/data"}, {Resource: "persistentvolumeclaims", Name: "pvc/team/data"},
		{Resource: "persistentvolumeclaims", Namespace: "team", Name: "data"},
	} {
		c := storagesimtest.New(t, config)
		f.Actor, f.Verb, f.Err, f.Times = storagesim.PVController, "update", down, -1
		c.Inject(f)
		c.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: team}", named("default"), named("team"))
		c.Settle()
		require.NotEmpty(t, c.Claim("default/data").Spec.VolumeName)
		require.Empty(t, c.Claim("team/data").Spec.VolumeName)
	}
	c := storagesimtest.New(t, config).Cluster
	require.EqualError(t, c.Inject(engine.Fault{Name: "pvc/a/b/c", Err: down}), `fault: "pvc/a/b/c" does not name a PersistentVolumeClaim; expected pvc/name or pvc/namespace/name`)
	require.ErrorContains(t, c.Inject(engine.Fault{Name: "pcv/a", Err: down}), `fault: the server doesn't have a resource type "pcv"`)
	require.ErrorContains(t, c.Inject(engine.Fault{Resource: "pv", Name: "pvc/a", Err: down}), `names a PersistentVolumeClaim, not a PersistentVolume`)
}
