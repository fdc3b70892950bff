package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/node/util/sysctl"
)

var (
	fsGroupPolicies = []v1.PodFSGroupChangePolicy{v1.FSGroupChangeAlways, v1.FSGroupChangeOnRootMismatch}
	groupsPolicies  = []v1.SupplementalGroupsPolicy{v1.SupplementalGroupsPolicyMerge, v1.SupplementalGroupsPolicyStrict}
	selinuxPolicies = []v1.PodSELinuxChangePolicy{v1.SELinuxChangePolicyMountOption, v1.SELinuxChangePolicyRecursive}
	procMounts      = []v1.ProcMountType{v1.DefaultProcMount, v1.UnmaskedProcMount}
	seccompTypes    = []v1.SeccompProfileType{v1.SeccompProfileTypeLocalhost, v1.SeccompProfileTypeRuntimeDefault, v1.SeccompProfileTypeUnconfined}
	appArmorTypes   = []v1.AppArmorProfileType{v1.AppArmorProfileTypeLocalhost, v1.AppArmorProfileTypeRuntimeDefault, v1.AppArmorProfileTypeUnconfined}
	sysctlName      = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)
)

const (
	maxSysctlName     = 253
	maxProfileName    = 4095
	localProfileError = "must be set when %s type is Localhost"
)

// podSecurity validates what holds for all containers of a pod: the groups and
// users that own files, how ownership is changed, and what the kernel allows.
// Upstream: core/validation validatePodSpecSecurityContext, v1.37.
func (p *podRules) podSecurity(sc *v1.PodSecurityContext, at *field.Path) {
	if sc == nil {
		return
	}
	if sc.FSGroup != nil {
		p.id(*sc.FSGroup, validation.IsValidGroupID(*sc.FSGroup), at, "fsGroup")
	}
	p.runAs(sc.RunAsUser, sc.RunAsGroup, at)
	for i, gid := range sc.SupplementalGroups {
		for _, msg := range validation.IsValidGroupID(gid) {
			p.invalid(at.Child("supplementalGroups").Index(i), gid, msg)
		}
	}
	p.sysctls(sc.Sysctls, at.Child("sysctls"))
	ifSetOneOf(p.problems, sc.FSGroupChangePolicy, fsGroupPolicies, at, "fsGroupChangePolicy")
	p.seccomp(sc.SeccompProfile, at.Child("seccompProfile"))
	p.windowsOptions(sc.WindowsOptions, at.Child("windowsOptions"))
	p.appArmor(sc.AppArmorProfile, at.Child("appArmorProfile"))
	ifSetOneOf(p.problems, sc.SupplementalGroupsPolicy, groupsPolicies, at, "supplementalGroupsPolicy")
	ifSetOneOf(p.problems, sc.SELinuxChangePolicy, selinuxPolicies, at, "seLinuxChangePolicy")
}

// securityContext validates what holds for one container.
// Upstream: core/validation ValidateSecurityContext, v1.37. Whether containers may
// be privileged is the server's to say: see Server.DenyPrivileged.
func (p *podRules) securityContext(sc *v1.SecurityContext, at *field.Path) {
	p.runAs(sc.RunAsUser, sc.RunAsGroup, at)
	if sc.ProcMount != nil {
		ifSetOneOf(p.problems, sc.ProcMount, procMounts, at, "procMount")
		if p.hostUsers() && *sc.ProcMount == v1.UnmaskedProcMount {
			p.invalid(at.Child("procMount"), *sc.ProcMount, "`hostUsers` must be false to use `Unmasked`")
		}
	}
	p.seccomp(sc.SeccompProfile, at.Child("seccompProfile"))
	if sc.AllowPrivilegeEscalation != nil && !*sc.AllowPrivilegeEscalation {
		if privileged(sc) {
			p.invalid(at, sc, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
		}
		if sc.Capabilities != nil && slices.Contains(sc.Capabilities.Add, "CAP_SYS_ADMIN") {
			p.invalid(at, sc, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
		}
	}
	p.windowsOptions(sc.WindowsOptions, at.Child("windowsOptions"))
	p.appArmor(sc.AppArmorProfile, at.Child("appArmorProfile"))
}

func privileged(sc *v1.SecurityContext) bool {
	return sc != nil && sc.Privileged != nil && *sc.Privileged
}

// hostUsers: users inside the containers are the same users outside.
func (p *podRules) hostUsers() bool { return p.spec.HostUsers == nil || *p.spec.HostUsers }

func (p *problems) runAs(user, group *int64, at *field.Path) {
	if user != nil {
		p.id(*user, validation.IsValidUserID(*user), at, "runAsUser")
	}
	if group != nil {
		p.id(*group, validation.IsValidGroupID(*group), at, "runAsGroup")
	}
}

func (p *problems) id(id int64, msgs []string, at *field.Path, name string) {
	for _, msg := range msgs {
		p.invalid(at.Child(name), id, msg)
	}
}

// ifSetOneOf refuses a value that is not on the list of those that are known.
func ifSetOneOf[T ~string](p *problems, value *T, known []T, at *field.Path, name string) {
	if value != nil && !slices.Contains(known, *value) {
		p.add(field.NotSupported(at.Child(name), *value, known))
	}
}

// sysctls validates settings of the kernel. Those of a namespace that the pod
// shares with its node are refused.
// Upstream: core/validation validateSysctls, v1.37.
func (p *podRules) sysctls(list []v1.Sysctl, at *field.Path) {
	for i, s := range list {
		path := at.Index(i).Child("name")
		switch {
		case s.Name == "":
			p.required(path, "")
		case len(s.Name) > maxSysctlName || !sysctlName.MatchString(s.Name):
			p.invalid(path, s.Name, fmt.Sprintf("must have at most %d characters and match regex %s", maxSysctlName, sysctlName))
		case slices.ContainsFunc(list[:i], func(o v1.Sysctl) bool { return o.Name == s.Name }):
			p.duplicate(path, s.Name)
		}
		switch ns, _, _ := sysctl.GetNamespace(s.Name); {
		case p.spec.HostNetwork && ns == sysctl.NetNamespace:
			p.invalid(path, s.Name, "may not be specified when 'hostNetwork' is true")
		case p.spec.HostIPC && ns == sysctl.IPCNamespace:
			p.invalid(path, s.Name, "may not be specified when 'hostIPC' is true")
		}
	}
}

// seccomp validates which system calls are allowed.
// Upstream: core/validation validateSeccompProfileField, v1.37.
func (p *problems) seccomp(profile *v1.SeccompProfile, at *field.Path) {
	if profile == nil {
		return
	}
	if profile.Type == "" {
		p.required(at.Child("type"), "type is required when seccompProfile is set")
	} else {
		oneOf(p, profile.Type, seccompTypes, at, "type")
	}
	local, set := profile.LocalhostProfile, at.Child("localhostProfile")
	switch {
	case profile.Type == v1.SeccompProfileTypeLocalhost && local == nil:
		p.required(set, fmt.Sprintf(localProfileError, "seccomp"))
	case profile.Type == v1.SeccompProfileTypeLocalhost:
		p.descendingPath(*local, set)
	case local != nil:
		p.invalid(set, profile, "can only be set when seccomp type is Localhost")
	}
}

// appArmor validates which AppArmor profile holds.
// Upstream: core/validation ValidateAppArmorProfileField, v1.37.
func (p *problems) appArmor(profile *v1.AppArmorProfile, at *field.Path) {
	if profile == nil {
		return
	}
	local, set := profile.LocalhostProfile, at.Child("localhostProfile")
	switch profile.Type {
	case v1.AppArmorProfileTypeLocalhost:
		switch {
		case local == nil || *local == "":
			p.required(set, fmt.Sprintf(localProfileError, "AppArmor"))
		case strings.TrimSpace(*local) != *local:
			p.invalid(set, *local, "must not be padded with whitespace")
		}
		if local != nil && len(*local) > maxProfileName {
			p.add(field.TooLong(set, "", maxProfileName))
		}
	case v1.AppArmorProfileTypeRuntimeDefault, v1.AppArmorProfileTypeUnconfined:
		if local != nil {
			p.invalid(set, *local, "can only be set when AppArmor type is Localhost")
		}
	case "":
		p.required(at.Child("type"), "type is required when appArmorProfile is set")
	default:
		p.add(field.NotSupported(at.Child("type"), profile.Type, appArmorTypes))
	}
}

// hostUsersRules: a pod with users of its own shares no more namespaces with the
// node, and has no block devices.
// Upstream: core/validation validateHostUsers, v1.37. "HostPID" is its spelling.
func (p *podRules) hostUsersRules(at *field.Path) {
	const msg = "when `hostUsers` is false"
	if p.hostUsers() {
		return
	}
	if p.spec.HostNetwork {
		p.forbidden(at.Child("hostNetwork"), msg)
	}
	if p.spec.HostPID {
		p.forbidden(at.Child("HostPID"), msg)
	}
	if p.spec.HostIPC {
		p.forbidden(at.Child("HostIPC"), msg)
	}
	p.eachContainer(at, func(c *v1.Container, at *field.Path) {
		if len(c.VolumeDevices) > 0 {
			p.forbidden(at.Child("volumeDevices"), msg)
		}
	})
}

// DenyPrivileged returns what a server says that does not allow privileged containers.
func DenyPrivileged(spec *v1.PodSpec, at *field.Path) field.ErrorList {
	p := &podRules{problems: &problems{}, spec: spec}
	p.eachContainer(at, func(c *v1.Container, at *field.Path) {
		if privileged(c.SecurityContext) {
			p.forbidden(at.Child("securityContext", "privileged"), "disallowed by cluster policy")
		}
	})
	if _, some := p.hostProcesses(at); some > 0 {
		p.forbidden(at, "hostProcess containers are disallowed by cluster policy")
	}
	return p.list
}

// eachContainer visits all containers of the pod, with their paths.
func (p *podRules) eachContainer(at *field.Path, do func(*v1.Container, *field.Path)) {
	for i := range p.spec.InitContainers {
		do(&p.spec.InitContainers[i], at.Child("initContainers").Index(i))
	}
	for i := range p.spec.Containers {
		do(&p.spec.Containers[i], at.Child("containers").Index(i))
	}
	for i := range p.spec.EphemeralContainers {
		do((*v1.Container)(&p.spec.EphemeralContainers[i].EphemeralContainerCommon), at.Child("ephemeralContainers").Index(i))
	}
}
