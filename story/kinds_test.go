package story_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/story"
)

// namesOf returns all names that a kind has.
func namesOf(kind metav1.APIResource) []string {
	names := []string{kind.Name, kind.SingularName, kind.Kind, strings.ToUpper(kind.Name)}
	if kind.Group != "" {
		names = append(names, kind.Name+"."+kind.Group)
	}
	return slices.Concat(names, kind.ShortNames)
}

// explained are the kinds that can be explained.
var explained = []string{
	"Namespace",
	"PersistentVolumeClaim", "PersistentVolume", "Pod", "StorageClass", "Node", "VolumeAttachment", "StatefulSet", "Deployment", "ReplicaSet",
	"ReplicationController", "DaemonSet",
	"Job", "CronJob",
}

func TestEveryKindHasTheSameNamesAtEveryEntranceOfTheLibrary(t *testing.T) {
	c := unstarted(t)
	for _, kind := range c.Engine().Server().Registry().Preferred() {
		group := schema.GroupResource{Group: kind.Group, Resource: kind.Name}
		for _, name := range namesOf(kind) {
			if found, err := c.Engine().Server().Registry().Find(name); err == nil && found.Group != kind.Group {
				continue // a kind that has moved: its name means it in its new group
			}
			_, err := c.Get(name)
			require.NoError(t, err, "get %s", name)
			require.EqualError(t, errOf(c.Get(name+"/none", "-o", "yaml")), apierrors.NewNotFound(group, "none").Error())
			require.EqualError(t, c.Delete(name+"/none"), "delete "+name+"/none: "+apierrors.NewNotFound(group, "none").Error())
			_, err = c.Explain(name + "/none")
			if slices.Contains(explained, kind.Kind) {
				require.ErrorContains(t, err, "not found", name)
			} else {
				require.ErrorContains(t, err, "explain "+name+"/none: ", name)
			}
			require.NoError(t, c.Inject(engine.Fault{Actor: storagesim.Scheduler, Resource: name, Crash: true}))
		}
	}
}

func TestEveryKindHasTheSameNamesInAStory(t *testing.T) {
	var script strings.Builder
	c := unstarted(t)
	for _, kind := range c.Engine().Server().Registry().Preferred() {
		for _, name := range namesOf(kind) {
			for _, command := range []string{"get " + name, "describe " + name, "delete " + name + "/none", "explain " + name + "/none"} {
				script.WriteString(command + "\n----\n\n")
			}
		}
	}
	got, err := story.Run("names.txt", script.String())
	require.NoError(t, err)
	require.NotContains(t, got, "resource type")
}

func TestAManifestMayHaveAnyKind(t *testing.T) {
	c := unstarted(t)
	for _, kind := range c.Engine().Server().Registry().Preferred() {
		gv := schema.GroupVersion{Group: kind.Group, Version: kind.Version}
		err := c.Apply("apiVersion: " + gv.String() + "\nkind: " + kind.Kind + "\nmetadata: {name: a}\n")
		if err != nil { // it is read, and the server finds what it lacks
			require.Contains(t, err.Error(), "manifest:1: "+kind.Kind+"/a: ")
		}
	}
}

func TestAKindThatThereIsNotIsRefusedWithWhatThereIs(t *testing.T) {
	c := unstarted(t)
	const wanted = "; expected a kind, for example storageclass, or a short name: cj, cm, "
	require.ErrorContains(t, errOf(c.Get("nosuch")), `the server doesn't have a resource type "nosuch"`+wanted)
	require.ErrorContains(t, c.Delete("xyzzy/a"), `delete xyzzy/a: the server doesn't have a resource type "xyzzy"`+wanted)
	require.ErrorContains(t, errOf(c.Explain("volume/a")), `the server doesn't have a resource type "volume" (did you mean `)
	require.ErrorContains(t, c.Apply("apiVersion: v1\nkind: Poud\nmetadata: {name: a}"), `unknown kind "Poud" (did you mean "Pod"?)`)
}

// A story and the command apply the other objects, as kubectl does; a test had better not go on.
func TestApplyOfAClusterIsAllOrNothing(t *testing.T) {
	c := unstarted(t)
	err := c.Apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: storage.k8s.io/v1beta1\nkind: StorageClass\nmetadata: {name: b}\n" +
		"provisioner: c/d\n")
	require.EqualError(t, err,
		`manifest:5: StorageClass/b: apiVersion: no matches for kind "StorageClass" in version "storage.k8s.io/v1beta1"; expected storage.k8s.io/v1`)
	_, err = c.Client().CoreV1().ConfigMaps("default").Get(t.Context(), "a", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

func errOf(_ string, err error) error { return err }

func unstarted(t *testing.T) *storagesim.Cluster {
	t.Helper()
	c, err := storagesim.New(storagesim.Config{Disks: storagesim.MemoryDisks})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}
