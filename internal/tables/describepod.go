package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Upstream: kubectl describe.go describePod, v1.37.
func (v View) describePod(d describer, p *v1.Pod) {
	d.field(0, "Name", p.Name)
	d.field(0, "Namespace", p.Namespace)
	if p.Spec.Priority != nil {
		d.field(0, "Priority", *p.Spec.Priority)
	}
	if p.Spec.ServiceAccountName != "" {
		d.field(0, "Service Account", p.Spec.ServiceAccountName)
	}
	if p.Spec.NodeName == "" {
		d.field(0, "Node", "<none>")
	} else {
		d.field(0, "Node", p.Spec.NodeName+"/"+p.Status.HostIP)
	}
	if p.Status.StartTime != nil {
		d.field(0, "Start Time", stamp(p.Status.StartTime.Time))
	}
	d.labels("Labels", p.Labels)
	d.annotations(p.Annotations)
	if p.DeletionTimestamp != nil && p.Status.Phase != v1.PodFailed && p.Status.Phase != v1.PodSucceeded {
		v.status(d, p, "")
		d.field(0, "Termination Grace Period", text(p.DeletionGracePeriodSeconds, "0")+"s")
	} else {
		d.field(0, "Status", p.Status.Phase)
	}
	if p.Status.Reason != "" {
		d.field(0, "Reason", p.Status.Reason)
	}
	if p.Status.Message != "" {
		d.field(0, "Message", p.Status.Message)
	}
	d.field(0, "IP", p.Status.PodIP)
	if len(p.Status.PodIPs) == 0 {
		d.field(0, "IPs", "<none>")
	} else {
		d.line(0, "IPs:")
	}
	for _, ip := range p.Status.PodIPs {
		d.field(1, "IP", ip.IP)
	}
	if owner := metav1.GetControllerOf(p); owner != nil {
		d.field(0, "Controlled By", owner.Kind+"/"+owner.Name)
	}
	if p.Status.NominatedNodeName != "" {
		d.field(0, "NominatedNodeName", p.Status.NominatedNodeName)
	}
	if len(p.Spec.InitContainers) > 0 {
		describeContainers(d, "Init Containers", p.Spec.InitContainers, p.Status.InitContainerStatuses)
	}
	describeContainers(d, "Containers", p.Spec.Containers, p.Status.ContainerStatuses)
	if len(p.Spec.ReadinessGates) > 0 {
		d.line(0, "Readiness Gates:\n  Type\tStatus")
	}
	for _, gate := range p.Spec.ReadinessGates {
		status := "<none>"
		if c := condition(p, gate.ConditionType); c != nil {
			status = string(c.Status)
		}
		d.line(1, "%v \t%v ", gate.ConditionType, status)
	}
	if len(p.Status.Conditions) > 0 {
		d.line(0, "Conditions:\n  Type\tStatus")
	}
	for _, c := range p.Status.Conditions {
		d.line(1, "%v \t%v ", c.Type, c.Status)
	}
	describeVolumes(d, p.Spec.Volumes)
	d.field(0, "QoS Class", cmp.Or(p.Status.QOSClass, qosClass(p)))
	d.labels("Node-Selectors", p.Spec.NodeSelector)
	d.lines(0, "Tolerations", tolerations(p.Spec.Tolerations))
}

func describeContainers(d describer, title string, containers []v1.Container, statuses []v1.ContainerStatus) {
	d.line(0, "%s:", title)
	for _, c := range containers {
		at := slices.IndexFunc(statuses, func(s v1.ContainerStatus) bool { return s.Name == c.Name })
		d.line(1, "%s:", c.Name)
		if at >= 0 {
			d.field(2, "Container ID", statuses[at].ContainerID)
		}
		d.field(2, "Image", c.Image)
		if at >= 0 {
			d.field(2, "Image ID", statuses[at].ImageID)
		}
		describePorts(d, "Port", c.Ports, func(p v1.ContainerPort) int32 { return p.ContainerPort })
		describePorts(d, "Host Port", c.Ports, func(p v1.ContainerPort) int32 { return p.HostPort })
		describeWords(d, "Command", c.Command)
		describeWords(d, "Args", c.Args)
		if at >= 0 {
			describeState(d, "State", statuses[at].State)
			if statuses[at].LastTerminationState.Terminated != nil {
				describeState(d, "Last State", statuses[at].LastTerminationState)
			}
			d.field(2, "Ready", boolean(statuses[at].Ready))
			d.field(2, "Restart Count", statuses[at].RestartCount)
		}
		describeResources(d, "Limits", c.Resources.Limits)
		describeResources(d, "Requests", c.Resources.Requests)
		describeEnv(d, c.Env)
		describeMounts(d, c)
	}
}

func describePorts(d describer, title string, ports []v1.ContainerPort, number func(v1.ContainerPort) int32) {
	var list []string
	for _, p := range ports {
		s := fmt.Sprintf("%d/%s", number(p), p.Protocol)
		if p.Name != "" {
			s += " (" + p.Name + ")"
		}
		list = append(list, s)
	}
	if len(list) > 1 {
		title += "s"
	}
	d.field(2, title, orNone(strings.Join(list, ", ")))
}

func describeWords(d describer, title string, words []string) {
	if len(words) > 0 {
		d.line(2, "%s:", title)
	}
	for _, word := range words {
		for line := range strings.SplitSeq(word, "\n") {
			d.line(3, "%s", line)
		}
	}
}

func describeState(d describer, title string, state v1.ContainerState) {
	optional := func(title, value string) {
		if value != "" {
			d.field(3, title, value)
		}
	}
	switch {
	case state.Running != nil:
		d.field(2, title, "Running")
		d.field(3, "Started", stamp(state.Running.StartedAt.Time))
	case state.Terminated != nil:
		d.field(2, title, "Terminated")
		optional("Reason", state.Terminated.Reason)
		optional("Message", state.Terminated.Message)
		d.field(3, "Exit Code", state.Terminated.ExitCode)
		d.field(3, "Started", stamp(state.Terminated.StartedAt.Time))
		d.field(3, "Finished", stamp(state.Terminated.FinishedAt.Time))
	case state.Waiting != nil:
		d.field(2, title, "Waiting")
		optional("Reason", state.Waiting.Reason)
	default:
		d.field(2, title, "Waiting")
	}
}

func describeResources(d describer, title string, list v1.ResourceList) {
	if len(list) > 0 {
		d.line(2, "%s:", title)
	}
	for _, name := range sortedKeys(list) {
		d.field(3, string(name), quantity(list[name]))
	}
}

func describeEnv(d describer, env []v1.EnvVar) {
	if len(env) == 0 {
		d.field(2, "Environment", "<none>")
		return
	}
	d.line(2, "Environment:")
	for _, e := range env {
		value := e.Value
		if from := e.ValueFrom; from != nil {
			switch {
			case from.FieldRef != nil:
				value = fmt.Sprintf(" (%s:%s)", from.FieldRef.APIVersion, from.FieldRef.FieldPath)
			case from.ConfigMapKeyRef != nil:
				value = fmt.Sprintf("<set to the key '%s' of config map '%s'>\tOptional: %s", from.ConfigMapKeyRef.Key, from.ConfigMapKeyRef.Name,
					text(from.ConfigMapKeyRef.Optional, "false"))
			case from.SecretKeyRef != nil:
				value = fmt.Sprintf("<set to the key '%s' in secret '%s'>\tOptional: %s", from.SecretKeyRef.Key, from.SecretKeyRef.Name,
					text(from.SecretKeyRef.Optional, "false"))
			}
		}
		for i, line := range strings.Split(value, "\n") {
			if i == 0 {
				d.field(3, e.Name, line)
			} else {
				d.line(3, "\t%s", line)
			}
		}
	}
}

func describeMounts(d describer, c v1.Container) {
	if len(c.VolumeMounts) == 0 {
		d.field(2, "Mounts", "<none>")
	} else {
		d.line(2, "Mounts:")
	}
	mounts := slices.SortedStableFunc(slices.Values(c.VolumeMounts), func(a, b v1.VolumeMount) int { return cmp.Compare(a.MountPath, b.MountPath) })
	for _, m := range mounts {
		flags := "rw"
		if m.ReadOnly {
			flags = "ro"
		}
		if m.SubPath != "" {
			flags += fmt.Sprintf(",path=%q", m.SubPath)
		}
		d.line(3, "%s from %s (%s)", m.MountPath, m.Name, flags)
	}
	if len(c.VolumeDevices) > 0 {
		d.line(2, "Devices:")
	}
	for _, device := range c.VolumeDevices {
		d.line(3, "%s from %s", device.DevicePath, device.Name)
	}
}

// qosClass returns the pod's QoS class, computed if the API server has not set it.
func qosClass(p *v1.Pod) v1.PodQOSClass {
	guaranteed, bestEffort := true, true
	for _, c := range p.Spec.Containers {
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			limit, limited := c.Resources.Limits[name]
			request, requested := c.Resources.Requests[name]
			bestEffort = bestEffort && !limited && !requested
			guaranteed = guaranteed && limited && (!requested || request.Cmp(limit) == 0)
		}
	}
	switch {
	case bestEffort:
		return v1.PodQOSBestEffort
	case guaranteed:
		return v1.PodQOSGuaranteed
	}
	return v1.PodQOSBurstable
}

func tolerations(list []v1.Toleration) []string {
	var lines []string
	for _, t := range slices.SortedStableFunc(slices.Values(list), func(a, b v1.Toleration) int { return cmp.Compare(a.Key, b.Key) }) {
		line := t.Key
		if t.Value != "" {
			line += "=" + t.Value
		}
		if t.Effect != "" {
			line += ":" + string(t.Effect)
		}
		if t.Operator == v1.TolerationOpExists && t.Value == "" {
			line = strings.TrimPrefix(line+" op=Exists", " ")
		}
		if t.TolerationSeconds != nil {
			line += fmt.Sprintf(" for %ds", *t.TolerationSeconds)
		}
		lines = append(lines, line)
	}
	return lines
}

func quantity(q resource.Quantity) string { return q.String() }

// request returns what the containers of a pod ask for, the largest of the init
// containers if that is more.
func request(p *v1.Pod, name v1.ResourceName, of func(v1.ResourceRequirements) v1.ResourceList) resource.Quantity {
	var sum resource.Quantity
	for _, c := range p.Spec.Containers {
		sum.Add(of(c.Resources)[name])
	}
	for _, c := range p.Spec.InitContainers {
		if q := of(c.Resources)[name]; q.Cmp(sum) > 0 {
			sum = q
		}
	}
	return sum
}
