package fake_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/api/registry"
)

// eachClient calls f with the client of each kind of each group and version.
func eachClient(c kubernetes.Interface, f func(name string, client reflect.Value, typ reflect.Type)) {
	clientset := reflect.TypeFor[kubernetes.Interface]()
	for i := range clientset.NumMethod() {
		group := clientset.Method(i)
		if group.Name == "Discovery" {
			continue
		}
		clients := reflect.ValueOf(c).MethodByName(group.Name).Call(nil)[0]
		for j := range group.Type.Out(0).NumMethod() {
			getter := group.Type.Out(0).Method(j)
			if getter.Name == "RESTClient" {
				continue
			}
			var args []reflect.Value
			if getter.Type.NumIn() == 1 {
				args = append(args, reflect.ValueOf("default"))
			}
			f(group.Name+"."+getter.Name, clients.MethodByName(getter.Name).Call(args)[0], getter.Type.Out(0))
		}
	}
}

// served reports whether a cluster has the kind in the version of a client. The clientset has clients for older versions, too.
func served(typ reflect.Type) bool {
	list, ok := typ.MethodByName("List")
	if !ok {
		return true // reviews and the like
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(reflect.New(list.Type.Out(0).Elem()).Interface().(runtime.Object))
	if err != nil {
		return false
	}
	gvk := kinds[0]
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	_, ok = registry.New().OfKind(gvk)
	return ok
}

// eachServedCall calls f as eachCall does, but only for the clients of kinds that a cluster has in that version.
func eachServedCall(c kubernetes.Interface, f func(name string, call func(ctx context.Context, list metav1.ListOptions) []reflect.Value)) {
	known := map[string]bool{}
	eachClient(c, func(name string, _ reflect.Value, typ reflect.Type) { known[name] = served(typ) })
	eachCall(c, func(name string, call func(context.Context, metav1.ListOptions) []reflect.Value) {
		if known[name[:strings.LastIndex(name, ".")]] {
			f(name, call)
		}
	})
}

// eachCall calls f with each method of each client that takes a context, and with what
// makes that call.
func eachCall(c kubernetes.Interface, f func(name string, call func(ctx context.Context, list metav1.ListOptions) []reflect.Value)) int {
	calls := 0
	eachClient(c, func(name string, client reflect.Value, typ reflect.Type) {
		for i := range typ.NumMethod() {
			method := typ.Method(i)
			if method.Type.NumIn() == 0 || method.Type.In(0) != reflect.TypeFor[context.Context]() {
				continue
			}
			calls++
			f(name+"."+method.Name, func(ctx context.Context, list metav1.ListOptions) []reflect.Value {
				args := []reflect.Value{reflect.ValueOf(ctx)}
				for j := 1; j < method.Type.NumIn() && !(method.Type.IsVariadic() && j == method.Type.NumIn()-1); j++ {
					args = append(args, argument(method.Type.In(j), list))
				}
				return client.MethodByName(method.Name).Call(args)
			})
		}
	})
	return calls
}

// argument returns a sensible value for a parameter of a client's method.
func argument(typ reflect.Type, list metav1.ListOptions) reflect.Value {
	switch {
	case typ == reflect.TypeFor[metav1.ListOptions]():
		return reflect.ValueOf(list)
	case typ == reflect.TypeFor[metav1.ApplyOptions]():
		return reflect.ValueOf(metav1.ApplyOptions{FieldManager: "me"})
	case typ.Kind() == reflect.String:
		return reflect.ValueOf("x").Convert(typ)
	case typ == reflect.TypeFor[runtime.Object]():
		about := configMap("x")
		about.SetGroupVersionKind(v1.SchemeGroupVersion.WithKind("ConfigMap"))
		return reflect.ValueOf(about)
	case typ.Kind() != reflect.Pointer:
		return reflect.Zero(typ)
	}
	arg := reflect.New(typ.Elem())
	if obj, ok := arg.Interface().(metav1.Object); ok {
		obj.SetName("x")
	}
	if strings.HasSuffix(typ.Elem().Name(), "ApplyConfiguration") {
		if with := arg.MethodByName("WithName"); with.IsValid() {
			arg = with.Call([]reflect.Value{reflect.ValueOf("x")})[0]
		}
	}
	return arg
}

// errorOf returns the error that a call returned.
func errorOf(results []reflect.Value) error {
	err, _ := results[len(results)-1].Interface().(error)
	return err
}

// clientsets returns the two kinds of clientsets of a new server each.
func clientsets() map[string]func(api.Handler, string) *fake.Clientset {
	return map[string]func(api.Handler, string) *fake.Clientset{"keeps actions": fake.New, "keeps none": fake.NewWithoutActions}
}

func TestAContextThatHasEndedIsTheErrorOfEveryCallOfEveryKind(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for name, newClientset := range clientsets() {
		t.Run(name, func(t *testing.T) {
			s := api.NewServer(api.Config{})
			before, c := len(s.Objects(false)), newClientset(s, "me")
			seen := writes(s)
			calls := eachCall(c, func(name string, call func(context.Context, metav1.ListOptions) []reflect.Value) {
				require.ErrorIs(t, errorOf(call(cancelled, metav1.ListOptions{})), context.Canceled, name)
				require.ErrorIs(t, errorOf(call(expired, metav1.ListOptions{})), context.DeadlineExceeded, name)
			})
			require.Greater(t, calls, 1500)
			require.Empty(t, c.Actions())
			require.Empty(t, *seen)
			require.Len(t, s.Objects(false), before)
		})
	}
}

func TestASelectorThatCannotBeParsedIsABadRequestForEveryKind(t *testing.T) {
	for name, newClientset := range clientsets() {
		t.Run(name, func(t *testing.T) {
			c := newClientset(api.NewServer(api.Config{}), "me")
			asked := 0
			eachServedCall(c, func(name string, call func(context.Context, metav1.ListOptions) []reflect.Value) {
				if !strings.HasSuffix(name, ".List") && !strings.HasSuffix(name, ".Watch") && !strings.HasSuffix(name, ".DeleteCollection") {
					return
				}
				asked++
				for _, opts := range []metav1.ListOptions{{LabelSelector: "a in ("}, {FieldSelector: "a"}, {FieldSelector: "spec.nobody=x"}} {
					err := errorOf(call(t.Context(), opts))
					if apierrors.IsMethodNotSupported(err) {
						continue
					}
					require.True(t, apierrors.IsBadRequest(err), "%s %v: %v", name, opts, err)
				}
			})
			require.Greater(t, asked, 180)
		})
	}
}

func TestAWatchOfEveryKindEndsWithItsContext(t *testing.T) {
	for name, newClientset := range clientsets() {
		t.Run(name, func(t *testing.T) {
			c := newClientset(api.NewServer(api.Config{}), "me")
			ctx, cancel := context.WithCancel(t.Context())
			watches := map[string]watch.Interface{}
			eachServedCall(c, func(name string, call func(context.Context, metav1.ListOptions) []reflect.Value) {
				if strings.HasSuffix(name, ".Watch") {
					results := call(ctx, metav1.ListOptions{ResourceVersion: "1"})
					require.NoError(t, errorOf(results), name)
					watches[name] = results[0].Interface().(watch.Interface)
				}
			})
			require.Greater(t, len(watches), 60)
			cancel()
			for _, w := range watches {
				drain(w)
			}
		})
	}
}

// drain takes the events of a watch until it ends.
func drain(w watch.Interface) {
	for range w.ResultChan() {
	}
}

func TestAWatchThatAReactorBeganEndsWithItsContext(t *testing.T) {
	_, c := newServer()
	c.PrependWatchReactor("secrets", clienttesting.DefaultWatchReactor(watch.NewFake(), nil))
	ctx, cancel := context.WithCancel(t.Context())
	w, err := c.CoreV1().Secrets("default").Watch(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	cancel()
	drain(w)
}

func TestAPrependedReactorAnswersEveryCallOfEveryKind(t *testing.T) {
	for name, newClientset := range clientsets() {
		t.Run(name, func(t *testing.T) {
			c := newClientset(api.NewServer(api.Config{}), "me")
			heard := 0
			c.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { heard++; return true, nil, assert.AnError })
			c.PrependWatchReactor("*", func(clienttesting.Action) (bool, watch.Interface, error) { heard++; return true, nil, assert.AnError })
			calls := eachCall(c, func(name string, call func(context.Context, metav1.ListOptions) []reflect.Value) {
				c.ClearActions()
				require.ErrorIs(t, errorOf(call(t.Context(), metav1.ListOptions{})), assert.AnError, name)
				if strings.HasSuffix(t.Name(), "keeps_actions") {
					require.Len(t, c.Actions(), 1, name)
				}
			})
			require.Equal(t, calls, heard)
		})
	}
}

// Every typed client of client-go has its resource in the table, namespaced or
// not as that client says, or it is that of a version that no cluster serves any more.
func TestEveryTypedClientFindsItsResource(t *testing.T) {
	s, c := newServer()
	seen := writes(s)
	count := 0
	eachClient(c, func(name string, client reflect.Value, typ reflect.Type) {
		if _, ok := typ.MethodByName("List"); !ok {
			return // reviews and the like are not stored
		}
		count++
		*seen = nil
		create := client.MethodByName("Create")
		obj := reflect.New(create.Type().In(1).Elem())
		obj.Interface().(metav1.Object).SetName("x")
		err := errorOf(create.Call([]reflect.Value{reflect.ValueOf(ctx), obj, reflect.ValueOf(metav1.CreateOptions{})}))
		if !served(typ) {
			assert.True(t, apierrors.IsNotFound(err), "%s: %v", name, err)
			assert.Empty(t, *seen, name)
			return
		}
		if assert.Len(t, *seen, 1, "%s: an unknown resource", name) {
			asked := c.Actions()[len(c.Actions())-1]
			assert.Equal(t, asked.GetNamespace() != "", (*seen)[0].Namespace != "", name)
			assert.NotEqual(t, 404, (*seen)[0].Code, "%s: %v", name, (*seen)[0].Err)
		}
	})
	assert.Greater(t, count, 80)
}

// A list that a reactor answers is cut down to what the selector matches, as client-go's
// fakes do it.
func TestALabelSelectorHoldsForTheAnswersOfReactors(t *testing.T) {
	_, c := newServer()
	in, out := configMap("in"), configMap("out")
	in.Labels = map[string]string{"a": "b"}
	createMap(t, c, in)
	createMap(t, c, out)
	all, err := c.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, all.Items, 2)
	c.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return true, all, nil })
	some, err := c.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{LabelSelector: "a=b"})
	require.NoError(t, err)
	require.Len(t, some.Items, 1)
	require.Equal(t, "in", some.Items[0].Name)
}

func TestAReactorThatAnswersWithAnotherKindIsNamed(t *testing.T) {
	_, c := newServer()
	c.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return true, pod("a"), nil })
	_, err := c.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
	require.EqualError(t, err, "get configmaps default/a: a reactor answers with a *v1.Pod where a *v1.ConfigMap is expected")
}

func TestLogsAreThoseOfAReactorOrFake(t *testing.T) {
	_, c := newServer()
	_, err := c.CoreV1().Pods("default").GetLogs("a", nil).DoRaw(ctx)
	require.True(t, apierrors.IsNotFound(err), "of a pod that does not exist: %v", err)
	require.NoError(t, c.Tracker().Add(pod("a")))
	logs, err := c.CoreV1().Pods("default").GetLogs("a", nil).DoRaw(ctx)
	require.NoError(t, err)
	require.Equal(t, "fake logs", string(logs))
	c.PrependReactor("get", "pods/log", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &runtime.Unknown{Raw: []byte("hello")}, nil
	})
	logs, err = c.CoreV1().Pods("default").GetLogs("a", nil).DoRaw(ctx)
	require.NoError(t, err)
	require.Equal(t, "hello", string(logs))
	require.Len(t, c.Actions(), 3)
}
