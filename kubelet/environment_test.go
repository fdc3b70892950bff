package kubelet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func fromSecret(name, secret, key string, optional bool) v1.EnvVar {
	return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{SecretKeyRef: &v1.SecretKeySelector{
		LocalObjectReference: v1.LocalObjectReference{Name: secret}, Key: key, Optional: &optional,
	}}}
}

func fromConfigMap(name, configMap, key string) v1.EnvVar {
	return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: &v1.ConfigMapKeySelector{
		LocalObjectReference: v1.LocalObjectReference{Name: configMap}, Key: key,
	}}}
}

// withEnvironment returns a pod that makes a directory of each word, and ends.
func withEnvironment(env []v1.EnvVar, words ...string) *v1.Pod {
	p := helper(pod("maker", hostPath("disk", "/disk", v1.HostPathDirectory)), append([]string{"mkdir"}, words...)...)
	p.Spec.Containers[0].Env = env
	return p
}

// Upstream: kubelet_pods.go makeEnvironmentVariables, v1.37.
func TestAContainersEnvironmentHasValuesOfConfigMapsSecretsAndResources(t *testing.T) {
	w := simple(t)
	w.secret("login", map[string]string{"user": "amy", "word": "open"})
	w.configMap("names", map[string]string{"city": "oslo", "user": "bob"})
	p := withEnvironment([]v1.EnvVar{
		fromSecret("A", "login", "user", false), fromConfigMap("B", "names", "city"), {Name: "C", Value: "$(A)-$(B)"},
		fromSecret("D", "login", "nothing", true), fromSecret("E", "none", "x", true),
		{Name: "F", ValueFrom: &v1.EnvVarSource{ResourceFieldRef: &v1.ResourceFieldSelector{Resource: "limits.memory", Divisor: resource.MustParse("1Mi")}}},
	}, "/disk/$(A)", "/disk/$(B)", "/disk/$(C)", "/disk/$(D)", "/disk/$(E)", "/disk/$(F)", "/disk/$(x_user)", "/disk/$(city)", "/disk/$(y_user)")
	p.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("64Mi")}
	yes := true
	p.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{
		{Prefix: "x_", SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "login"}}},
		{ConfigMapRef: &v1.ConfigMapEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "names"}}},
		{Prefix: "y_", SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "none"}, Optional: &yes}},
	}
	w.create(p)
	w.settle()
	names, err := w.node.List("/disk")
	require.NoError(t, err)
	require.Equal(t, []string{"$(D)/", "$(E)/", "$(y_user)/", "64/", "amy/", "amy-oslo/", "data/", "oslo/"}, names, "the secret's user is x_user, amy, too")
}

// Upstream: kubelet_pods.go makeEnvironmentVariables, v1.37.
func TestAContainerWhoseEnvironmentIsNotThereWaitsForIt(t *testing.T) {
	all := func(secret string) []v1.EnvFromSource {
		return []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: secret}}}}
	}
	for name, test := range map[string]struct {
		env  []v1.EnvVar
		from []v1.EnvFromSource
		want string
	}{
		"no secret":             {env: []v1.EnvVar{fromSecret("A", "word", "key", false)}, want: `secret "word" not found`},
		"no key":                {env: []v1.EnvVar{fromSecret("A", "login", "key", false)}, want: "couldn't find key key in Secret default/login"},
		"no config map":         {env: []v1.EnvVar{fromConfigMap("A", "word", "key")}, want: `configmap "word" not found`},
		"no key of a configmap": {env: []v1.EnvVar{fromConfigMap("A", "names", "key")}, want: "couldn't find key key in ConfigMap default/names"},
		"none of all":           {from: all("word"), want: `secret "word" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			w := simple(t)
			w.secret("login", map[string]string{"user": "amy"})
			w.configMap("names", map[string]string{"city": "oslo"})
			p := withEnvironment(test.env, "/disk/made")
			p.Spec.Containers[0].EnvFrom = test.from
			w.create(p)
			w.settle()
			w.requireWaiting("maker", "c", "CreateContainerConfigError", test.want)
			w.requireEvent("maker", "Failed", "Error: "+test.want)

			require.NoError(t, w.e.RunFor(10*time.Minute))
			w.secret("word", map[string]string{"key": "x"})
			w.configMap("word", map[string]string{"key": "x"})
			require.NoError(t, w.e.RunFor(15*time.Second)) // however often it has failed before
			if name == "no key" || name == "no key of a configmap" {
				w.requireWaiting("maker", "c", "CreateContainerConfigError", test.want)
			} else {
				require.Equal(t, v1.PodSucceeded, w.get("maker").Status.Phase, w.trace())
			}
		})
	}
}
