package ctrlruntime_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/live/ctrlruntime"
	"github.com/storagesim/storagesim/storagesimtest"
)

// The library's own messages are not looked at.
func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// does is a reconciler made of a function.
type does = func(ctx context.Context, mgr manager.Manager, name string) (ctrl.Result, error)

// add adds an operator that reconciles ConfigMaps.
func add(t testing.TB, c *storagesimtest.Cluster, options manager.Options, with controller.Options, f does) {
	t.Helper()
	require.NoError(t, ctrlruntime.Add(c, ctrlruntime.Operator{Name: "op", Options: options, Setup: func(mgr manager.Manager) error {
		return ctrl.NewControllerManagedBy(mgr).For(&v1.ConfigMap{}).WithOptions(with).
			Complete(reconcile.Func(func(ctx context.Context, r ctrl.Request) (ctrl.Result, error) { return f(ctx, mgr, r.Name) }))
	}}))
}

func configMap(name, more string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + more + "}}\n"
}

// An error is retried later each time, a panic is one, a result with a time is waited for, and the cluster comes to rest although
// the operator looks again and again.
func TestResultsAndErrorsOfAReconciler(t *testing.T) {
	for _, limiter := range []workqueue.TypedRateLimiter[reconcile.Request]{nil, workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()} {
		c := storagesimtest.New(t, storagesim.Config{})
		var at []time.Duration
		began := c.Now()
		add(t, c, manager.Options{}, controller.Options{RateLimiter: limiter}, func(_ context.Context, _ manager.Manager, name string) (ctrl.Result, error) {
			if name != "asks" {
				return ctrl.Result{}, nil
			}
			at = append(at, c.Now().Sub(began))
			switch len(at) {
			case 1, 2:
				return ctrl.Result{}, errors.New("no")
			case 3:
				panic("oh")
			case 4:
				return ctrl.Result{RequeueAfter: 7 * time.Second}, nil
			case 5:
				return ctrl.Result{Requeue: true}, nil
			case 6:
				return ctrl.Result{Requeue: true}, nil
			case 7:
				return ctrl.Result{}, reconcile.TerminalError(errors.New("never"))
			}
			return ctrl.Result{RequeueAfter: 20 * time.Second}, nil
		})
		c.Apply(configMap("asks", ""))
		c.Settle()
		millis := func(all ...int) (d []time.Duration) {
			for _, ms := range all {
				d = append(d, time.Duration(ms)*time.Millisecond)
			}
			return d
		}
		first := millis(0, 5, 15, 35, 7035, 7040, 7050)
		assert.Equal(t, first, at)
		assert.Contains(t, c.Story(), "op    will retry configmap default/asks in 20ms: panic: oh [recovered]")
		assert.Contains(t, c.Story(), "op    gives up configmap default/asks")

		c.Apply(configMap("asks", ", labels: {a: b}"))
		c.Settle()
		assert.Equal(t, append(first, millis(7050, 27050, 47050, 67050)...), at, "it is not waited for longer than a minute")
		c.RunFor(30 * time.Second)
		assert.Len(t, at, len(first)+5)
	}
}

// The manager's cache holds only the objects that its options select: a selector of labels, one of fields, namespaces; typed, untyped and
// metadata only; with an index and a transformation. The first read of another kind makes its cache.
func TestTheCacheIsTheLibrarysOwn(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	c.Apply("{apiVersion: v1, kind: Namespace, metadata: {name: blue}}", "{apiVersion: v1, kind: Namespace, metadata: {name: red}}")
	seen := map[string][]string{}
	options := manager.Options{Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
		&v1.ConfigMap{}: {
			Label: labels.SelectorFromSet(labels.Set{"mine": "yes"}), Namespaces: map[string]cache.Config{"default": {}, "blue": {}},
			Transform: func(obj any) (any, error) {
				obj.(*v1.ConfigMap).Annotations = map[string]string{"changed": "by the transformation"}
				return obj, nil
			},
		},
		&v1.Secret{}: {Field: fields.OneTermEqualSelector("type", "example.com/key")},
	}}}
	require.NoError(t, ctrlruntime.Add(c, ctrlruntime.Operator{Name: "op", Options: options, Setup: func(mgr manager.Manager) error {
		note := func(what string) reconcile.Reconciler {
			return reconcile.Func(func(ctx context.Context, r ctrl.Request) (ctrl.Result, error) {
				said := r.String()
				switch what {
				case "typed":
					var one v1.ConfigMap
					if err := mgr.GetClient().Get(ctx, r.NamespacedName, &one); err == nil {
						said += " " + one.Annotations["changed"]
					}
					var classes storagev1.StorageClassList
					if err := mgr.GetClient().List(ctx, &classes); err != nil || len(classes.Items) != 1 {
						return ctrl.Result{}, errors.New("there is one class")
					}
				case "metadata":
					one := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
					if err := mgr.GetClient().Get(ctx, r.NamespacedName, one); err != nil {
						return ctrl.Result{}, err
					}
					said += " " + one.Kind + one.Labels["kubernetes.io/hostname"]
				case "untyped":
					one := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
					if err := mgr.GetClient().Get(ctx, r.NamespacedName, one); err != nil {
						return ctrl.Result{}, client.IgnoreNotFound(err)
					}
					said += " " + one.Object["type"].(string)
				}
				seen[what] = append(seen[what], said)
				return ctrl.Result{}, nil
			})
		}
		node := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
		secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret"}}
		return errors.Join(
			ctrl.NewControllerManagedBy(mgr).For(&v1.ConfigMap{}).Complete(note("typed")),
			ctrl.NewControllerManagedBy(mgr).For(node, builder.OnlyMetadata).Complete(note("metadata")),
			ctrl.NewControllerManagedBy(mgr).Named("secrets").For(secret).Complete(note("untyped")),
		)
	}}))
	c.Apply("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disk}, provisioner: example.com/disk}")
	mine := ", labels: {mine: 'yes'}"
	c.Apply(configMap("a", mine), configMap("b", ""), configMap("c", mine+", namespace: blue"), configMap("d", mine+", namespace: red"))
	c.Apply("{apiVersion: v1, kind: Secret, metadata: {name: key}, type: example.com/key}",
		"{apiVersion: v1, kind: Secret, metadata: {name: other}, type: example.com/other}")
	c.Settle()
	assert.Equal(t, []string{"blue/c by the transformation", "default/a by the transformation"}, seen["typed"])
	assert.Equal(t, []string{"/node-1 Nodenode-1"}, slices.Compact(seen["metadata"]))
	assert.Contains(t, seen["untyped"], "default/key example.com/key")
	c.Apply(configMap("a", ", labels: {mine: 'no'}"))
	c.Settle()
	assert.Equal(t, "default/a ", seen["typed"][len(seen["typed"])-1]+" ", "it has left the selection")
}

// Events, the API reader, and clients that the operator makes of the manager's configuration; what fails says why.
func TestClientsAndEvents(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	failed := map[string]error{}
	add(t, c, manager.Options{}, controller.Options{}, func(ctx context.Context, mgr manager.Manager, name string) (ctrl.Result, error) {
		if name != "asks" {
			return ctrl.Result{}, nil
		}
		one := &v1.ConfigMap{}
		if err := mgr.GetAPIReader().Get(ctx, types.NamespacedName{Namespace: "default", Name: name}, one); err != nil {
			return ctrl.Result{}, err
		}
		mgr.GetEventRecorderFor("op").Eventf(one, v1.EventTypeNormal, "Seen", "it has %d entries", len(one.Data))
		mgr.GetEventRecorder("example.com/op").Eventf(one, nil, v1.EventTypeWarning, "Small", "Looking", "it is small")
		own, err := kubernetes.NewForConfig(mgr.GetConfig())
		if err != nil {
			return ctrl.Result{}, err
		}
		_, failed["own client"] = own.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
		_, failed["watch"] = own.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, failed["goroutine"] = own.CoreV1().Nodes().Get(ctx, "node-1", metav1.GetOptions{})
		}()
		<-done
		return ctrl.Result{}, nil
	})
	c.Apply(configMap("asks", ""))
	c.Settle()
	require.NoError(t, failed["own client"])
	require.ErrorContains(t, failed["watch"], "by its manager's cache only")
	require.ErrorIs(t, failed["goroutine"], ctrlruntime.ErrGoroutine)
	assert.Contains(t, c.Story(), "op    says of configmap default/asks: Normal Seen: it has 0 entries")
	assert.Contains(t, c.Story(), "op    says of configmap default/asks: Warning Small: it is small")
}

// A panic that the controller does not recover ends the process, which starts again, as a container does.
func TestAPanicThatIsNotRecoveredEndsTheProcess(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	calls := 0
	options := manager.Options{Controller: config.Controller{RecoverPanic: new(false)}}
	add(t, c, options, controller.Options{}, func(context.Context, manager.Manager, string) (ctrl.Result, error) {
		if calls++; calls == 1 {
			panic("oh")
		}
		return ctrl.Result{}, nil
	})
	c.Apply(configMap("asks", ""))
	c.Settle()
	assert.Greater(t, calls, 1)
	assert.Contains(t, c.Story(), "op    panics in Reconcile of configmap default/asks, at ctrlruntime/manager_test.go:")
	assert.Contains(t, c.Story(), ": oh; its process ends, and starts again at once")
}

// What cannot be played is refused, and says why.
func TestWhatCannotBePlayed(t *testing.T) {
	type pair [2]string
	never := reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil })
	for says, op := range map[string]ctrlruntime.Operator{
		"Operator.Name is empty": {Setup: func(manager.Manager) error { return nil }},
		"Setup is not set":       {Name: "op"},
		`no matches for kind "Scratch" in version "example.com/v1"`: operatorOf(func() *reconciler { return &reconciler{} }),
		"no controller: only controllers can be played": {Name: "op", Setup: func(mgr manager.Manager) error {
			return mgr.Add(manager.RunnableFunc(func(context.Context) error { return nil }))
		}},
		"only controllers of reconcile.Requests can be played": {Name: "op", Setup: func(mgr manager.Manager) error {
			_, err := controller.NewTyped("pairs", mgr, controller.TypedOptions[pair]{
				Reconciler: reconcile.TypedFunc[pair](func(context.Context, pair) (reconcile.Result, error) { return reconcile.Result{}, nil }),
			})
			return err
		}},
		"waits for a channel": {Name: "op", Setup: func(mgr manager.Manager) error {
			events := make(chan event.GenericEvent)
			return ctrl.NewControllerManagedBy(mgr).Named("c").WatchesRawSource(source.Channel(events, &handler.EnqueueRequestForObject{})).Complete(never)
		}},
		"leave Start out": {Name: "op", Setup: func(mgr manager.Manager) error { return mgr.Start(context.Background()) }},
	} {
		c := storagesimtest.New(t, storagesim.Config{})
		assert.ErrorContains(t, ctrlruntime.Add(c, op), says)
	}
}

// strange is a selector that says what a selector cannot be.
type strange struct{ fields.Selector }

func (strange) String() string { return "nonsense" }

// An informer that cannot be played is an error: of Add, or of the first read that needs it.
func TestAnInformerThatCannotBePlayed(t *testing.T) {
	says := `the informer of *v1.Secret: invalid selector: 'nonsense'; can't understand 'nonsense'`
	options := manager.Options{Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&v1.Secret{}: {Field: strange{fields.Everything()}}}}}
	c := storagesimtest.New(t, storagesim.Config{})
	err := ctrlruntime.Add(c, ctrlruntime.Operator{Name: "early", Options: options, Setup: func(mgr manager.Manager) error {
		return ctrl.NewControllerManagedBy(mgr).For(&v1.Secret{}).
			Complete(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, nil }))
	}})
	require.ErrorContains(t, err, says)

	var late []error
	add(t, c, options, controller.Options{}, func(ctx context.Context, mgr manager.Manager, name string) (ctrl.Result, error) {
		if name == "asks" {
			late = append(late, mgr.GetClient().Get(ctx, types.NamespacedName{Namespace: "default", Name: "a"}, &v1.Secret{}),
				mgr.GetClient().List(ctx, &v1.SecretList{}))
		}
		return ctrl.Result{}, nil
	})
	c.Apply(configMap("asks", ""))
	c.Settle()
	require.Len(t, late, 2)
	require.ErrorContains(t, late[0], says)
	require.ErrorContains(t, late[1], says)
}

// The first read of a kind makes its informer, which a goroutine of the reconciler's own cannot do.
func TestAFirstReadInAGoroutine(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	var err error
	add(t, c, manager.Options{}, controller.Options{}, func(ctx context.Context, mgr manager.Manager, name string) (ctrl.Result, error) {
		if name == "asks" {
			done := make(chan struct{})
			go func() {
				defer close(done)
				err = mgr.GetClient().List(ctx, &v1.SecretList{})
			}()
			<-done
		}
		return ctrl.Result{}, nil
	})
	c.Apply(configMap("asks", ""))
	c.Settle()
	require.ErrorIs(t, err, ctrlruntime.ErrGoroutine)
	require.ErrorContains(t, err, "the first read of *v1.Secret")
}

// No process leaves goroutines behind, also if it crashed, could not begin, or never had a step.
func TestProcessesEndWhole(t *testing.T) {
	c := storagesimtest.New(t, storagesim.Config{})
	require.Error(t, ctrlruntime.Add(c, operatorOf(func() *reconciler { return &reconciler{} })))
	c.Apply(kinds)
	require.NoError(t, ctrlruntime.Add(c, operatorOf(func() *reconciler { return &reconciler{} })))
	c.Apply(asked)
	for range 3 {
		c.Crash("scratch-operator")
		c.Settle()
	}
	require.NoError(t, c.Close())
	unused := storagesimtest.New(t, storagesim.Config{})
	add(t, unused, manager.Options{}, controller.Options{}, nil)
	require.NoError(t, unused.Close()) // without a step
	left := func() (all []string) {
		text := make([]byte, 1<<20)
		for _, stack := range strings.Split(string(text[:runtime.Stack(text, true)]), "\n\n") {
			if strings.Contains(stack, "sigs.k8s.io/controller-runtime") && !strings.Contains(stack, "pkg/log.init") {
				all = append(all, stack)
			}
		}
		return all
	}
	assert.Eventually(t, func() bool { return len(left()) == 0 }, time.Minute, 10*time.Millisecond, "%s", left())
}
