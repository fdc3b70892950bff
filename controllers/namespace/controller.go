package namespace

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/storagesim/storagesim/control"
)

// ActorName is the name of this controller in upstream's controller manager.
const ActorName = "namespace-controller"

// namespaceDeletionGracePeriod is the time from the deletion of a namespace until it is emptied, so that late
// objects are seen. Upstream: namespace_controller.go, v1.37.
const namespaceDeletionGracePeriod = 5 * time.Second

// New returns the factory of the controller.
// Upstream: namespace_controller.go NewNamespaceController, v1.37.
func New() control.Factory {
	return func(env control.Env) error {
		c := &controller{
			env: env, client: env.Client().CoreV1(), objects: env.Objects(), waiting: map[string]bool{},
			namespaces: control.NewCacheAtOnce[*v1.Namespace](env, v1.SchemeGroupVersion.WithResource("namespaces")),
		}
		c.queue = env.Queue(control.QueueConfig{
			Name: "namespaces", About: control.KeysOf("Namespace"), Reconcile: c.syncNamespaceFromKey,
			Limiter: control.RateLimiter{Max: time.Minute}, // upstream: nsControllerRateLimiter
		})
		c.namespaces.Handle(control.Handler[*v1.Namespace]{
			Add:    c.enqueue,
			Update: func(_, ns *v1.Namespace) { c.enqueue(ns) },
		})
		for ns := range c.namespaces.All() { // the cache of some drivers is full from the beginning
			c.enqueue(ns)
		}
		return nil
	}
}

type controller struct {
	env        control.Env
	client     corev1.CoreV1Interface
	objects    control.Objects
	namespaces *control.Cache[*v1.Namespace]
	queue      control.Queue
	// waiting holds the namespaces with remaining content, for which a poll runs.
	waiting map[string]bool
}

// enqueue queues a namespace that is being deleted.
// Upstream: namespace_controller.go enqueueNamespace, v1.37.
func (c *controller) enqueue(ns *v1.Namespace) {
	if ns.DeletionTimestamp != nil {
		c.queue.AddAfter(ns.Name, namespaceDeletionGracePeriod)
	}
}

// syncNamespaceFromKey empties one namespace. If content remains, it tries again after half of the time that the
// content is expected to need.
// Upstream: namespace_controller.go syncNamespaceFromKey and worker, v1.37.
func (c *controller) syncNamespaceFromKey(ctx context.Context, name string) error {
	if _, found := c.namespaces.Get(name); !found {
		return nil
	}
	estimate, err := c.delete(ctx, name)
	if err != nil || estimate == 0 || c.waiting[name] {
		return err
	}
	c.waiting[name] = true
	c.env.Go("content of namespace "+name, func(ctx context.Context) {
		defer delete(c.waiting, name)
		if err := c.wait(ctx, name, estimate); err != nil {
			c.queue.AddRateLimited(name)
		}
	})
	return nil
}

// wait polls until the namespace is empty.
func (c *controller) wait(ctx context.Context, name string, estimate int64) error {
	for estimate > 0 {
		interval := time.Duration(estimate/2+1) * time.Second
		err := c.env.Poll(ctx, interval, 0, func(ctx context.Context) (bool, error) {
			next, err := c.delete(ctx, name)
			changed := next != estimate
			estimate = next
			return changed, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// delete deletes the content of the namespace, and lets the namespace go if nothing is left. It returns the seconds
// until the rest is expected to be gone.
// Upstream: deletion/namespaced_resources_deleter.go Delete, v1.37.
func (c *controller) delete(ctx context.Context, name string) (estimate int64, err error) {
	ns, err := c.client.Namespaces().Get(ctx, name, metav1.GetOptions{})
	if err == nil && ns.DeletionTimestamp != nil {
		ns, err = c.retryOnConflictError(ctx, ns, c.updateNamespaceStatus)
	}
	if err != nil || ns.DeletionTimestamp == nil || len(ns.Spec.Finalizers) == 0 {
		return 0, ignoreNotFound(err)
	}
	estimate, err = c.deleteAllContent(ctx, ns)
	if err != nil || estimate > 0 {
		return estimate, err
	}
	_, err = c.retryOnConflictError(ctx, ns, c.finalizeNamespace)
	return 0, ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// retryOnConflictError changes the namespace. After a conflict it reads the namespace and tries again.
// Upstream: deletion/namespaced_resources_deleter.go retryOnConflictError, v1.37.
func (c *controller) retryOnConflictError(ctx context.Context, ns *v1.Namespace,
	change func(context.Context, *v1.Namespace) (*v1.Namespace, error),
) (*v1.Namespace, error) {
	for {
		changed, err := change(ctx, ns)
		if !apierrors.IsConflict(err) {
			return changed, err
		}
		latest, err := c.client.Namespaces().Get(ctx, ns.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if latest.UID != ns.UID {
			return nil, fmt.Errorf("the namespace %s was deleted and made anew meanwhile", ns.Name)
		}
		ns = latest
	}
}

// updateNamespaceStatus sets the phase of a namespace that is being deleted to Terminating.
// Upstream: deletion/namespaced_resources_deleter.go updateNamespaceStatusFunc, v1.37.
func (c *controller) updateNamespaceStatus(ctx context.Context, ns *v1.Namespace) (*v1.Namespace, error) {
	if ns.DeletionTimestamp == nil || ns.Status.Phase == v1.NamespaceTerminating {
		return ns, nil
	}
	ns = ns.DeepCopy()
	ns.Status.Phase = v1.NamespaceTerminating
	return c.client.Namespaces().UpdateStatus(ctx, ns, metav1.UpdateOptions{})
}

// finalizeNamespace removes the controller's finalizer.
// Upstream: deletion/namespaced_resources_deleter.go finalizeNamespace, v1.37.
func (c *controller) finalizeNamespace(ctx context.Context, ns *v1.Namespace) (*v1.Namespace, error) {
	ns = ns.DeepCopy()
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f v1.FinalizerName) bool { return f == v1.FinalizerKubernetes })
	return c.client.Namespaces().Finalize(ctx, ns, metav1.UpdateOptions{})
}
