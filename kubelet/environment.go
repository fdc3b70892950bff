package kubelet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/internal/apivolume"
	"github.com/storagesim/storagesim/kubelet/volumemanager"
)

// environment returns a container's environment: all of the ConfigMaps and Secrets that it names, and then its variables in
// their order, with $(NAME) for one before it. The variables of Services are left out.
//
// Upstream: kubelet_pods.go makeEnvironmentVariables, v1.37.
func (k *kubelet) environment(w *podWorker, ip string, c *v1.Container, volumes map[string]volumemanager.MountedVolume) (map[string]string, error) {
	env := map[string]string{}
	for _, e := range c.EnvFrom {
		from, optional := envSource{}, (*bool)(nil)
		switch {
		case e.ConfigMapRef != nil:
			from, optional = envSource{"ConfigMap", e.ConfigMapRef.Name}, e.ConfigMapRef.Optional
		case e.SecretRef != nil:
			from, optional = envSource{"Secret", e.SecretRef.Name}, e.SecretRef.Optional
		}
		read := w.envSources[from]
		if err := read.missing(optional); err != nil {
			return nil, err
		}
		for key, value := range read.values {
			env[e.Prefix+key] = value
		}
	}
	for _, e := range c.Env {
		value, found, err := k.variable(w, ip, c, e, env, volumes)
		if err != nil {
			return nil, err
		}
		if found {
			env[e.Name] = value
		}
	}
	return env, nil
}

// variable returns the value of one variable of a container's environment, if it has one.
//
// Upstream: kubelet_pods.go makeEnvironmentVariables, v1.37.
func (k *kubelet) variable(w *podWorker, ip string, c *v1.Container, e v1.EnvVar, env map[string]string,
	volumes map[string]volumemanager.MountedVolume) (value string, found bool, err error) {
	if e.ValueFrom == nil || e.Value != "" {
		return expandVariables(e.Value, orUnchanged(env)), true, nil
	}
	switch from, key, optional := keyOf(e.ValueFrom); {
	case from.name != "":
		return w.envSources[from].get(key, w.pod.Namespace, from, optional)
	case e.ValueFrom.FieldRef != nil:
		value, err = k.podField(w.pod, ip, e.ValueFrom.FieldRef.FieldPath)
	case e.ValueFrom.ResourceFieldRef != nil:
		ref := *e.ValueFrom.ResourceFieldRef
		ref.ContainerName = cmp.Or(ref.ContainerName, c.Name)
		value, err = apivolume.ResourceValue(w.pod, &ref, k.node.Template().Status.Allocatable)
	case e.ValueFrom.FileKeyRef != nil:
		return k.fileVariable(e.ValueFrom.FileKeyRef, volumes)
	}
	return value, err == nil, err
}

// orUnchanged returns a variable's value; a reference to an unknown variable stays as it is written.
func orUnchanged(env map[string]string) func(name string) string {
	return func(name string) string {
		if value, ok := env[name]; ok {
			return value
		}
		return "$(" + name + ")"
	}
}

// expandWords returns words of the container's command with the variables replaced.
//
// Upstream: container/helpers.go ExpandContainerCommandAndArgs, v1.37.
func expandWords(words []string, env map[string]string) []string {
	words = slices.Clone(words)
	for i := range words {
		words[i] = expandVariables(words[i], orUnchanged(env))
	}
	return words
}

// podField returns a field of the pod as a container's environment may have it.
//
// Upstream: kubelet_pods.go podFieldSelectorRuntimeValue, v1.37.
func (k *kubelet) podField(pod *v1.Pod, ip, field string) (string, error) {
	switch field {
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return k.node.HostIP(), nil
	case "status.podIP", "status.podIPs":
		return ip, nil
	}
	return apivolume.ExtractFieldPathAsString(pod, field)
}

// expandSubPath returns the mount's subPath, or its subPathExpr with the variables put
// in. A variable that is not there, or empty, is an error: the whole volume would
// be mounted otherwise.
//
// Upstream: container/helpers.go ExpandContainerVolumeMounts, v1.37.
func expandSubPath(m v1.VolumeMount, env map[string]string) (string, error) {
	if m.SubPathExpr == "" {
		return m.SubPath, nil
	}
	missing := map[string]bool{}
	text := expandVariables(m.SubPathExpr, func(name string) string {
		if env[name] == "" {
			missing[name] = true
		}
		return env[name]
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("missing value for %s", strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	return text, nil
}

// expandVariables puts values in for $(NAME). $$ is a dollar, and what is neither is
// left as it is.
//
// Upstream: third_party/forked/golang/expansion Expand, v1.37.
func expandVariables(text string, value func(name string) string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		text = rest
		name, after, closed := strings.Cut(strings.TrimPrefix(rest, "("), ")")
		switch {
		case strings.HasPrefix(rest, "$"):
			out.WriteByte('$')
			text = rest[1:]
		case strings.HasPrefix(rest, "(") && closed:
			out.WriteString(value(name))
			text = after
		default:
			out.WriteByte('$')
		}
	}
}
