package localpath

import (
	"encoding/json"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/internal/quantity"
)

// loadHelperPod reads the template of helper pods, and refuses one that could do
// more than a helper pod needs unless that is allowed.
//
// Upstream: util.go loadHelperPodFile, v0.0.37.
func loadHelperPod(text string, allowUnsafe bool) (*v1.Pod, error) {
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("invalid YAMLToJSON the helper pod with helperPodYaml: %s", text)
	}
	pod := &v1.Pod{}
	if err := quantity.CheckJSON(data, pod); err != nil {
		return nil, fmt.Errorf("helper pod template: %w", err)
	}
	if err := json.Unmarshal(data, pod); err != nil {
		return nil, fmt.Errorf("invalid unmarshal the helper pod with helperPodJson: %s", data)
	}
	if len(pod.Spec.Containers) == 0 {
		return nil, errors.New("helper pod template does not specify any container")
	}
	if allowUnsafe {
		return pod, nil
	}
	return pod, validateHelperPodTemplate(pod)
}

// validateHelperPodTemplate refuses what a template may not have by default.
//
// Upstream: util.go validateHelperPodTemplate, v0.0.37.
func validateHelperPodTemplate(pod *v1.Pod) error {
	if len(pod.Spec.Containers) != 1 {
		return errors.New("helper pod template must specify exactly one container")
	}
	spec, c := pod.Spec, pod.Spec.Containers[0]
	for _, check := range append([]forbidden{
		{len(spec.InitContainers) > 0, "define initContainers"},
		{len(spec.EphemeralContainers) > 0, "define ephemeralContainers"},
		{len(spec.Volumes) > 0, "define custom volumes"},
		{spec.HostNetwork || spec.HostPID || spec.HostIPC, "enable host namespaces"},
		{spec.NodeName != "", "set spec.nodeName"},
		{spec.ServiceAccountName != "", "set spec.serviceAccountName"},
		{len(c.VolumeMounts) > 0, "define custom volumeMounts"},
		{len(c.EnvFrom) > 0, "define envFrom"},
		{c.Lifecycle != nil, "define container lifecycle hooks"},
		{c.LivenessProbe != nil, "define container livenessProbe"},
		{c.ReadinessProbe != nil, "define container readinessProbe"},
		{c.StartupProbe != nil, "define container startupProbe"},
	}, privileges(pod)...) {
		if check.is {
			return fmt.Errorf("helper pod template must not %s unless allow-unsafe-helper-pod-template is enabled", check.to)
		}
	}
	return nil
}

// forbidden is something that a template must not do.
type forbidden struct {
	is bool
	to string
}

// privileges returns what would let a template's container do more than others: values
// from elsewhere, and the dangerous parts of security contexts.
func privileges(pod *v1.Pod) (checks []forbidden) {
	c := pod.Spec.Containers[0]
	for _, env := range c.Env {
		checks = append(checks, forbidden{env.ValueFrom != nil, fmt.Sprintf("define env.valueFrom (env %q)", env.Name)})
	}
	isRoot := func(id *int64) bool { return id != nil && *id == 0 }
	isTrue := func(flag *bool) bool { return flag != nil && *flag }
	if psc := pod.Spec.SecurityContext; psc != nil {
		checks = append(checks,
			forbidden{isRoot(psc.RunAsUser), "set pod runAsUser to 0 (root)"},
			forbidden{isRoot(psc.RunAsGroup), "set pod runAsGroup to 0 (root)"},
			forbidden{len(psc.Sysctls) > 0, "define sysctls"})
	}
	if sc := c.SecurityContext; sc != nil {
		checks = append(checks,
			forbidden{isTrue(sc.Privileged), "set privileged: true"},
			forbidden{sc.Capabilities != nil && len(sc.Capabilities.Add) > 0, "add capabilities"},
			forbidden{isTrue(sc.AllowPrivilegeEscalation), "set allowPrivilegeEscalation: true"})
	}
	return checks
}
