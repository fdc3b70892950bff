package clienttest

import (
	stderrors "errors"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errors are tests of what is refused, and how that is said.
var errors = []test{
	{"What is not there is NotFound, and says what was asked for", func(c *client) {
		_, err := c.maps().Get(c.ctx, "none", metav1.GetOptions{})
		c.refused(err, metav1.StatusReasonNotFound, `configmaps "none" not found`)
		var status apierrors.APIStatus
		require.True(c, stderrors.As(err, &status))
		assert.EqualValues(c, 404, status.Status().Code)
		assert.Equal(c, "none", status.Status().Details.Name)
		assert.Equal(c, "configmaps", status.Status().Details.Kind)
		_, err = c.maps().Update(c.ctx, configMap("none"), metav1.UpdateOptions{})
		c.refused(err, metav1.StatusReasonNotFound)
		c.refused(c.maps().Delete(c.ctx, "none", metav1.DeleteOptions{}), metav1.StatusReasonNotFound)
	}},
	{"A name that is taken is AlreadyExists", func(c *client) {
		c.create("a")
		_, err := c.maps().Create(c.ctx, configMap("a"), metav1.CreateOptions{})
		c.refused(err, metav1.StatusReasonAlreadyExists, `configmaps "a" already exists`)
	}},
	{"An object that breaks rules is Invalid, with a cause for each field", func(c *client) {
		bad := claim("Bad_Name")
		bad.Spec.AccessModes = nil
		_, err := c.claims().Create(c.ctx, bad, metav1.CreateOptions{})
		c.refused(err, metav1.StatusReasonInvalid, "a lowercase RFC 1123 subdomain")
		var status apierrors.APIStatus
		require.True(c, stderrors.As(err, &status))
		var fields []string
		for _, cause := range status.Status().Details.Causes {
			fields = append(fields, cause.Field)
		}
		assert.Contains(c, fields, "metadata.name")
		assert.Contains(c, fields, "spec.accessModes")
	}},
	{"A new object that says its version is refused", func(c *client) {
		m := configMap("a")
		m.ResourceVersion = "1"
		_, err := c.maps().Create(c.ctx, m, metav1.CreateOptions{})
		require.ErrorContains(c, err, "resourceVersion should not be set on objects to be created")
	}},
	{"An object of another namespace is a BadRequest", func(c *client) {
		m := configMap("a")
		m.Namespace = "other"
		_, err := c.maps().Create(c.ctx, m, metav1.CreateOptions{})
		c.refused(err, metav1.StatusReasonBadRequest, "the namespace of the provided object does not match the namespace sent on the request")
	}},
	{"A namespace that is not there is NotFound for what is created, and empty for who lists", func(c *client) {
		_, err := c.CoreV1().ConfigMaps("nowhere").Create(c.ctx, configMap("a"), metav1.CreateOptions{})
		c.refused(err, metav1.StatusReasonNotFound, `namespaces "nowhere" not found`)
		list, err := c.CoreV1().ConfigMaps("nowhere").List(c.ctx, metav1.ListOptions{})
		require.NoError(c, err)
		assert.Empty(c, list.Items)
	}},
	{"A selector that cannot be parsed and a field that cannot be selected by are BadRequests", func(c *client) {
		for _, opts := range []metav1.ListOptions{{LabelSelector: "a in ("}, {FieldSelector: "metadata.name"}, {FieldSelector: "data.key=1"}} {
			_, err := c.maps().List(c.ctx, opts)
			c.refused(err, metav1.StatusReasonBadRequest)
			_, err = c.maps().Watch(c.ctx, opts)
			c.refused(err, metav1.StatusReasonBadRequest)
			c.refused(c.maps().DeleteCollection(c.ctx, metav1.DeleteOptions{}, opts), metav1.StatusReasonBadRequest)
		}
	}},
	{"A field that must not change is Invalid and says why", func(c *client) {
		made, err := c.claims().Create(c.ctx, claim("data"), metav1.CreateOptions{})
		require.NoError(c, err)
		made.Spec.StorageClassName = new("other")
		_, err = c.claims().Update(c.ctx, made, metav1.UpdateOptions{})
		c.refused(err, metav1.StatusReasonInvalid, "spec is immutable after creation")
	}},
	{"A pod is bound once", func(c *client) {
		_, err := c.CoreV1().Pods("default").Create(c.ctx, pod("web"), metav1.CreateOptions{})
		require.NoError(c, err)
		to := func(node string) error {
			return c.CoreV1().Pods("default").Bind(c.ctx, &v1.Binding{
				ObjectMeta: metav1.ObjectMeta{Name: "web"}, Target: v1.ObjectReference{Kind: "Node", Name: node},
			}, metav1.CreateOptions{})
		}
		require.NoError(c, to("n1"))
		c.refused(to("n2"), metav1.StatusReasonConflict, "already assigned to node")
	}},
}
