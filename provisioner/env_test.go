package provisioner

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/trace"
)

// fakeEnv drives one controller by hand: caches hold what the test puts there,
// queues only count, and sleeping moves the clock.
type fakeEnv struct {
	client   *fake.Clientset
	now      time.Time
	queues   map[string]*fakeQueue
	every    map[string]time.Duration
	recorded []string
	traced   []string
	called   []trace.Call
}

var _ control.Env = (*fakeEnv)(nil)

func (e *fakeEnv) Name() string                 { return "fake" }
func (e *fakeEnv) Client() kubernetes.Interface { return e.client }
func (e *fakeEnv) Objects() control.Objects     { return nil }
func (e *fakeEnv) Now() time.Time               { return e.now }
func (e *fakeEnv) Trace(r trace.Record) {
	if call, ok := r.(trace.Call); ok {
		e.called = append(e.called, call)
		return
	}
	e.traced = append(e.traced, r.String())
}
func (e *fakeEnv) Choose(int) int      { return 0 }
func (e *fakeEnv) Follow(control.Feed) {}

func (e *fakeEnv) Sleep(_ context.Context, d time.Duration) error {
	e.now = e.now.Add(d)
	return nil
}

func (e *fakeEnv) Poll(context.Context, time.Duration, time.Duration, func(context.Context) (bool, error)) error {
	return fmt.Errorf("nothing here polls")
}

func (e *fakeEnv) PollBackoff(context.Context, control.Backoff, func(context.Context) (bool, error)) error {
	return fmt.Errorf("nothing here polls")
}

func (e *fakeEnv) Every(name string, period time.Duration, _ func(context.Context)) {
	e.every[name] = period
}

func (e *fakeEnv) Heartbeat(name string, period time.Duration, _ func(context.Context)) {
	e.every[name] = period
}

func (e *fakeEnv) Go(string, func(context.Context)) {}

func (e *fakeEnv) Queue(cfg control.QueueConfig) control.Queue {
	q := &fakeQueue{cfg: cfg, failures: map[string]int{}}
	e.queues[cfg.Name] = q
	return q
}

func (e *fakeEnv) EventRecorder(string) control.EventRecorder { return nil }

func (e *fakeEnv) Recorder(component string) control.Recorder { return fakeRecorder{e, component} }

type fakeRecorder struct {
	env       *fakeEnv
	component string
}

func (r fakeRecorder) Event(_ runtime.Object, eventtype, reason, message string) {
	r.env.recorded = append(r.env.recorded, eventtype+" "+reason+": "+message)
}

func (r fakeRecorder) Eventf(obj runtime.Object, eventtype, reason, format string, args ...any) {
	r.Event(obj, eventtype, reason, fmt.Sprintf(format, args...))
}

type fakeQueue struct {
	cfg      control.QueueConfig
	keys     []string
	failures map[string]int
}

func (q *fakeQueue) Add(key string)                       { q.keys = append(q.keys, key) }
func (q *fakeQueue) AddAfter(key string, _ time.Duration) { q.Add(key) }
func (q *fakeQueue) AddAgain(key string, _ time.Duration) { q.Add(key) }
func (q *fakeQueue) AddRateLimited(key string)            { q.Add(key) }
func (q *fakeQueue) Forget(key string)                    { delete(q.failures, key) }
func (q *fakeQueue) NumRequeues(key string) int           { return q.failures[key] }
func (q *fakeQueue) Len() int                             { return len(q.keys) }

// scripted is a Provisioner that answers as told and remembers the calls.
type scripted struct {
	provision func(ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error)
	delete    func(*v1.PersistentVolume) error
	calls     []string
}

func (s *scripted) Provision(_ context.Context, options ProvisionOptions) (*v1.PersistentVolume, ProvisioningState, error) {
	s.calls = append(s.calls, "provision "+options.PVName)
	if s.provision == nil {
		return volumeNamed(options.PVName), ProvisioningFinished, nil
	}
	return s.provision(options)
}

func (s *scripted) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	s.calls = append(s.calls, "delete "+volume.Name)
	if s.delete == nil {
		return nil
	}
	return s.delete(volume)
}

const testName = "example.com/test"

// newTest makes a controller of p with class "fast" (Immediate) and "local"
// (WaitForFirstConsumer) in its cache.
func newTest(t *testing.T, p Provisioner, change ...func(*Config)) (*provisionController, *fakeEnv) {
	t.Helper()
	env := &fakeEnv{
		client: fake.NewSimpleClientset(), // enough here, and a thousand times faster than NewClientset
		queues: map[string]*fakeQueue{}, every: map[string]time.Duration{},
	}
	cfg := Config{Name: testName, AdditionalNames: []string{"example.com/other"}, Provisioner: p}
	for _, f := range change {
		f(&cfg)
	}
	cfg, err := cfg.checked()
	require.NoError(t, err)
	ctrl := newProvisionController(cfg, env)
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	ctrl.classes.Replace([]control.Item{
		control.ItemOf(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: testName}),
		control.ItemOf(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "local"}, Provisioner: testName, VolumeBindingMode: &wait}),
		control.ItemOf(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "foreign"}, Provisioner: "example.com/foreign"}),
	})
	return ctrl, env
}

// give puts a claim into the API and the cache.
func give(t *testing.T, ctrl *provisionController, env *fakeEnv, claim *v1.PersistentVolumeClaim) {
	t.Helper()
	require.NoError(t, env.client.Tracker().Add(claim.DeepCopy()))
	ctrl.claims.Deliver(control.Change{Type: watch.Added, Item: control.ItemOf(claim)})
}

func claimOf(class string, change ...func(*v1.PersistentVolumeClaim)) *v1.PersistentVolumeClaim {
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: "data", Namespace: "default", UID: types.UID("uid-1"), ResourceVersion: "7",
			Annotations: map[string]string{binding.AnnStorageProvisioner: testName},
		},
		Spec: v1.PersistentVolumeClaimSpec{StorageClassName: &class},
	}
	for _, f := range change {
		f(claim)
	}
	return claim
}

func annotate(key, value string) func(*v1.PersistentVolumeClaim) {
	return func(claim *v1.PersistentVolumeClaim) { metav1.SetMetaDataAnnotation(&claim.ObjectMeta, key, value) }
}

func volumeNamed(name string) *v1.PersistentVolume {
	return &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// refuse has the API refuse calls, times of them, negative for ever.
func refuse(env *fakeEnv, verb, resource string, times int, err error) {
	env.client.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		if times == 0 {
			return false, nil, nil
		}
		times--
		return true, nil, err
	})
}

// writes returns the API calls made that change something.
func writes(env *fakeEnv) []string {
	var list []string
	for _, a := range env.client.Actions() {
		switch a.GetVerb() {
		case "get", "list", "watch":
		default:
			list = append(list, a.GetVerb()+" "+a.GetResource().Resource)
		}
	}
	return list
}
