package pods

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/containers"
	"github.com/storagesim/storagesim/api/internal/validation"
)

var (
	pullPolicies        = []v1.PullPolicy{v1.PullAlways, v1.PullIfNotPresent, v1.PullNever}
	protocols           = []v1.Protocol{v1.ProtocolSCTP, v1.ProtocolTCP, v1.ProtocolUDP}
	containerRestarts   = []v1.ContainerRestartPolicy{v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyOnFailure}
	terminationPolicies = []v1.TerminationMessagePolicy{v1.TerminationMessageReadFile, v1.TerminationMessageFallbackToLogsOnError}
	restartActions      = []v1.ContainerRestartRuleAction{v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers}
	exitCodeOperators   = []v1.ContainerRestartRuleOnExitCodesOperator{v1.ContainerRestartRuleOnExitCodesOpIn, v1.ContainerRestartRuleOnExitCodesOpNotIn}
)

// checkContainers validates the containers that run for as long as the pod does.
// Upstream: core/validation validateContainers, v1.37.
func checkContainers(p *podRules, path *field.Path) {
	if len(p.spec.Containers) == 0 {
		p.Required(path, "")
		return
	}
	for i := range p.spec.Containers {
		c, at := &p.spec.Containers[i], path.Index(i)
		checkContainer(p, c, at)
		if slices.ContainsFunc(p.spec.Containers[:i], func(o v1.Container) bool { return o.Name == c.Name }) {
			p.Duplicate(at.Child("name"), c.Name)
		}
		checkLifecycle(p, c, at)
		checkContainerRestart(p, c, at)
	}
	checkHostPorts(p.Problems, p.spec.Containers, path)
}

// checkInitContainers validates the containers that run before the others: those that
// restart always (sidecars) may have what the others have, those that run to
// their end have no lifecycle and no probes.
// Upstream: core/validation validateInitContainers, v1.37.
func checkInitContainers(p *podRules, path *field.Path) {
	for i := range p.spec.InitContainers {
		c, at := &p.spec.InitContainers[i], path.Index(i)
		checkContainer(p, c, at)
		if c.RestartPolicy == nil && len(c.RestartPolicyRules) > 0 {
			p.Required(at.Child("restartPolicy"), needsRestartPolicy)
		} else {
			checkContainerRestart(p, c, at)
		}
		sameName := func(o v1.Container) bool { return o.Name == c.Name }
		if slices.ContainsFunc(p.spec.Containers, sameName) || c.Name != "" && slices.ContainsFunc(p.spec.InitContainers[:i], sameName) {
			p.Duplicate(at.Child("name"), c.Name)
		}
		checkHostPorts(p.Problems, p.spec.InitContainers[i:i+1], path)
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			checkLifecycle(p, c, at)
			continue
		}
		refuseLifecycle(p, c, at)
		for j, policy := range c.ResizePolicy {
			if policy.RestartPolicy == v1.RestartContainer {
				p.Invalid(at.Child("resizePolicy").Index(j).Child("restartPolicy"), policy.RestartPolicy,
					"must not be set to 'RestartContainer' for non-sidecar initContainers")
			}
		}
	}
}

func refuseLifecycle(p *podRules, c *v1.Container, at *field.Path) {
	const sidecarsOnly = "may not be set for init containers without restartPolicy=Always"
	if c.Lifecycle != nil {
		p.Forbidden(at.Child("lifecycle"), sidecarsOnly)
	}
	for _, probe := range containers.Probes(c) {
		if probe.Probe != nil {
			p.Forbidden(at.Child(probe.Name), sidecarsOnly)
		}
	}
}

// checkContainer validates what all containers have.
// Upstream: core/validation validateContainerCommon, v1.37.
func checkContainer(p *podRules, c *v1.Container, at *field.Path) {
	if c.Name == "" {
		p.Required(at.Child("name"), "")
	} else if !validation.IsLabel(c.Name) {
		p.DNSLabel(c.Name, at.Child("name"))
	}
	if c.Image == "" {
		p.Required(at.Child("image"), "")
	}
	validation.OneOf(p.Problems, c.TerminationMessagePolicy, terminationPolicies, at, "terminationMessagePolicy")
	checkPorts(p.Problems, c.Ports, at)
	checkEnv(p, c, at)
	if len(c.VolumeMounts) > 0 {
		checkMounts(p.Problems, c, p.volumes, at.Child("volumeMounts"))
	}
	if len(c.VolumeDevices) > 0 {
		checkDevices(p.Problems, c, p.volumes, at.Child("volumeDevices"))
	}
	validation.OneOf(p.Problems, c.ImagePullPolicy, pullPolicies, at, "imagePullPolicy")
	validation.CheckResources(p.Problems, &c.Resources, validation.ContainerResource, at, "resources")
	checkResourceClaimNames(p, c.Resources.Claims, at)
	checkResizePolicy(p, c.ResizePolicy, at)
	if c.SecurityContext != nil {
		checkSecurityContext(p, c.SecurityContext, at.Child("securityContext"))
	}
}

const needsRestartPolicy = "must specify restartPolicy when restart rules are used"

// checkContainerRestart validates a container's own restart policy.
// Upstream: core/validation validateContainerRestartPolicy, v1.37.
func checkContainerRestart(p *podRules, c *v1.Container, at *field.Path) {
	switch {
	case c.RestartPolicy == nil && len(c.RestartPolicyRules) == 0:
		return
	case c.RestartPolicy == nil:
		p.Required(at.Child("restartPolicy"), needsRestartPolicy)
	case !slices.Contains(containerRestarts, *c.RestartPolicy):
		p.Add(field.NotSupported(at.Child("restartPolicy"), *c.RestartPolicy, containerRestarts))
	}
	rules := at.Child("restartPolicyRules")
	if n := len(c.RestartPolicyRules); n > 20 {
		p.Add(field.TooMany(rules, n, 20))
	}
	for i, rule := range c.RestartPolicyRules {
		at := rules.Index(i)
		if !slices.Contains(restartActions, rule.Action) {
			p.Add(field.NotSupported(at.Child("action"), rule.Action, restartActions))
		}
		if rule.ExitCodes == nil {
			p.Required(at.Child("exitCodes"), "must be specified")
			continue
		}
		if !slices.Contains(exitCodeOperators, rule.ExitCodes.Operator) {
			p.Add(field.NotSupported(at.Child("exitCodes", "operator"), rule.ExitCodes.Operator, exitCodeOperators))
		}
		if n := len(rule.ExitCodes.Values); n > 255 {
			p.Add(field.TooMany(at.Child("exitCodes", "values"), n, 255))
		}
	}
}

// checkResizePolicy validates what is to happen when a container's resources change.
// Upstream: core/validation validateResizePolicy, v1.37.
func checkResizePolicy(p *podRules, policies []v1.ContainerResizePolicy, at *field.Path) {
	resources := []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}
	restarts := []v1.ResourceResizeRestartPolicy{v1.NotRequired, v1.RestartContainer}
	for i, policy := range policies {
		path := at.Child("resizePolicy")
		if slices.ContainsFunc(policies[:i], func(o v1.ContainerResizePolicy) bool { return o.ResourceName == policy.ResourceName }) {
			p.Duplicate(path.Index(i), policy.ResourceName)
		}
		validation.OneOf(p.Problems, policy.ResourceName, resources, at, "resizePolicy")
		validation.OneOf(p.Problems, policy.RestartPolicy, restarts, at, "resizePolicy")
		if p.spec.RestartPolicy == v1.RestartPolicyNever && policy.RestartPolicy != v1.NotRequired {
			p.Invalid(path, policy.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
		}
	}
}

func checkPorts(p *validation.Problems, ports []v1.ContainerPort, at *field.Path) {
	names := make([]string, 0, len(ports))
	for i := range ports {
		port, path := &ports[i], at.Child("ports").Index(i)
		if port.Name != "" {
			if msgs := utilvalidation.IsValidPortName(port.Name); len(msgs) > 0 {
				p.Messages(path.Child("name"), port.Name, msgs)
			} else if slices.Contains(names, port.Name) {
				p.Duplicate(path.Child("name"), port.Name)
			}
			names = append(names, port.Name)
		}
		if port.ContainerPort == 0 {
			p.Required(path.Child("containerPort"), "")
		} else {
			checkPortNumber(p, int64(port.ContainerPort), path.Child("containerPort"))
		}
		if port.HostPort != 0 {
			checkPortNumber(p, int64(port.HostPort), path.Child("hostPort"))
		}
		validation.OneOf(p, port.Protocol, protocols, path, "protocol")
	}
}

func checkPortNumber(p *validation.Problems, port int64, at *field.Path) {
	for _, msg := range utilvalidation.IsValidPortNum(int(port)) {
		p.Invalid(at, port, msg)
	}
}

// checkHostPorts refuses two containers that want the same port of the node.
// Upstream: core/validation AccumulateUniqueHostPorts, v1.37.
func checkHostPorts(p *validation.Problems, containers []v1.Container, path *field.Path) {
	var taken []string
	for i := range containers {
		for j, port := range containers[i].Ports {
			if port.HostPort == 0 {
				continue
			}
			key := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			if slices.Contains(taken, key) {
				p.Duplicate(path.Index(i).Child("ports").Index(j).Child("hostPort"), key)
			}
			taken = append(taken, key)
		}
	}
}
