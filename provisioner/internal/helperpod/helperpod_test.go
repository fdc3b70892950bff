package helperpod_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/provisioner/internal/helperpod"
	"github.com/storagesim/storagesim/trace"
)

const maker = "maker"

func helper() *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name = "default", "helper"
	pod.Spec.Containers = []v1.Container{{Name: "c", Image: "busybox"}}
	return pod
}

// run makes an actor run a helper pod that reaches the phase at once. It returns the time that
// Run took, whether the pod still exists, and the error of Run.
func run(t *testing.T, ends v1.PodPhase, prepare func(*engine.Engine)) (took time.Duration, left bool, said error) {
	t.Helper()
	e := engine.New(engine.Config{})
	t.Cleanup(e.Close)
	pods := fake.New(e.Server(), "user").CoreV1().Pods("default")
	done := false
	require.NoError(t, e.Add("node", func(env control.Env) error {
		env.Every("run", time.Second/2, func(ctx context.Context) {
			pod, err := env.Client().CoreV1().Pods("default").Get(ctx, "helper", metav1.GetOptions{})
			if err != nil || ends == "" || pod.Status.Phase == ends {
				return
			}
			pod.Status.Phase = ends
			_, _ = env.Client().CoreV1().Pods("default").UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		})
		return nil
	}))
	require.NoError(t, e.Add(maker, func(env control.Env) error {
		env.Go("run", func(ctx context.Context) {
			began := env.Now()
			said = helperpod.Runner{Client: env.Client(), Clock: env, Timeout: 5 * time.Second, Trace: env.Trace}.Run(ctx, helper())
			took, done = env.Now().Sub(began), true
		})
		return nil
	}))
	if prepare != nil {
		prepare(e)
	}
	require.NoError(t, e.RunUntil(time.Minute, func() bool { return done }))
	_, err := pods.Get(t.Context(), "helper", metav1.GetOptions{})
	return took, !apierrors.IsNotFound(err), said
}

func refusing(t *testing.T, verb string) func(*engine.Engine) {
	return func(e *engine.Engine) {
		require.NoError(t, e.Inject(engine.Fault{Actor: maker, Verb: verb, Resource: "pods", Err: errors.New("etcd is down")}))
	}
}

func TestHowAPodEndsIsWhatRunSays(t *testing.T) {
	for name, tt := range map[string]struct {
		ends    v1.PodPhase
		prepare func(*engine.Engine)
		want    string // "" is success
		took    time.Duration
		left    bool
	}{
		"it succeeds":                     {v1.PodSucceeded, nil, "", time.Second, false},
		"it fails, and is not waited for": {v1.PodFailed, nil, "helper pod default/helper has failed", time.Second, false},
		"it never ends":                   {"", nil, "create process timeout after 5 seconds", 5 * time.Second, false},
		"it cannot be created":            {v1.PodSucceeded, refusing(t, "create"), "etcd is down", 0, false},
		"it cannot be looked at":          {v1.PodSucceeded, refusing(t, "get"), "etcd is down", time.Second, false},
		"it cannot be deleted":            {v1.PodSucceeded, refusing(t, "delete"), "cannot delete helper pod default/helper: etcd is down", time.Second, true},
		"it fails and cannot be deleted": {v1.PodFailed, refusing(t, "delete"), "has failed; and cannot delete helper pod default/helper: etcd is down",
			time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			took, left, err := run(t, tt.ends, tt.prepare)
			if tt.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.want)
			}
			assert.Equal(t, tt.took, took)
			assert.Equal(t, tt.left, left)
		})
	}
}

// A crash left a pod of that name, which has succeeded: that is not believed.
func TestAPodLeftBehindIsMadeAnew(t *testing.T) {
	leftover := func(e *engine.Engine) {
		pods := fake.New(e.Server(), "user").CoreV1().Pods("default")
		pod, err := pods.Create(t.Context(), helper(), metav1.CreateOptions{})
		require.NoError(t, err)
		pod.Status.Phase = v1.PodSucceeded
		_, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	_, left, err := run(t, v1.PodFailed, leftover)
	require.ErrorContains(t, err, "helper pod default/helper has failed", "the new one has")
	assert.False(t, left)

	_, left, err = run(t, v1.PodSucceeded, func(e *engine.Engine) { leftover(e); refusing(t, "delete")(e) })
	require.ErrorContains(t, err, "cannot delete helper pod default/helper: etcd is down")
	assert.True(t, left)
}

func TestWhereUpstreamTrustsALeftoverPodTheTraceSaysSo(t *testing.T) {
	for name, tt := range map[string]struct {
		before  bool
		refused bool
		want    []trace.Situation
	}{
		"all goes well":                    {want: nil},
		"a pod was left behind":            {before: true, want: []trace.Situation{trace.LeftoverHelper}},
		"it cannot be deleted at the end":  {refused: true, want: []trace.Situation{trace.HelperStays}},
		"it was there and cannot be moved": {before: true, refused: true, want: []trace.Situation{trace.LeftoverHelper, trace.HelperStays}},
	} {
		var log *trace.Log
		_, _, _ = run(t, v1.PodSucceeded, func(e *engine.Engine) {
			log = e.Trace()
			if tt.before {
				_, err := fake.New(e.Server(), "user").CoreV1().Pods("default").Create(t.Context(), helper(), metav1.CreateOptions{})
				require.NoError(t, err)
			}
			if tt.refused {
				refusing(t, "delete")(e)
			}
		})
		var told []trace.Situation
		for _, d := range log.Deviations() {
			told = append(told, d.Situation)
		}
		assert.Equal(t, tt.want, told, name)
	}
}
