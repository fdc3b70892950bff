package clienttest

import (
	"sync"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"

	"github.com/storagesim/storagesim/internal/rigs/soon"
)

// others are tests of subresources, reviews, discovery and client-go's helpers.
var others = []test{
	{"A set is scaled by its subresource", func(c *client) {
		of := map[string]string{"app": "db"}
		sets := c.AppsV1().StatefulSets("default")
		_, err := sets.Create(c.ctx, &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: "db"},
			Spec: appsv1.StatefulSetSpec{
				ServiceName: "db", Selector: &metav1.LabelSelector{MatchLabels: of},
				Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: of}, Spec: pod("").Spec},
			},
		}, metav1.CreateOptions{})
		require.NoError(c, err)
		scale, err := sets.GetScale(c.ctx, "db", metav1.GetOptions{})
		require.NoError(c, err)
		assert.EqualValues(c, 1, scale.Spec.Replicas)
		assert.Equal(c, "app=db", scale.Status.Selector)
		scale.Spec = autoscalingv1.ScaleSpec{Replicas: 3}
		_, err = sets.UpdateScale(c.ctx, "db", scale, metav1.UpdateOptions{})
		require.NoError(c, err)
		set, err := sets.Get(c.ctx, "db", metav1.GetOptions{})
		require.NoError(c, err)
		assert.EqualValues(c, 3, *set.Spec.Replicas)
		scale.ResourceVersion = "1"
		_, err = sets.UpdateScale(c.ctx, "db", scale, metav1.UpdateOptions{})
		c.refused(err, metav1.StatusReasonConflict)
	}},
	{"Every client may do everything, and a review says so", func(c *client) {
		review, err := c.AuthorizationV1().SelfSubjectAccessReviews().Create(c.ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"}},
		}, metav1.CreateOptions{})
		require.NoError(c, err)
		assert.True(c, review.Status.Allowed)
	}},
	{"A service account gives tokens", func(c *client) {
		accounts := c.CoreV1().ServiceAccounts("default")
		_, err := accounts.Create(c.ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
		require.NoError(c, err)
		token, err := accounts.CreateToken(c.ctx, "robot", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		require.NoError(c, err)
		assert.NotEmpty(c, token.Status.Token)
		_, err = accounts.CreateToken(c.ctx, "none", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		c.refused(err, metav1.StatusReasonNotFound)
	}},
	{"Discovery says the version and what each kind can do", func(c *client) {
		version, err := c.Discovery().ServerVersion()
		require.NoError(c, err)
		assert.Regexp(c, `^v1\.37\.`, version.GitVersion)
		list, err := c.Discovery().ServerResourcesForGroupVersion("v1")
		require.NoError(c, err)
		verbs := map[string]metav1.Verbs{}
		for _, r := range list.APIResources {
			verbs[r.Name] = r.Verbs
		}
		assert.ElementsMatch(c, []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}, verbs["persistentvolumeclaims"])
		assert.Contains(c, verbs, "pods/binding")
		_, err = c.Discovery().ServerResourcesForGroupVersion("none.example.com/v1")
		c.refused(err, metav1.StatusReasonNotFound)
	}},
	{"Of many writers that try again at a conflict none loses its write", func(c *client) {
		c.create("a")
		var writers sync.WaitGroup
		for _, key := range []string{"one", "two", "three", "four"} {
			writers.Go(func() {
				assert.NoError(c, retry.RetryOnConflict(wait.Backoff{Steps: 100, Duration: time.Millisecond}, func() error {
					m, err := c.maps().Get(c.ctx, "a", metav1.GetOptions{})
					if err != nil {
						return err
					}
					m.Labels = labels.Merge(m.Labels, labels.Set{key: "yes"})
					_, err = c.maps().Update(c.ctx, m, metav1.UpdateOptions{})
					return err
				}))
			})
		}
		writers.Wait()
		assert.Len(c, c.get("a").Labels, 4)
	}},
	{"An informer follows what happens", func(c *client) {
		c.create("a")
		factory := informers.NewSharedInformerFactoryWithOptions(c, 0, informers.WithNamespace("default"))
		informer := factory.Core().V1().ConfigMaps()
		shared := informer.Informer()
		factory.Start(c.ctx.Done())
		require.True(c, cache.WaitForCacheSync(c.ctx.Done(), shared.HasSynced))
		c.create("b")
		require.NoError(c, c.maps().Delete(c.ctx, "a", metav1.DeleteOptions{}))
		require.True(c, soon.Is(c.T, func() bool {
			_, noA := informer.Lister().ConfigMaps("default").Get("a")
			_, noB := informer.Lister().ConfigMaps("default").Get("b")
			return noA != nil && noB == nil
		}))
	}},
}
