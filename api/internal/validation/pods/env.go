package pods

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// What a container's environment and its files may show of the pod.
var (
	envFields = []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
	}
	downwardFields = []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
	// podFields are the fields that can be named in some place.
	podFields = append([]string{
		"metadata.annotations", "metadata.labels", "spec.host", "spec.restartPolicy", "spec.schedulerName", "status.phase",
	}, envFields...)
	resourceFields = []string{
		"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory",
	}
	sizeDivisors = []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
)

// checkEnv validates a container's environment.
// Upstream: core/validation ValidateEnv and ValidateEnvFrom, v1.37.
func checkEnv(p *podRules, c *v1.Container, at *field.Path) {
	for i := range c.Env {
		e, path := &c.Env[i], at.Child("env").Index(i)
		if e.Name == "" {
			p.Required(path.Child("name"), "")
		} else {
			p.Messages(path.Child("name"), e.Name, utilvalidation.IsRelaxedEnvVarName(e.Name))
		}
		if e.ValueFrom != nil {
			checkEnvSource(p, e, path.Child("valueFrom"))
		}
	}
	for i := range c.EnvFrom {
		from, path := &c.EnvFrom[i], at.Child("envFrom").Index(i)
		if from.Prefix != "" {
			p.Messages(path.Child("prefix"), from.Prefix, utilvalidation.IsRelaxedEnvVarName(from.Prefix))
		}
		if from.ConfigMapRef != nil {
			checkNamePrefix(p.Problems, from.ConfigMapRef.Name, path.Child("configMapRef", "name"))
		}
		if from.SecretRef != nil {
			checkNamePrefix(p.Problems, from.SecretRef.Name, path.Child("secretRef", "name"))
		}
		switch {
		case from.ConfigMapRef == nil && from.SecretRef == nil:
			p.Invalid(at.Child("envFrom"), "", "must specify one of: `configMapRef` or `secretRef`")
		case from.ConfigMapRef != nil && from.SecretRef != nil:
			p.Invalid(at.Child("envFrom"), "", "may not have more than one field specified at a time")
		}
	}
}

// checkNamePrefix requires a name that, as upstream has it here, may end in a dash.
func checkNamePrefix(p *validation.Problems, name string, at *field.Path) {
	if name == "" {
		p.Required(at, "")
		return
	}
	p.Messages(at, name, apivalidation.NameIsDNSSubdomain(name, true))
}

func checkEnvSource(p *podRules, e *v1.EnvVar, at *field.Path) {
	from, n := e.ValueFrom, 0
	if from.FieldRef != nil {
		n++
		checkFieldRef(p.Problems, from.FieldRef, envFields, at.Child("fieldRef"))
	}
	if from.ResourceFieldRef != nil {
		n++
		checkResourceRef(p.Problems, from.ResourceFieldRef, false, at.Child("resourceFieldRef"))
	}
	if ref := from.ConfigMapKeyRef; ref != nil {
		n++
		checkKeyRef(p.Problems, ref.Name, ref.Key, at.Child("configMapKeyRef"))
	}
	if ref := from.SecretKeyRef; ref != nil {
		n++
		checkKeyRef(p.Problems, ref.Name, ref.Key, at.Child("secretKeyRef"))
	}
	if from.FileKeyRef != nil {
		n++
		checkFileRef(p, from.FileKeyRef, at.Child("fileKeyRef"))
	}
	switch {
	case n == 0:
		p.Invalid(at, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`")
	case e.Value != "":
		p.Invalid(at, "", "may not be specified when `value` is not empty")
	case n > 1:
		p.Invalid(at, "", "may not have more than one field specified at a time")
	}
}

// checkKeyRef validates a reference to a key of a ConfigMap or Secret.
func checkKeyRef(p *validation.Problems, name, key string, at *field.Path) {
	p.Subdomain(name, at.Child("name"))
	if key == "" {
		p.Required(at.Child("key"), "")
	} else {
		p.Messages(at.Child("key"), key, utilvalidation.IsConfigMapKey(key))
	}
}

// checkFileRef validates a reference to a variable in a file of an emptyDir.
// Upstream: core/validation validateFileKeySelector, v1.37.
func checkFileRef(p *podRules, ref *v1.FileKeySelector, at *field.Path) {
	if ref.Key == "" {
		p.Required(at.Child("key"), "")
	} else {
		p.Messages(at.Child("key"), ref.Key, utilvalidation.IsRelaxedEnvVarName(ref.Key))
	}
	if ref.VolumeName == "" {
		p.Required(at.Child("volumeName"), "")
	} else {
		p.DNSLabel(ref.VolumeName, at.Child("volumeName"))
	}
	if ref.Path == "" {
		p.Required(at.Child("path"), "")
	} else {
		validation.CheckNoBacksteps(p.Problems, ref.Path, at.Child("path"))
	}
}

// checkFileVolumes requires that each fileKeyRef names a volume of the pod that is an emptyDir.
// Upstream: core/validation validateFileKeyRefVolumes, v1.37.2.
func checkFileVolumes(p *podRules, at *field.Path) {
	check := func(env []v1.EnvVar, at *field.Path) {
		for i := range env {
			if env[i].ValueFrom == nil || env[i].ValueFrom.FileKeyRef == nil {
				continue
			}
			name, path := env[i].ValueFrom.FileKeyRef.VolumeName, at.Child("env").Index(i).Child("valueFrom", "fileKeyRef", "volumeName")
			if j := slices.IndexFunc(p.spec.Volumes, func(v v1.Volume) bool { return v.Name == name }); j < 0 {
				p.Add(field.NotFound(path, name))
			} else if p.spec.Volumes[j].EmptyDir == nil {
				p.Invalid(path, name, "referenced volume must be of type emptyDir")
			}
		}
	}
	for i := range p.spec.InitContainers {
		check(p.spec.InitContainers[i].Env, at.Child("initContainers").Index(i))
	}
	for i := range p.spec.Containers {
		check(p.spec.Containers[i].Env, at.Child("containers").Index(i))
	}
	for i := range p.spec.EphemeralContainers {
		check(p.spec.EphemeralContainers[i].Env, at.Child("ephemeralContainers").Index(i))
	}
}

// checkFieldRef validates a reference to one of the pod's own fields.
// Upstream: core/validation validateObjectFieldSelector, v1.37.
func checkFieldRef(p *validation.Problems, ref *v1.ObjectFieldSelector, known []string, at *field.Path) {
	switch {
	case ref.APIVersion == "":
		p.Required(at.Child("apiVersion"), "")
		return
	case ref.FieldPath == "":
		p.Required(at.Child("fieldPath"), "")
		return
	case ref.APIVersion != "v1":
		p.Invalid(at.Child("fieldPath"), ref.FieldPath, "error converting fieldPath: unsupported pod version: "+ref.APIVersion)
		return
	}
	name, subscript, ok := splitSubscript(ref.FieldPath)
	switch {
	case ok && name == "metadata.annotations":
		p.QualifiedName(strings.ToLower(subscript), at)
	case ok && name == "metadata.labels":
		p.QualifiedName(subscript, at)
	case ok:
		p.Invalid(at.Child("fieldPath"), ref.FieldPath, "error converting fieldPath: field label does not support subscript: "+ref.FieldPath)
	case !slices.Contains(podFields, name):
		p.Invalid(at.Child("fieldPath"), ref.FieldPath, "error converting fieldPath: field label not supported: "+ref.FieldPath)
	case name == "spec.host" && slices.Contains(known, "spec.nodeName"): // its old name
	case !slices.Contains(known, name):
		p.Add(field.NotSupported(at.Child("fieldPath"), name, known))
	}
}

// splitSubscript takes metadata.labels['app'] apart.
// Upstream: pkg/fieldpath SplitMaybeSubscriptedPath, v1.37.
func splitSubscript(path string) (name, subscript string, ok bool) {
	if !strings.HasSuffix(path, "']") {
		return path, "", false
	}
	name, subscript, ok = strings.Cut(strings.TrimSuffix(path, "']"), "['")
	if !ok || name == "" {
		return path, "", false
	}
	return name, subscript, true
}

// checkResourceRef validates a reference to what a container asks for.
// Upstream: core/validation validateContainerResourceFieldSelector, v1.37.
func checkResourceRef(p *validation.Problems, ref *v1.ResourceFieldSelector, volume bool, at *field.Path) {
	hugePages := strings.HasPrefix(ref.Resource, "requests.hugepages-") || strings.HasPrefix(ref.Resource, "limits.hugepages-")
	switch {
	case volume && ref.ContainerName == "":
		p.Required(at.Child("containerName"), "")
	case ref.Resource == "":
		p.Required(at.Child("resource"), "")
	case !hugePages && !slices.Contains(resourceFields, ref.Resource):
		p.Add(field.NotSupported(at.Child("resource"), ref.Resource, resourceFields))
	}
	checkDivisor(p, ref.Resource, ref.Divisor, at.Child("divisor"))
}

// checkDivisor validates the unit in which a resource is shown.
// Upstream: core/validation validateContainerResourceDivisor, v1.37.
func checkDivisor(p *validation.Problems, name string, divisor resource.Quantity, at *field.Path) {
	if divisor.Sign() == 0 {
		return
	}
	_, of, _ := strings.Cut(name, ".")
	known := sizeDivisors
	var what string
	switch {
	case of == "cpu":
		if text := divisor.String(); text != "1m" && text != "1" {
			p.Invalid(at, name, "only divisor's values 1m and 1 are supported with the cpu resource")
		}
		return
	case of == "memory":
		what = "memory"
	case of == "ephemeral-storage":
		what = "local ephemeral storage"
	case strings.HasPrefix(of, "hugepages-"):
		what = "hugepages"
	default:
		return
	}
	if !slices.Contains(known, divisor.String()) {
		p.Invalid(at, name, "only divisor's values "+strings.Join(known, ", ")+" are supported with the "+what+" resource")
	}
}
