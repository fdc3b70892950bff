package clienttest

import (
	"fmt"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lists are tests of selections and pages.
var lists = []test{
	{"A list is selected by labels and by fields", func(c *client) {
		c.create("a", "app", "x", "tier", "front")
		c.create("b", "app", "x")
		c.create("c", "app", "y")
		for want, opts := range map[string]metav1.ListOptions{
			"[a b c]": {}, "[a b]": {LabelSelector: "app=x"}, "[c]": {LabelSelector: "app, app notin (x)"}, "[a]": {LabelSelector: "app in (x, y), tier"},
			"[b c]": {LabelSelector: "!tier"}, "[b]": {FieldSelector: "metadata.name=b"}, "[a c]": {FieldSelector: "metadata.name!=b,metadata.namespace=default"},
			"[]": {FieldSelector: "metadata.name=a,metadata.name=b"},
		} {
			assert.Equal(c, want, fmt.Sprint(c.names(opts)), "%+v", opts)
		}
	}},
	{"A list of all namespaces has the objects of each, and a list has a version", func(c *client) {
		c.create("a", "app", "x")
		m := configMap("b")
		m.Labels["app"] = "x"
		_, err := c.CoreV1().ConfigMaps("kube-system").Create(c.ctx, m, metav1.CreateOptions{})
		require.NoError(c, err)
		list, err := c.CoreV1().ConfigMaps(metav1.NamespaceAll).List(c.ctx, metav1.ListOptions{LabelSelector: "app=x"})
		require.NoError(c, err)
		assert.Equal(c, []string{"a", "b"}, namesOf(list.Items))
		assert.NotEmpty(c, list.ResourceVersion)
	}},
	{"A long list comes in pages of one version, whatever is written meanwhile", func(c *client) {
		for i := range 7 {
			c.create(fmt.Sprintf("m-%d", i), "app", "x")
		}
		opts := metav1.ListOptions{LabelSelector: "app=x", Limit: 3}
		var seen, versions []string
		for {
			page, err := c.maps().List(c.ctx, opts)
			require.NoError(c, err)
			require.LessOrEqual(c, len(page.Items), 3)
			seen, versions = append(seen, namesOf(page.Items)...), append(versions, page.ResourceVersion)
			if opts.Continue = page.Continue; opts.Continue == "" {
				break
			}
			c.create(fmt.Sprintf("m-0%d", len(seen)), "app", "x") // behind what has been shown
			require.NoError(c, c.maps().Delete(c.ctx, seen[0], metav1.DeleteOptions{}))
			require.NoError(c, recreate(c, seen[0]))
		}
		assert.Equal(c, []string{"m-0", "m-1", "m-2", "m-3", "m-4", "m-5", "m-6"}, seen)
		assert.Len(c, versions, 3)
		for _, v := range versions {
			assert.Equal(c, versions[0], v)
		}
	}},
	{"A page says how many objects are left, if no selector is given", func(c *client) {
		for i := range 5 {
			c.create(fmt.Sprintf("m-%d", i))
		}
		all, err := c.maps().List(c.ctx, metav1.ListOptions{})
		require.NoError(c, err)
		page, err := c.maps().List(c.ctx, metav1.ListOptions{Limit: 2})
		require.NoError(c, err)
		require.NotNil(c, page.RemainingItemCount)
		assert.EqualValues(c, len(all.Items)-2, *page.RemainingItemCount)
	}},
	{"A token that no page gave is a BadRequest", func(c *client) {
		_, err := c.maps().List(c.ctx, metav1.ListOptions{Limit: 1, Continue: "no token"})
		c.refused(err, metav1.StatusReasonBadRequest, "continue key is not valid")
	}},
	{"A list may be as of any version, but not of one to come", func(c *client) {
		made := c.create("a")
		for _, opts := range []metav1.ListOptions{
			{ResourceVersion: "0"}, {ResourceVersion: made.ResourceVersion},
			{ResourceVersion: made.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		} {
			assert.Equal(c, []string{"a"}, c.names(opts))
		}
		_, err := c.maps().List(c.ctx, metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchExact})
		c.refused(err, metav1.StatusReasonInvalid, "resourceVersionMatch")
		_, err = c.maps().List(c.ctx, metav1.ListOptions{ResourceVersion: "not a version"})
		require.Error(c, err)
	}},
}

func recreate(c *client, name string) error {
	m := configMap(name)
	m.Labels["app"] = "x"
	_, err := c.maps().Create(c.ctx, m, metav1.CreateOptions{})
	return err
}
