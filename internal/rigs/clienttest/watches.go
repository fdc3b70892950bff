package clienttest

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// watches are tests of watches.
var watches = []test{
	{"A watch from a list's version sees each later change once and in order", func(c *client) {
		c.create("before")
		list, err := c.maps().List(c.ctx, metav1.ListOptions{})
		require.NoError(c, err)
		w := c.watch(metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		for i := range 5 {
			c.create(fmt.Sprintf("m-%d", i))
		}
		_, err = c.maps().Patch(c.ctx, "before", types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
		require.NoError(c, err)
		require.NoError(c, c.maps().Delete(c.ctx, "m-0", metav1.DeleteOptions{}))
		for i := range 5 {
			c.sees(w, watch.Added, fmt.Sprintf("m-%d", i))
		}
		assert.Equal(c, "b", c.sees(w, watch.Modified, "before").Data["a"])
		gone := c.sees(w, watch.Deleted, "m-0")
		assert.NotEqual(c, list.ResourceVersion, gone.ResourceVersion)
	}},
	{"A watch without a version begins with what there is", func(c *client) {
		c.create("a", "app", "x")
		w := c.watch(metav1.ListOptions{LabelSelector: "app=x"})
		c.sees(w, watch.Added, "a")
		c.create("b", "app", "x")
		c.sees(w, watch.Added, "b")
	}},
	{"An object that leaves a selection is deleted for who watches it, and added when it enters", func(c *client) {
		made := c.create("a", "app", "x")
		w := c.watch(metav1.ListOptions{LabelSelector: "app=x", ResourceVersion: made.ResourceVersion})
		label := func(value string) {
			_, err := c.maps().Patch(c.ctx, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"`+value+`"}}}`), metav1.PatchOptions{})
			require.NoError(c, err)
		}
		label("y")
		c.sees(w, watch.Deleted, "a")
		label("z")
		label("x")
		c.sees(w, watch.Added, "a")
	}},
	{"A watch may ask for the present objects first, and for a bookmark after them", func(c *client) {
		c.create("a", "app", "x")
		w := c.watch(metav1.ListOptions{
			LabelSelector: "app=x", SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		c.sees(w, watch.Added, "a")
		mark := c.sees(w, watch.Bookmark, "")
		assert.Equal(c, "true", mark.Annotations[metav1.InitialEventsAnnotationKey])
		assert.NotEmpty(c, mark.ResourceVersion)
		c.create("b", "app", "x")
		c.sees(w, watch.Added, "b")
	}},
	{"Initial events without their match are Invalid", func(c *client) {
		_, err := c.maps().Watch(c.ctx, metav1.ListOptions{SendInitialEvents: new(true)})
		c.refused(err, metav1.StatusReasonInvalid, "resourceVersionMatch")
	}},
	{"A watch ends with its context", func(c *client) {
		ctx, cancel := context.WithCancel(c.ctx)
		w, err := c.maps().Watch(ctx, metav1.ListOptions{})
		require.NoError(c, err)
		c.Cleanup(w.Stop)
		cancel()
		c.ends(w)
	}},
	{"A watch ends when it is stopped", func(c *client) {
		w := c.watch(metav1.ListOptions{})
		w.Stop()
		c.ends(w)
	}},
	{"A watch of one object sees it alone", func(c *client) {
		made := c.create("a")
		w := c.watch(metav1.SingleObject(metav1.ObjectMeta{Name: "a", ResourceVersion: made.ResourceVersion}))
		c.create("b")
		require.NoError(c, c.maps().Delete(c.ctx, "a", metav1.DeleteOptions{}))
		c.sees(w, watch.Deleted, "a")
	}},
	{"A version that is no number is refused", func(c *client) {
		_, err := c.maps().Watch(c.ctx, metav1.ListOptions{ResourceVersion: "not a version"})
		require.Error(c, err)
	}},
}
