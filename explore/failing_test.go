package explore_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/explore"
)

// copier makes a Secret for each ConfigMap with a label, once.
type copier struct {
	forgives bool // it takes it for done that there is one
}

func (k copier) start(env control.Env) error {
	objects := control.NewCache[*v1.ConfigMap](env, v1.SchemeGroupVersion.WithResource("configmaps"))
	queue := env.Queue(control.QueueConfig{Name: "copies", Reconcile: func(ctx context.Context, key string) error {
		object, ok := objects.Get(key)
		if !ok || object.Labels["copy"] != "yes" || object.Annotations["copied"] != "" {
			return nil
		}
		core := env.Client().CoreV1()
		_, err := core.Secrets(object.Namespace).Create(ctx, &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: object.Name}}, metav1.CreateOptions{})
		if err != nil && !(k.forgives && apierrors.IsAlreadyExists(err)) {
			return err
		}
		object = object.DeepCopy()
		object.Annotations = map[string]string{"copied": "yes"}
		_, err = core.ConfigMaps(object.Namespace).Update(ctx, object, metav1.UpdateOptions{})
		return err
	}})
	objects.Handle(control.Enqueue[*v1.ConfigMap](queue.Add))
	return nil
}

func (k copier) play(c *explore.Cluster) {
	c.Must(c.Engine().Add("copier", k.start))
	c.Settle()
	c.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {copy: 'yes'}}}")
	c.Settle()
}

// All objects look well, but an operator goes on failing for ever: what it wants to make is there, since the answer to its first call was lost.
func TestWorkThatFailsForEverIsAFailure(t *testing.T) {
	report, err := explore.Run(t.Context(), explore.Config{Strategies: []string{explore.Faults}}, explore.Scenario(copier{}.play))
	f, ok := errors.AsType[*explore.Failure](err)
	require.True(t, ok, "%v\n%s", err, report)
	require.Equal(t, explore.Reason{Rule: explore.Succeeds, Object: "copier copies default/a"}, f.Reason())
	require.ErrorContains(t, f, `copier: work that fails again and again: 1, in order 0`)
	require.ErrorContains(t, f, `copies default/a: secrets "a" already exists`)

	_, err = explore.Run(t.Context(), explore.Config{Strategies: []string{explore.Faults}}, explore.Scenario(copier{forgives: true}.play))
	require.NoError(t, err)
	_, err = explore.Run(t.Context(), explore.Config{Strategies: []string{explore.Faults}, Except: []string{explore.Succeeds}},
		explore.Scenario(copier{}.play))
	require.NoError(t, err)
}

// What fails in the plain run, too, is no failure: this operator is given what it cannot make.
func TestWorkThatFailsInOrderMayFail(t *testing.T) {
	_, err := explore.Run(t.Context(), explore.Config{Strategies: []string{explore.Faults}}, explore.Scenario(func(c *explore.Cluster) {
		c.Must(c.Engine().Add("copier", copier{forgives: true}.start))
		c.Apply("{apiVersion: v1, kind: Namespace, metadata: {name: full}}",
			"{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: full}, spec: {hard: {secrets: '0'}}}")
		c.Settle()
		c.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: full, labels: {copy: 'yes'}}}")
		c.Settle()
	}))
	require.NoError(t, err)
}
