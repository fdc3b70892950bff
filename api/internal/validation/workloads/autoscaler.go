package workloads

import (
	"errors"
	"fmt"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Autoscalers returns the validation of horizontalpodautoscalers. Nothing scales by them here.
func Autoscalers() validation.Kind {
	return validation.Typed[*autoscalingv2.HorizontalPodAutoscaler]{
		Create: func(p *validation.Problems, hpa *autoscalingv2.HorizontalPodAutoscaler) { checkAutoscaler(p, hpa, nil) },
		Update: checkAutoscaler,
		Status: func(p *validation.Problems, hpa, _ *autoscalingv2.HorizontalPodAutoscaler) {
			checkScaledStatus(p, hpa.Status.CurrentReplicas, hpa.Status.DesiredReplicas)
			for i, c := range hpa.Status.Conditions {
				if c.ObservedGeneration != nil && *c.ObservedGeneration < 0 {
					p.Invalid(validation.StatusPath.Child("conditions").Index(i).Child("observedGeneration"), *c.ObservedGeneration,
						"must be greater than or equal to 0")
				}
			}
		},
	}.Kind()
}

// AutoscalersV1 returns the validation of horizontalpodautoscalers in their first version: they are validated in the form of the second.
func AutoscalersV1() validation.Kind {
	return validation.Typed[*autoscalingv1.HorizontalPodAutoscaler]{
		Create: func(p *validation.Problems, hpa *autoscalingv1.HorizontalPodAutoscaler) {
			checkAutoscaler(p, asV2(hpa), nil)
		},
		Update: func(p *validation.Problems, hpa, old *autoscalingv1.HorizontalPodAutoscaler) {
			checkAutoscaler(p, asV2(hpa), asV2(old))
		},
		Status: func(p *validation.Problems, hpa, _ *autoscalingv1.HorizontalPodAutoscaler) {
			checkScaledStatus(p, hpa.Status.CurrentReplicas, hpa.Status.DesiredReplicas)
		},
	}.Kind()
}

// asV2 returns the spec of an autoscaler in the form of the second version, without the metrics that only annotations name.
// Upstream: autoscaling/v1 Convert_v1_HorizontalPodAutoscalerSpec_To_autoscaling_HorizontalPodAutoscalerSpec, v1.37.2.
func asV2(hpa *autoscalingv1.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	out := &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		MinReplicas: hpa.Spec.MinReplicas, MaxReplicas: hpa.Spec.MaxReplicas,
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(hpa.Spec.ScaleTargetRef),
	}}
	if percentage := hpa.Spec.TargetCPUUtilizationPercentage; percentage != nil {
		out.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: v1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: percentage},
		}}}
	}
	return out
}

// checkScaledStatus validates the numbers of replicas in an autoscaler's status.
// Upstream: autoscaling/validation ValidateHorizontalPodAutoscalerStatusUpdate, v1.37.2.
func checkScaledStatus(p *validation.Problems, current, desired int32) {
	p.NotNegative(int64(current), validation.StatusPath, "currentReplicas")
	p.NotNegative(int64(desired), validation.StatusPath, "desiredReplicas")
}

// checkAutoscaler validates an autoscaler. The replicas come last, since v1.37 validates them by tags of their fields.
// Upstream: autoscaling/validation validateHorizontalPodAutoscalerSpec and registry/autoscaling/horizontalpodautoscaler
// validationOptionsForHorizontalPodAutoscaler, v1.37.2.
func checkAutoscaler(p *validation.Problems, hpa, old *autoscalingv2.HorizontalPodAutoscaler) {
	spec := &hpa.Spec
	if spec.MinReplicas != nil && spec.MaxReplicas < *spec.MinReplicas {
		p.Invalid(validation.SpecPath.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to `minReplicas`")
	}
	known := old != nil && old.Spec.ScaleTargetRef.APIVersion == spec.ScaleTargetRef.APIVersion && old.Spec.ScaleTargetRef.Kind == spec.ScaleTargetRef.Kind
	grouped := spec.ScaleTargetRef.Kind != "ReplicationController"
	checkScaled(p, &spec.ScaleTargetRef, known, grouped, validation.SpecPath.Child("scaleTargetRef"))
	checkMetrics(p, spec, old != nil && slices.ContainsFunc(old.Spec.Metrics, isOfNoVersion))
	if b := spec.Behavior; b != nil {
		checkScaling(p, b.ScaleUp, validation.SpecPath.Child("behavior", "scaleUp"))
		checkScaling(p, b.ScaleDown, validation.SpecPath.Child("behavior", "scaleDown"))
	}
	if spec.MinReplicas != nil && *spec.MinReplicas < 0 {
		p.Invalid(validation.SpecPath.Child("minReplicas"), *spec.MinReplicas, "must be greater than or equal to 0")
	}
	switch {
	case spec.MaxReplicas == 0:
		p.Required(validation.SpecPath.Child("maxReplicas"), "")
	case spec.MaxReplicas < 0:
		p.Invalid(validation.SpecPath.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to 1")
	}
}

// checkScaled validates a reference to an object. known: its version is not looked at. grouped: it must have a group.
// Upstream: ValidateCrossVersionObjectReference and ValidateAPIVersion.
func checkScaled(p *validation.Problems, ref *autoscalingv2.CrossVersionObjectReference, known, grouped bool, at *field.Path) {
	for _, part := range []struct{ name, value string }{{"kind", ref.Kind}, {"name", ref.Name}} {
		if part.value == "" {
			p.Required(at.Child(part.name), "")
			continue
		}
		p.Messages(at.Child(part.name), part.value, content.IsPathSegmentName(part.value))
	}
	if err := versionError(ref.APIVersion, grouped); err != nil && !known {
		p.Invalid(at.Child("apiVersion"), ref.APIVersion, err.Error())
	}
}

func versionError(apiVersion string, grouped bool) error {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err == nil && grouped && gv.Group == "" {
		return errors.New("apiVersion must specify API group")
	}
	return err
}

// isOfNoVersion reports whether a metric is about an object of a version that cannot be.
func isOfNoVersion(m autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil && versionError(m.Object.DescribedObject.APIVersion, false) != nil
}

// checkMetrics validates the metrics. known: the versions of the objects that they are about are not looked at.
// Upstream: validateMetrics.
func checkMetrics(p *validation.Problems, spec *autoscalingv2.HorizontalPodAutoscalerSpec, known bool) {
	at, wakes := validation.SpecPath.Child("metrics"), false
	for i := range spec.Metrics {
		m := &spec.Metrics[i]
		checkMetric(p, m, known, at.Index(i))
		wakes = wakes || m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
	}
	if spec.MinReplicas != nil && *spec.MinReplicas == 0 && !wakes {
		p.Forbidden(at, "must specify at least one Object or External metric to support scaling to zero replicas")
	}
}

// metricTypes lists the types of metrics in order.
var metricTypes = []autoscalingv2.MetricSourceType{
	autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType, autoscalingv2.ObjectMetricSourceType,
	autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType,
}

// checkMetric validates one metric. Of several sources only the first is looked at.
// Upstream: validateMetricSpec.
func checkMetric(p *validation.Problems, m *autoscalingv2.MetricSpec, known bool, at *field.Path) {
	if m.Type == "" {
		p.Required(at.Child("type"), "must specify a metric source type")
	}
	unknown := !slices.Contains(metricTypes, m.Type)
	if unknown {
		p.Add(field.NotSupported(at.Child("type"), m.Type, metricTypes))
	}
	var present []string
	for _, source := range []struct {
		name  string
		there bool
		check func(at *field.Path)
	}{
		{"object", m.Object != nil, func(at *field.Path) { checkObjectMetric(p, m.Object, known, at) }},
		{"external", m.External != nil, func(at *field.Path) { checkExternalMetric(p, m.External, at) }},
		{"pods", m.Pods != nil, func(at *field.Path) { checkPodsMetric(p, m.Pods, at) }},
		{"resource", m.Resource != nil, func(at *field.Path) {
			if m.Resource.Name == "" {
				p.Required(at.Child("name"), "must specify a resource name")
			}
			checkResourceTarget(p, &m.Resource.Target, at.Child("target"))
		}},
		{"containerResource", m.ContainerResource != nil, func(at *field.Path) { checkContainerMetric(p, m.ContainerResource, at) }},
	} {
		if !source.there {
			continue
		}
		if present = append(present, source.name); len(present) == 1 {
			source.check(at.Child(source.name))
		}
	}
	expected := map[autoscalingv2.MetricSourceType]string{
		autoscalingv2.ObjectMetricSourceType: "object", autoscalingv2.PodsMetricSourceType: "pods", autoscalingv2.ResourceMetricSourceType: "resource",
		autoscalingv2.ExternalMetricSourceType: "external", autoscalingv2.ContainerResourceMetricSourceType: "containerResource",
	}[m.Type]
	switch {
	case unknown:
		p.Add(field.NotSupported(at.Child("type"), m.Type, metricTypes))
	case !slices.Contains(present, expected):
		p.Required(at.Child(expected), "must populate information for the given metric source")
	}
	for _, name := range present {
		if len(present) > 1 && name != expected {
			p.Forbidden(at.Child(name), "must populate the given metric source only")
		}
	}
}

func checkObjectMetric(p *validation.Problems, m *autoscalingv2.ObjectMetricSource, known bool, at *field.Path) {
	checkScaled(p, &m.DescribedObject, known, false, at.Child("describedObject"))
	checkMetricName(p, m.Metric.Name, at.Child("metric", "name"))
	checkMetricTarget(p, &m.Target, at.Child("target"))
	if m.Target.Value == nil && m.Target.AverageValue == nil {
		p.Required(at.Child("target", "averageValue"), "must set either a target value or averageValue")
	}
}

func checkExternalMetric(p *validation.Problems, m *autoscalingv2.ExternalMetricSource, at *field.Path) {
	checkMetricName(p, m.Metric.Name, at.Child("metric", "name"))
	checkMetricTarget(p, &m.Target, at.Child("target"))
	switch value, average := m.Target.Value != nil, m.Target.AverageValue != nil; {
	case !value && !average:
		p.Required(at.Child("target", "averageValue"), "must set either a target value for metric or a per-pod target")
	case value && average:
		p.Forbidden(at.Child("target", "value"), "may not set both a target value for metric and a per-pod target")
	}
}

func checkPodsMetric(p *validation.Problems, m *autoscalingv2.PodsMetricSource, at *field.Path) {
	checkMetricName(p, m.Metric.Name, at.Child("metric", "name"))
	checkMetricTarget(p, &m.Target, at.Child("target"))
	if m.Target.AverageValue == nil {
		p.Required(at.Child("target", "averageValue"), "must specify a positive target averageValue")
	}
}

func checkContainerMetric(p *validation.Problems, m *autoscalingv2.ContainerResourceMetricSource, at *field.Path) {
	if m.Name == "" {
		p.Required(at.Child("name"), "must specify a resource name")
	} else {
		validation.ContainerResource(p, m.Name, at.Child("name"))
	}
	if m.Container == "" {
		p.Required(at.Child("container"), "must specify a container")
	} else {
		p.DNSLabel(m.Container, at.Child("container"))
	}
	checkResourceTarget(p, &m.Target, at.Child("target"))
}

// checkResourceTarget validates the target of a resource's metric.
func checkResourceTarget(p *validation.Problems, t *autoscalingv2.MetricTarget, at *field.Path) {
	checkMetricTarget(p, t, at)
	switch utilization, value := t.AverageUtilization != nil, t.AverageValue != nil; {
	case !utilization && !value:
		p.Required(at.Child("averageUtilization"), "must set either a target raw value or a target utilization")
	case utilization && value:
		p.Forbidden(at.Child("averageValue"), "may not set both a target raw value and a target utilization")
	}
}

func checkMetricName(p *validation.Problems, name string, at *field.Path) {
	if name == "" {
		p.Required(at, "must specify a metric name")
		return
	}
	p.Messages(at, name, content.IsPathSegmentName(name))
}

// Upstream: validateMetricTarget.
func checkMetricTarget(p *validation.Problems, t *autoscalingv2.MetricTarget, at *field.Path) {
	if t.Type == "" {
		p.Required(at.Child("type"), "must specify a metric target type")
	}
	types := []autoscalingv2.MetricTargetType{autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType}
	if !slices.Contains(types, t.Type) {
		p.Invalid(at.Child("type"), t.Type, "must be either Utilization, Value, or AverageValue")
	}
	if t.Value != nil && t.Value.Sign() != 1 {
		p.Invalid(at.Child("value"), t.Value, "must be positive")
	}
	if t.AverageValue != nil && t.AverageValue.Sign() != 1 {
		p.Invalid(at.Child("averageValue"), t.AverageValue, "must be positive")
	}
	if n := t.AverageUtilization; n != nil && *n < 1 {
		p.Invalid(at.Child("averageUtilization"), *n, "must be greater than 0")
	}
}

// The longest times of a scaling policy, in seconds.
const (
	maxScalingPeriod = 1800
	maxScalingWindow = 3600
)

// checkScaling validates the rules by which an autoscaler scales in one direction.
// Upstream: validateScalingRules and validateScalingPolicy.
func checkScaling(p *validation.Problems, rules *autoscalingv2.HPAScalingRules, at *field.Path) {
	if rules == nil {
		return
	}
	window := at.Child("stabilizationWindowSeconds")
	if s := rules.StabilizationWindowSeconds; s != nil && *s < 0 {
		p.Invalid(window, *s, "must be greater than or equal to zero")
	} else if s != nil && *s > maxScalingWindow {
		p.Invalid(window, *s, fmt.Sprintf("must be less than or equal to %d", maxScalingWindow))
	}
	selects := []autoscalingv2.ScalingPolicySelect{autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect}
	if s := rules.SelectPolicy; s != nil && !slices.Contains(selects, *s) {
		p.Add(field.NotSupported(at.Child("selectPolicy"), *s, selects))
	}
	if len(rules.Policies) == 0 {
		p.Required(at.Child("policies"), "must specify at least one Policy")
	}
	types := []autoscalingv2.HPAScalingPolicyType{autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy}
	for i, policy := range rules.Policies {
		at := at.Child("policies").Index(i)
		if !slices.Contains(types, policy.Type) {
			p.Add(field.NotSupported(at.Child("type"), policy.Type, types))
		}
		if policy.Value <= 0 {
			p.Invalid(at.Child("value"), policy.Value, "must be greater than zero")
		}
		if policy.PeriodSeconds <= 0 {
			p.Invalid(at.Child("periodSeconds"), policy.PeriodSeconds, "must be greater than zero")
		} else if policy.PeriodSeconds > maxScalingPeriod {
			p.Invalid(at.Child("periodSeconds"), policy.PeriodSeconds, fmt.Sprintf("must be less than or equal to %d", maxScalingPeriod))
		}
	}
	if rules.Tolerance != nil {
		validation.CheckNonNegative(p, *rules.Tolerance, at.Child("tolerance"))
	}
}
