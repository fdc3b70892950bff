package clienttest

import (
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applyv1 "k8s.io/client-go/applyconfigurations/core/v1"
)

func (c *client) patch(kind types.PatchType, patch string) (*v1.ConfigMap, error) {
	return c.maps().Patch(c.ctx, "a", kind, []byte(patch), metav1.PatchOptions{})
}

func (c *client) apply(manager string, force bool, data map[string]string) (*v1.ConfigMap, error) {
	return c.maps().Apply(c.ctx, applyv1.ConfigMap("a", "default").WithData(data), metav1.ApplyOptions{FieldManager: manager, Force: force})
}

// patches are tests of the four kinds of patches.
var patches = []test{
	{"A JSON patch, a merge patch and a strategic one change what they name", func(c *client) {
		c.create("a", "app", "x")
		for kind, patch := range map[types.PatchType]string{
			types.JSONPatchType:           `[{"op":"add","path":"/metadata/labels/json","value":"1"}]`,
			types.MergePatchType:          `{"metadata":{"labels":{"merge":"1"}}}`,
			types.StrategicMergePatchType: `{"metadata":{"labels":{"strategic":"1"}}}`,
		} {
			_, err := c.patch(kind, patch)
			require.NoError(c, err, kind)
		}
		assert.Equal(c, map[string]string{"app": "x", "json": "1", "merge": "1", "strategic": "1"}, c.get("a").Labels)
	}},
	{"A strategic patch merges lists by their keys, a merge patch replaces them", func(c *client) {
		p := pod("web")
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: "d", Image: "busybox"})
		_, err := c.CoreV1().Pods("default").Create(c.ctx, p, metav1.CreateOptions{})
		require.NoError(c, err)
		strategic, err := c.CoreV1().Pods("default").Patch(c.ctx, "web", types.StrategicMergePatchType,
			[]byte(`{"spec":{"containers":[{"name":"d","image":"busybox:2"}]}}`), metav1.PatchOptions{})
		require.NoError(c, err)
		require.Len(c, strategic.Spec.Containers, 2)
		assert.Equal(c, "busybox:2", strategic.Spec.Containers[1].Image)
		_, err = c.CoreV1().Pods("default").Patch(c.ctx, "web", types.MergePatchType,
			[]byte(`{"spec":{"containers":[{"name":"d","image":"busybox:2"}]}}`), metav1.PatchOptions{})
		c.refused(err, metav1.StatusReasonInvalid, "pod updates may not add or remove containers")
	}},
	{"A version in a patch is a precondition", func(c *client) {
		made := c.create("a")
		_, err := c.patch(types.MergePatchType, `{"metadata":{"resourceVersion":"1"},"data":{"a":"b"}}`)
		c.refused(err, metav1.StatusReasonConflict)
		_, err = c.patch(types.MergePatchType, `{"metadata":{"resourceVersion":"`+made.ResourceVersion+`"},"data":{"a":"b"}}`)
		require.NoError(c, err)
	}},
	{"A patch that cannot be read or applied is refused", func(c *client) {
		c.create("a")
		_, err := c.patch(types.MergePatchType, `{"metadata":`)
		c.refused(err, metav1.StatusReasonBadRequest)
		_, err = c.patch(types.JSONPatchType, `[{"op":"remove","path":"/data/none"}]`)
		c.refused(err, metav1.StatusReasonInvalid)
		_, err = c.patch(types.JSONPatchType, `[{"op":"test","path":"/metadata/name","value":"b"}]`)
		c.refused(err, metav1.StatusReasonInvalid)
		_, err = c.patch("application/guess", `{}`)
		c.refused(err, metav1.StatusReasonUnsupportedMediaType)
		_, err = c.maps().Patch(c.ctx, "none", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
		c.refused(err, metav1.StatusReasonNotFound)
	}},
	{"A dry run of a patch stores nothing", func(c *client) {
		before := c.create("a")
		answer, err := c.maps().Patch(c.ctx, "a", types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		require.NoError(c, err)
		assert.Equal(c, "b", answer.Data["a"])
		assert.Equal(c, before, c.get("a"))
	}},
	{"An apply creates, sets its fields and removes those that it no longer names", func(c *client) {
		made, err := c.apply("me", false, map[string]string{"a": "1", "b": "1"})
		require.NoError(c, err)
		require.Len(c, made.ManagedFields, 1)
		assert.Equal(c, "me", made.ManagedFields[0].Manager)
		assert.Equal(c, metav1.ManagedFieldsOperationApply, made.ManagedFields[0].Operation)
		changed, err := c.apply("me", false, map[string]string{"a": "2"})
		require.NoError(c, err)
		assert.Equal(c, map[string]string{"a": "2"}, changed.Data)
	}},
	{"Another manager's field is a conflict unless it is forced", func(c *client) {
		_, err := c.apply("me", false, map[string]string{"a": "1"})
		require.NoError(c, err)
		_, err = c.apply("you", false, map[string]string{"a": "2"})
		c.refused(err, metav1.StatusReasonConflict, `conflict with "me": .data.a`)
		taken, err := c.apply("you", true, map[string]string{"a": "2"})
		require.NoError(c, err)
		assert.Equal(c, "2", taken.Data["a"])
		_, err = c.apply("me", false, map[string]string{"a": "2"}) // both may set the same value
		require.NoError(c, err)
	}},
	{"An update by another manager takes the fields that it changes", func(c *client) {
		made, err := c.apply("me", false, map[string]string{"a": "1", "b": "1"})
		require.NoError(c, err)
		made.Data["a"] = "2"
		_, err = c.maps().Update(c.ctx, made, metav1.UpdateOptions{FieldManager: "you"})
		require.NoError(c, err)
		_, err = c.apply("me", false, map[string]string{"a": "1", "b": "1"})
		c.refused(err, metav1.StatusReasonConflict, `conflict with "you"`, ".data.a")
	}},
	{"An apply without a manager is refused", func(c *client) {
		_, err := c.maps().Apply(c.ctx, applyv1.ConfigMap("a", "default"), metav1.ApplyOptions{})
		require.ErrorContains(c, err, "fieldManager")
	}},
}
