package api_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control"
)

var (
	pods       = v1.SchemeGroupVersion.WithResource("pods")
	namespaces = v1.SchemeGroupVersion.WithResource("namespaces")
)

// warnings carries a request out, and returns what the server warned of.
func warnings(s *api.Server, verb string, resource schema.GroupVersionResource, sub string, obj control.Object) (warned []string, err error) {
	_, err = s.Do(ctx, api.Request{
		Actor: "user", Verb: verb, Resource: resource, Subresource: sub, Namespace: obj.GetNamespace(), Name: obj.GetName(), Object: obj.(runtime.Object),
		Warn: func(text string) { warned = append(warned, text) },
	})
	return warned, err
}

// asking returns a namespace of that name that asks, with pairs of a mode and a level, something of its pods.
func asking(name string, modes ...string) *v1.Namespace {
	ns := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	for i := 0; i < len(modes); i += 2 {
		ns.Labels["pod-security.kubernetes.io/"+modes[i]] = modes[i+1]
	}
	return ns
}

func privileged(name, namespace string) *v1.Pod {
	p, yes := pod(name), true
	p.Namespace, p.Spec.Containers[0].SecurityContext = namespace, &v1.SecurityContext{Privileged: &yes}
	return p
}

const isPrivileged = `privileged (container "c" must not set securityContext.privileged=true)`

// Upstream: pod-security-admission admission.go ValidatePod and ValidatePodController, v0.37.2.
func TestANamespaceAsksForPodSecurity(t *testing.T) {
	const violates, would = `pods "a" is forbidden: violates PodSecurity "`, `would violate PodSecurity "baseline:latest": ` + isPrivileged
	template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: privileged("", "").Spec}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "n"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
	}}
	cron := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "n"}, Spec: batchv1.CronJobSpec{Schedule: "* * * * *"}}
	cron.Spec.JobTemplate.Spec.Template = *template.DeepCopy()
	cron.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = v1.RestartPolicyNever
	for name, c := range map[string]struct {
		modes    []string
		resource schema.GroupVersionResource
		obj      control.Object
		err      string
		warned   []string
	}{
		"nothing":  {nil, pods, privileged("a", "n"), "", nil},
		"all":      {[]string{"enforce", "privileged"}, pods, privileged("a", "n"), "", nil},
		"baseline": {[]string{"enforce", "baseline"}, pods, privileged("a", "n"), violates + `baseline:latest": ` + isPrivileged, nil},
		"a version": {[]string{"enforce", "baseline", "enforce-version", "v1.20"}, pods, privileged("a", "n"),
			violates + `baseline:v1.20": ` + isPrivileged, nil},
		"a warning":            {[]string{"warn", "baseline"}, pods, privileged("a", "n"), "", []string{would}},
		"an entry of the log":  {[]string{"audit", "baseline"}, pods, privileged("a", "n"), "", nil},
		"a workload":           {[]string{"enforce", "baseline"}, appsv1.SchemeGroupVersion.WithResource("deployments"), deployment, "", []string{would}},
		"jobs of a time":       {[]string{"enforce", "baseline"}, batchv1.SchemeGroupVersion.WithResource("cronjobs"), cron, "", []string{would}},
		"a workload, no words": {[]string{"enforce", "baseline", "warn", "privileged"}, appsv1.SchemeGroupVersion.WithResource("deployments"), deployment, "", nil},
	} {
		s, _ := newServer()
		_, err := warnings(s, "create", namespaces, "", asking("n", c.modes...))
		require.NoError(t, err, name)
		warned, err := warnings(s, "create", c.resource, "", c.obj.DeepCopyObject().(control.Object))
		if c.err == "" {
			assert.NoError(t, err, name)
		} else {
			assert.EqualError(t, err, c.err, name)
			assert.True(t, apierrors.IsForbidden(err), name)
		}
		assert.Equal(t, c.warned, warned, name)
	}
}

// What cannot change of a pod, and does not change, is not looked at again: a pod that was there before its namespace asked for more goes on, and is warned of.
// Upstream: pod-security-admission admission.go isSignificantPodUpdate and ValidateNamespace, v0.37.2.
func TestPodsThatWereThereBeforeAreWarnedOf(t *testing.T) {
	s, c := newServer()
	_, err := warnings(s, "create", namespaces, "", asking("n"))
	require.NoError(t, err)
	yes := true
	for _, name := range []string{"a", "b", "d", "e"} {
		p := privileged(name, "n")
		if name != "e" {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "1", Controller: &yes}}
		}
		createPod(t, c, p)
	}
	shared := pod("shared")
	shared.Namespace, shared.Spec.HostNetwork = "n", true
	createPod(t, c, shared)

	warned, err := warnings(s, "update", namespaces, "", asking("n", "enforce", "baseline"))
	require.NoError(t, err)
	assert.Equal(t, []string{
		`existing pods in namespace "n" violate the new PodSecurity enforce level "baseline:latest"`,
		"a (and 3 other pods): privileged", "shared: host namespaces",
	}, warned)
	warned, err = warnings(s, "update", namespaces, "", asking("n", "enforce", "baseline", "warn", "baseline"))
	require.NoError(t, err)
	assert.Empty(t, warned, "it asks for no more than before")

	change := func(sub string, f func(*v1.Pod)) error {
		p, err := c.CoreV1().Pods("n").Get(ctx, "a", metav1.GetOptions{})
		require.NoError(t, err)
		f(p)
		_, err = warnings(s, "update", pods, sub, p)
		return err
	}
	assert.NoError(t, change("", func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} }))
	assert.NoError(t, change("status", func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }))
	assert.ErrorContains(t, change("", func(p *v1.Pod) { p.Spec.Containers[0].Image = "other" }), isPrivileged)
	assert.ErrorContains(t, change("ephemeralcontainers", func(p *v1.Pod) {
		p.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "d", Image: "busybox"}}}
	}), isPrivileged)
}

// Upstream: pod-security-admission admission.go ValidateNamespace, v0.37.2.
func TestLabelsOfPodSecurityAreRefusedIfTheyAreWrong(t *testing.T) {
	const wrong = `metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted`
	s, _ := newServer()
	_, err := warnings(s, "create", namespaces, "", asking("n", "enforce", "strict"))
	assert.True(t, apierrors.IsInvalid(err), err)
	assert.EqualError(t, err, `Namespace "n" is invalid: `+wrong)
	_, err = warnings(s, "create", namespaces, "", asking("n"))
	require.NoError(t, err)
	_, err = warnings(s, "update", namespaces, "", asking("n", "enforce", "strict"))
	assert.EqualError(t, err, `Namespace "n" is invalid: `+wrong)
	_, err = warnings(s, "update", namespaces, "", asking("n", "enforce-version", "1.37"))
	assert.EqualError(t, err, `Namespace "n" is invalid: metadata.labels[pod-security.kubernetes.io/enforce-version]: `+
		`Invalid value: "1.37": must be "latest" or "v1.x"`)
}
