package api

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var pullPolicies = []v1.PullPolicy{v1.PullAlways, v1.PullIfNotPresent, v1.PullNever}

// containers validates the containers of a pod, each name once.
// Upstream: core/validation validateContainers, validateInitContainers, v1.36.
func (p *problems) containers(spec *v1.PodSpec, volumes []*v1.Volume, at *field.Path) {
	if len(spec.Containers) == 0 {
		p.required(at.Child("containers"), "")
	}
	names := make([]string, 0, 8)
	for _, group := range containerGroups(spec) {
		if len(group.containers) == 0 {
			continue
		}
		path := at.Child(group.name)
		for i := range group.containers {
			c, at := &group.containers[i], path.Index(i)
			p.container(c, volumes, at)
			if slices.Contains(names, c.Name) {
				p.duplicate(at.Child("name"), c.Name)
			}
			names = append(names, c.Name)
			if group.name == "initContainers" {
				p.initContainer(c, at)
			} else {
				p.mainContainer(c, at)
			}
		}
	}
}

func (p *problems) container(c *v1.Container, volumes []*v1.Volume, at *field.Path) {
	if c.Name == "" {
		p.required(at.Child("name"), "")
	} else if !isLabel(c.Name) {
		p.dnsLabel(c.Name, at.Child("name"))
	}
	if c.Image == "" {
		p.required(at.Child("image"), "")
	}
	switch c.TerminationMessagePolicy {
	case v1.TerminationMessageReadFile, v1.TerminationMessageFallbackToLogsOnError:
	case "":
		p.required(at.Child("terminationMessagePolicy"), "")
	default:
		p.add(field.NotSupported(at.Child("terminationMessagePolicy"), c.TerminationMessagePolicy,
			[]v1.TerminationMessagePolicy{v1.TerminationMessageReadFile, v1.TerminationMessageFallbackToLogsOnError}))
	}
	p.ports(c.Ports, at)
	p.env(c, at)
	if len(c.VolumeMounts) > 0 {
		p.mounts(c, volumes, at.Child("volumeMounts"))
	}
	if len(c.VolumeDevices) > 0 {
		p.devices(c, volumes, at.Child("volumeDevices"))
	}
	if c.ImagePullPolicy != v1.PullAlways && c.ImagePullPolicy != v1.PullIfNotPresent {
		p.pullPolicy(c.ImagePullPolicy, at.Child("imagePullPolicy"))
	}
	p.resources(&c.Resources, at.Child("resources"))
}

func (p *problems) pullPolicy(policy v1.PullPolicy, at *field.Path) {
	switch policy {
	case v1.PullAlways, v1.PullIfNotPresent, v1.PullNever:
	case "":
		p.required(at, "")
	default:
		p.add(field.NotSupported(at, policy, pullPolicies))
	}
}

func (p *problems) mainContainer(c *v1.Container, at *field.Path) {
	for _, probe := range probes(c) {
		if probe.Probe != nil {
			p.probe(probe, at.Child(probe.name))
		}
	}
	if c.RestartPolicy != nil && *c.RestartPolicy != v1.ContainerRestartPolicyAlways &&
		*c.RestartPolicy != v1.ContainerRestartPolicyNever && *c.RestartPolicy != v1.ContainerRestartPolicyOnFailure {
		p.add(field.NotSupported(at.Child("restartPolicy"), *c.RestartPolicy, []v1.ContainerRestartPolicy{
			v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyOnFailure,
		}))
	}
}

// initContainer refuses what makes no sense in a container that runs to its end
// before the pod starts.
func (p *problems) initContainer(c *v1.Container, at *field.Path) {
	if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
		p.mainContainer(c, at)
		return
	}
	const sidecarsOnly = "may not be set for init containers without restartPolicy=Always"
	if c.Lifecycle != nil {
		p.forbidden(at.Child("lifecycle"), sidecarsOnly)
	}
	for _, probe := range probes(c) {
		if probe.Probe != nil {
			p.forbidden(at.Child(probe.name), sidecarsOnly)
		}
	}
}

type namedProbe struct {
	name string
	*v1.Probe
}

func probes(c *v1.Container) [3]namedProbe {
	return [3]namedProbe{{"livenessProbe", c.LivenessProbe}, {"readinessProbe", c.ReadinessProbe}, {"startupProbe", c.StartupProbe}}
}

func (p *problems) probe(probe namedProbe, at *field.Path) {
	handlers := 0
	for _, set := range []bool{probe.Exec != nil, probe.HTTPGet != nil, probe.TCPSocket != nil, probe.GRPC != nil} {
		if set {
			handlers++
		}
	}
	switch {
	case handlers == 0:
		p.required(at, "must specify a handler type")
	case handlers > 1:
		p.forbidden(at, "may not specify more than 1 handler type")
	}
	if probe.name != "readinessProbe" && probe.SuccessThreshold != 1 {
		p.invalid(at.Child("successThreshold"), probe.SuccessThreshold, "must be 1")
	}
}

func (p *problems) ports(ports []v1.ContainerPort, at *field.Path) {
	for i := range ports {
		port, path := &ports[i], at.Child("ports").Index(i)
		if port.Name != "" {
			p.messages(path.Child("name"), port.Name, validation.IsValidPortName(port.Name))
			if slices.ContainsFunc(ports[:i], func(o v1.ContainerPort) bool { return o.Name == port.Name }) {
				p.duplicate(path.Child("name"), port.Name)
			}
		}
		if port.ContainerPort == 0 {
			p.required(path.Child("containerPort"), "")
		} else {
			p.portNumber(port.ContainerPort, path.Child("containerPort"))
		}
		if port.HostPort != 0 {
			p.portNumber(port.HostPort, path.Child("hostPort"))
		}
		switch port.Protocol {
		case v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP:
		case "":
			p.required(path.Child("protocol"), "")
		default:
			p.add(field.NotSupported(path.Child("protocol"), port.Protocol,
				[]v1.Protocol{v1.ProtocolSCTP, v1.ProtocolTCP, v1.ProtocolUDP}))
		}
	}
}

func (p *problems) portNumber(port int32, at *field.Path) {
	for _, msg := range validation.IsValidPortNum(int(port)) {
		p.invalid(at, port, msg)
	}
}

var envFields = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
	"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
}

// env validates a container's environment.
func (p *problems) env(c *v1.Container, at *field.Path) {
	for i := range c.Env {
		e := &c.Env[i]
		if e.Name == "" {
			p.required(at.Child("env").Index(i).Child("name"), "")
		}
		if e.ValueFrom != nil {
			p.envSource(e, at.Child("env").Index(i).Child("valueFrom"))
		}
	}
	for i := range c.EnvFrom {
		from, path := &c.EnvFrom[i], at.Child("envFrom").Index(i)
		switch {
		case from.ConfigMapRef == nil && from.SecretRef == nil:
			p.invalid(at.Child("envFrom"), "", "must specify one of: `configMapRef` or `secretRef`")
		case from.ConfigMapRef != nil && from.SecretRef != nil:
			p.invalid(at.Child("envFrom"), "", "may not have more than one field specified at a time")
		case from.ConfigMapRef != nil:
			p.need(path.Child("configMapRef"), "name", from.ConfigMapRef.Name)
		default:
			p.need(path.Child("secretRef"), "name", from.SecretRef.Name)
		}
	}
}

func (p *problems) envSource(e *v1.EnvVar, at *field.Path) {
	from, n := e.ValueFrom, 0
	if from.FieldRef != nil {
		n++
		p.fieldRef(from.FieldRef, envFields, at.Child("fieldRef"))
	}
	if from.ResourceFieldRef != nil {
		n++
		p.need(at.Child("resourceFieldRef"), "resource", from.ResourceFieldRef.Resource)
	}
	if from.ConfigMapKeyRef != nil {
		n++
		p.need(at.Child("configMapKeyRef"), "key", from.ConfigMapKeyRef.Key)
	}
	if from.SecretKeyRef != nil {
		n++
		p.need(at.Child("secretKeyRef"), "key", from.SecretKeyRef.Key)
	}
	if from.FileKeyRef != nil {
		n++
	}
	switch {
	case n == 0:
		p.invalid(at, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`")
	case e.Value != "":
		p.invalid(at, "", "may not be specified when `value` is not empty")
	case n > 1:
		p.invalid(at, "", "may not have more than one field specified at a time")
	}
}

// fieldRef validates a reference to one of the pod's own fields. A subscript,
// as in metadata.labels['app'], is taken as it is.
func (p *problems) fieldRef(ref *v1.ObjectFieldSelector, known []string, at *field.Path) {
	switch {
	case ref.APIVersion == "":
		p.required(at.Child("apiVersion"), "")
	case ref.FieldPath == "":
		p.required(at.Child("fieldPath"), "")
	case ref.FieldPath[len(ref.FieldPath)-1] == ']':
	case !slices.Contains(known, ref.FieldPath):
		p.add(field.NotSupported(at.Child("fieldPath"), ref.FieldPath, known))
	}
}
