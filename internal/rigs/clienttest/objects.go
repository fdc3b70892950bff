package clienttest

import (
	"context"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// objects are tests of how objects are made and changed.
var objects = []test{
	{"An object has what the server gives it and is read as it was answered", func(c *client) {
		made := c.create("a", "app", "x")
		assert.NotEmpty(c, made.UID)
		assert.NotEmpty(c, made.ResourceVersion)
		assert.False(c, made.CreationTimestamp.IsZero())
		assert.Equal(c, "default", made.Namespace)
		assert.Equal(c, made, c.get("a"))
	}},
	{"Of two updates from one version the second is a conflict", func(c *client) {
		made := c.create("a")
		made.Data = map[string]string{"key": "1"}
		updated, err := c.maps().Update(c.ctx, made, metav1.UpdateOptions{})
		require.NoError(c, err)
		assert.NotEqual(c, made.ResourceVersion, updated.ResourceVersion)
		_, err = c.maps().Update(c.ctx, made, metav1.UpdateOptions{})
		c.refused(err, metav1.StatusReasonConflict, "the object has been modified; please apply your changes to the latest version and try again")
		assert.Equal(c, updated, c.get("a"))
	}},
	{"An update without a version is made whatever the version is", func(c *client) {
		c.create("a")
		_, err := c.maps().Update(c.ctx, configMap("a"), metav1.UpdateOptions{})
		require.NoError(c, err)
	}},
	{"An update of an object that was made again is a conflict", func(c *client) {
		old := c.create("a")
		require.NoError(c, c.maps().Delete(c.ctx, "a", metav1.DeleteOptions{}))
		c.create("a")
		old.ResourceVersion = ""
		_, err := c.maps().Update(c.ctx, old, metav1.UpdateOptions{})
		c.refused(err, metav1.StatusReasonConflict, "Precondition failed: UID in precondition: "+string(old.UID))
	}},
	{"An update that changes nothing keeps the version", func(c *client) {
		made := c.create("a")
		same, err := c.maps().Update(c.ctx, made, metav1.UpdateOptions{})
		require.NoError(c, err)
		assert.Equal(c, made.ResourceVersion, same.ResourceVersion)
	}},
	{"The status is changed by its subresource alone", func(c *client) {
		made, err := c.claims().Create(c.ctx, claim("data"), metav1.CreateOptions{})
		require.NoError(c, err)
		made.Status.Phase = v1.ClaimLost
		made.Labels = map[string]string{"a": "b"}
		updated, err := c.claims().Update(c.ctx, made, metav1.UpdateOptions{})
		require.NoError(c, err)
		assert.Equal(c, v1.ClaimPending, updated.Status.Phase)
		updated.Status.Phase = v1.ClaimLost
		updated.Spec.VolumeName = "pv"
		updated, err = c.claims().UpdateStatus(c.ctx, updated, metav1.UpdateOptions{})
		require.NoError(c, err)
		assert.Equal(c, v1.ClaimLost, updated.Status.Phase)
		assert.Empty(c, updated.Spec.VolumeName)
	}},
	{"A generated name begins as asked for, and is new each time", func(c *client) {
		seen := map[string]bool{}
		for range 20 {
			m := configMap("")
			m.GenerateName = "some-"
			made, err := c.maps().Create(c.ctx, m, metav1.CreateOptions{})
			require.NoError(c, err)
			assert.Regexp(c, `^some-[a-z0-9]{5}$`, made.Name)
			assert.False(c, seen[made.Name], "%s twice", made.Name)
			seen[made.Name] = true
		}
	}},
	{"A dry run answers as the write would, and stores nothing", func(c *client) {
		made, err := c.maps().Create(c.ctx, configMap("dry"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		require.NoError(c, err)
		assert.NotEmpty(c, made.UID)
		_, err = c.maps().Get(c.ctx, "dry", metav1.GetOptions{})
		c.refused(err, metav1.StatusReasonNotFound)
		_, err = c.maps().Create(c.ctx, configMap("Not_A_Name"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		c.refused(err, metav1.StatusReasonInvalid)

		before := c.create("a")
		changed := before.DeepCopy()
		changed.Data = map[string]string{"key": "1"}
		answer, err := c.maps().Update(c.ctx, changed, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		require.NoError(c, err)
		assert.Equal(c, "1", answer.Data["key"])
		require.NoError(c, c.maps().Delete(c.ctx, "a", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
		assert.Equal(c, before, c.get("a"))
		_, err = c.maps().Update(c.ctx, changed, metav1.UpdateOptions{DryRun: []string{"Some"}})
		c.refused(err, metav1.StatusReasonInvalid, "dryRun")
	}},
	{"What is answered and what was sent are the caller's own", func(c *client) {
		sent := configMap("a")
		sent.Data = map[string]string{"key": "sent"}
		made, err := c.maps().Create(c.ctx, sent, metav1.CreateOptions{})
		require.NoError(c, err)
		sent.Data["key"], made.Data["key"] = "changed", "changed"
		assert.Equal(c, "sent", c.get("a").Data["key"])
		assert.Empty(c, sent.UID)
	}},
	{"A context that has ended is the error of every call, and nothing is stored", func(c *client) {
		cancelled, cancel := context.WithCancel(c.ctx)
		cancel()
		expired, cancel := context.WithDeadline(c.ctx, time.Now().Add(-time.Second))
		defer cancel()
		c.create("there")
		for ctx, want := range map[context.Context]error{cancelled: context.Canceled, expired: context.DeadlineExceeded} {
			_, err := c.maps().Create(ctx, configMap("new"), metav1.CreateOptions{})
			require.ErrorIs(c, err, want)
			_, err = c.maps().Get(ctx, "there", metav1.GetOptions{})
			require.ErrorIs(c, err, want)
			_, err = c.maps().List(ctx, metav1.ListOptions{})
			require.ErrorIs(c, err, want)
			_, err = c.maps().Watch(ctx, metav1.ListOptions{})
			require.ErrorIs(c, err, want)
			require.ErrorIs(c, c.maps().Delete(ctx, "there", metav1.DeleteOptions{}), want)
			require.ErrorIs(c, c.maps().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}), want)
		}
		assert.Equal(c, []string{"there"}, c.names(metav1.ListOptions{}))
	}},
}
