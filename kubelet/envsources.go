package kubelet

import (
	"context"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// envSource names a ConfigMap or Secret that gives a container values for its environment.
type envSource struct{ kind, name string }

// envValues holds the values of one, or why there are none.
type envValues struct {
	values map[string]string
	err    error
}

// get returns the value of a key. found is false if what is missing may be.
//
// Upstream: kubelet_pods.go makeEnvironmentVariables, v1.37.
func (e envValues) get(key, namespace string, from envSource, optional *bool) (value string, found bool, err error) {
	if e.err != nil {
		return "", false, e.missing(optional)
	}
	value, found = e.values[key]
	if !found && (optional == nil || !*optional) {
		return "", false, fmt.Errorf("couldn't find key %s in %s %s/%s", key, from.kind, namespace, from.name)
	}
	return value, found, nil
}

// missing returns the error of a read, unless the object is optional and not there.
func (e envValues) missing(optional *bool) error {
	if optional != nil && *optional && apierrors.IsNotFound(e.err) {
		return nil
	}
	return e.err
}

// envSources returns the ConfigMaps and Secrets that the environments of a pod's containers come from, in their order.
func envSources(pod *v1.Pod) (all []envSource) {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers, ephemeralContainers(pod)} {
		for i := range list {
			for _, e := range list[i].EnvFrom {
				if e.ConfigMapRef != nil {
					all = append(all, envSource{"ConfigMap", e.ConfigMapRef.Name})
				}
				if e.SecretRef != nil {
					all = append(all, envSource{"Secret", e.SecretRef.Name})
				}
			}
			for _, e := range list[i].Env {
				if from, _, _ := keyOf(e.ValueFrom); from.name != "" {
					all = append(all, from)
				}
			}
		}
	}
	return all
}

// keyOf returns the object and the key in it that a variable's value comes from, and whether they may be missing; no name if it comes from
// anywhere else.
func keyOf(from *v1.EnvVarSource) (source envSource, key string, optional *bool) {
	switch {
	case from == nil:
	case from.ConfigMapKeyRef != nil:
		return envSource{"ConfigMap", from.ConfigMapKeyRef.Name}, from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Optional
	case from.SecretKeyRef != nil:
		return envSource{"Secret", from.SecretKeyRef.Name}, from.SecretKeyRef.Key, from.SecretKeyRef.Optional
	}
	return envSource{}, "", nil
}

// fetchEnvSources reads the objects that the environments of a pod's containers come from, so that a start needs no API call. Others may act
// meanwhile: the caller looks at the pod again.
//
// Upstream: pkg/kubelet/secret secret_manager.go GetSecret and its like for ConfigMaps, v1.37. The error for a missing object is that of the
// managers that watch, which are the default.
func (k *kubelet) fetchEnvSources(ctx context.Context, w *podWorker) {
	sources := envSources(w.pod)
	if len(sources) == 0 {
		return
	}
	core, namespace := k.env.Client().CoreV1(), w.pod.Namespace
	read := map[envSource]envValues{}
	for _, from := range sources {
		if _, done := read[from]; done {
			continue
		}
		got := envValues{values: map[string]string{}}
		if from.kind == "Secret" {
			secret, err := core.Secrets(namespace).Get(ctx, from.name, metav1.GetOptions{})
			if got.err = err; err == nil {
				for key, value := range secret.Data {
					got.values[key] = string(value)
				}
			}
		} else {
			configMap, err := core.ConfigMaps(namespace).Get(ctx, from.name, metav1.GetOptions{})
			if got.err = err; err == nil {
				maps.Copy(got.values, configMap.Data)
			}
		}
		if apierrors.IsNotFound(got.err) {
			got.err = apierrors.NewNotFound(v1.Resource(map[string]string{"Secret": "secret", "ConfigMap": "configmap"}[from.kind]), from.name)
		}
		read[from] = got
	}
	w.envSources = read
}

// readsEnvSources reports whether a sync may start a container whose environment comes from ConfigMaps or Secrets.
func (k *kubelet) readsEnvSources(w *podWorker, s *podStatus) bool {
	return w.envSources == nil || k.volumes.AreMounted(w.uid) && (s == nil || s.startsMore(w.pod))
}
