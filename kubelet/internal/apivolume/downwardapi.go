package apivolume

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/storagesim/storagesim/volume"
)

// downwardAPI returns fields of the pod as files.
//
// Upstream: downwardapi.go CollectData, v1.37.
func downwardAPI(items []v1.DownwardAPIVolumeFile, mode int32) source {
	return source{collect: func(host volume.VolumeHost, pod *v1.Pod) (map[string]FileProjection, error) {
		payload := map[string]FileProjection{}
		var errs []error
		for _, item := range items {
			text, err := downwardValue(item, host, pod)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			file := FileProjection{Data: []byte(text), Mode: mode}
			if item.Mode != nil {
				file.Mode = *item.Mode
			}
			payload[path.Clean(item.Path)] = file
		}
		return payload, utilerrors.NewAggregate(errs)
	}}
}

func downwardValue(item v1.DownwardAPIVolumeFile, host volume.VolumeHost, pod *v1.Pod) (string, error) {
	switch {
	case item.FieldRef != nil:
		return ExtractFieldPathAsString(pod, item.FieldRef.FieldPath)
	case item.ResourceFieldRef != nil:
		return ResourceValue(pod, item.ResourceFieldRef, host.GetNodeAllocatable())
	}
	return "", fmt.Errorf("downwardAPI item %s has neither fieldRef nor resourceFieldRef", item.Path)
}

// ExtractFieldPathAsString returns a field of the pod's metadata: those that a volume
// may have. Any other is an error.
//
// Upstream: pkg/fieldpath ExtractFieldPathAsString, v1.37.
func ExtractFieldPathAsString(pod *v1.Pod, field string) (string, error) {
	if name, key, ok := subscript(field); ok {
		switch name {
		case "metadata.annotations":
			return pod.Annotations[key], nil
		case "metadata.labels":
			return pod.Labels[key], nil
		}
		return "", fmt.Errorf("fieldPath %q does not support subscript", field)
	}
	switch field {
	case "metadata.annotations":
		return formatMap(pod.Annotations), nil
	case "metadata.labels":
		return formatMap(pod.Labels), nil
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	}
	return "", fmt.Errorf("unsupported fieldPath: %v", field)
}

// subscript takes "metadata.labels['key']" apart.
func subscript(field string) (name, key string, ok bool) {
	rest, ok := strings.CutSuffix(field, "']")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "['")
}

// formatMap returns a line for each key, in order.
//
// Upstream: pkg/fieldpath FormatMap, v1.37.
func formatMap(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, fmt.Sprintf("%s=%q", key, m[key]))
	}
	return strings.Join(lines, "\n")
}

// ResourceValue returns a container's limit or request, in units of the divisor and
// rounded up. A limit that is not set is the node's.
//
// Upstream: pkg/api/v1/resource ExtractResourceValueByContainerNameAndNodeAllocatable,
// v1.37.
func ResourceValue(pod *v1.Pod, ref *v1.ResourceFieldSelector, allocatable v1.ResourceList) (string, error) {
	containers := slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers)
	i := slices.IndexFunc(containers, func(c v1.Container) bool { return c.Name == ref.ContainerName })
	if i < 0 {
		return "", fmt.Errorf("container %s not found", ref.ContainerName)
	}
	kind, name, _ := strings.Cut(ref.Resource, ".")
	var list v1.ResourceList
	switch kind {
	case "limits":
		list = containers[i].Resources.Limits
	case "requests":
		list = containers[i].Resources.Requests
	default:
		return "", fmt.Errorf("unsupported container resource : %v", ref.Resource)
	}
	value, set := list[v1.ResourceName(name)]
	if !set && kind == "limits" {
		value = allocatable[v1.ResourceName(name)]
	}
	return inUnits(v1.ResourceName(name), value, ref.Divisor)
}

func inUnits(name v1.ResourceName, value, divisor resource.Quantity) (string, error) {
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	amount, unit := value.Value(), divisor.Value()
	switch {
	case name == v1.ResourceCPU:
		amount, unit = value.MilliValue(), divisor.MilliValue()
	case name != v1.ResourceMemory && name != v1.ResourceEphemeralStorage && !strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix):
		return "", fmt.Errorf("unsupported container resource : %v", name)
	}
	if unit <= 0 {
		return "", fmt.Errorf("divisor %s of %s is not positive", divisor.String(), name)
	}
	return strconv.FormatInt((amount+unit-1)/unit, 10), nil
}
