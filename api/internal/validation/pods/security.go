package pods

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/node/util/sysctl"

	"github.com/storagesim/storagesim/api/internal/validation"
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

// checkPodSecurity validates what holds for all containers of a pod: the groups and
// users that own files, how ownership is changed, and what the kernel allows.
// Upstream: core/validation validatePodSpecSecurityContext, v1.37.
func checkPodSecurity(p *podRules, sc *v1.PodSecurityContext, at *field.Path) {
	if sc == nil {
		return
	}
	if sc.FSGroup != nil {
		checkID(p.Problems, *sc.FSGroup, utilvalidation.IsValidGroupID(*sc.FSGroup), at, "fsGroup")
	}
	checkRunAs(p.Problems, sc.RunAsUser, sc.RunAsGroup, at)
	for i, gid := range sc.SupplementalGroups {
		for _, msg := range utilvalidation.IsValidGroupID(gid) {
			p.Invalid(at.Child("supplementalGroups").Index(i), gid, msg)
		}
	}
	checkSysctls(p, sc.Sysctls, at.Child("sysctls"))
	validation.IfSetOneOf(p.Problems, sc.FSGroupChangePolicy, fsGroupPolicies, at, "fsGroupChangePolicy")
	checkSeccomp(p.Problems, sc.SeccompProfile, at.Child("seccompProfile"))
	checkWindowsOptions(p.Problems, sc.WindowsOptions, at.Child("windowsOptions"))
	checkAppArmor(p.Problems, sc.AppArmorProfile, at.Child("appArmorProfile"))
	validation.IfSetOneOf(p.Problems, sc.SupplementalGroupsPolicy, groupsPolicies, at, "supplementalGroupsPolicy")
	validation.IfSetOneOf(p.Problems, sc.SELinuxChangePolicy, selinuxPolicies, at, "seLinuxChangePolicy")
}

// checkSecurityContext validates what holds for one container.
// Upstream: core/validation ValidateSecurityContext, v1.37. Whether containers may
// be privileged is the server's to say: see api.Config.DenyPrivileged.
func checkSecurityContext(p *podRules, sc *v1.SecurityContext, at *field.Path) {
	checkRunAs(p.Problems, sc.RunAsUser, sc.RunAsGroup, at)
	if sc.ProcMount != nil {
		validation.IfSetOneOf(p.Problems, sc.ProcMount, procMounts, at, "procMount")
		if checkHostUsers(p) && *sc.ProcMount == v1.UnmaskedProcMount {
			p.Invalid(at.Child("procMount"), *sc.ProcMount, "`hostUsers` must be false to use `Unmasked`")
		}
	}
	checkSeccomp(p.Problems, sc.SeccompProfile, at.Child("seccompProfile"))
	if sc.AllowPrivilegeEscalation != nil && !*sc.AllowPrivilegeEscalation {
		if privileged(sc) {
			p.Invalid(at, sc, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
		}
		if sc.Capabilities != nil && slices.Contains(sc.Capabilities.Add, "CAP_SYS_ADMIN") {
			p.Invalid(at, sc, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
		}
	}
	checkWindowsOptions(p.Problems, sc.WindowsOptions, at.Child("windowsOptions"))
	checkAppArmor(p.Problems, sc.AppArmorProfile, at.Child("appArmorProfile"))
}

func privileged(sc *v1.SecurityContext) bool {
	return sc != nil && sc.Privileged != nil && *sc.Privileged
}

// checkHostUsers: users inside the containers are the same users outside.
func checkHostUsers(p *podRules) bool { return p.spec.HostUsers == nil || *p.spec.HostUsers }

func checkRunAs(p *validation.Problems, user, group *int64, at *field.Path) {
	if user != nil {
		checkID(p, *user, utilvalidation.IsValidUserID(*user), at, "runAsUser")
	}
	if group != nil {
		checkID(p, *group, utilvalidation.IsValidGroupID(*group), at, "runAsGroup")
	}
}

func checkID(p *validation.Problems, id int64, msgs []string, at *field.Path, name string) {
	for _, msg := range msgs {
		p.Invalid(at.Child(name), id, msg)
	}
}

// checkSysctls validates settings of the kernel. Those of a namespace that the pod
// shares with its node are refused.
// Upstream: core/validation validateSysctls, v1.37.
func checkSysctls(p *podRules, list []v1.Sysctl, at *field.Path) {
	for i, s := range list {
		path := at.Index(i).Child("name")
		switch {
		case s.Name == "":
			p.Required(path, "")
		case len(s.Name) > maxSysctlName || !sysctlName.MatchString(s.Name):
			p.Invalid(path, s.Name, fmt.Sprintf("must have at most %d characters and match regex %s", maxSysctlName, sysctlName))
		case slices.ContainsFunc(list[:i], func(o v1.Sysctl) bool { return o.Name == s.Name }):
			p.Duplicate(path, s.Name)
		}
		switch ns, _, _ := sysctl.GetNamespace(s.Name); {
		case p.spec.HostNetwork && ns == sysctl.NetNamespace:
			p.Invalid(path, s.Name, "may not be specified when 'hostNetwork' is true")
		case p.spec.HostIPC && ns == sysctl.IPCNamespace:
			p.Invalid(path, s.Name, "may not be specified when 'hostIPC' is true")
		}
	}
}

// checkSeccomp validates which system calls are allowed.
// Upstream: core/validation validateSeccompProfileField, v1.37.
func checkSeccomp(p *validation.Problems, profile *v1.SeccompProfile, at *field.Path) {
	if profile == nil {
		return
	}
	if profile.Type == "" {
		p.Required(at.Child("type"), "type is required when seccompProfile is set")
	} else {
		validation.OneOf(p, profile.Type, seccompTypes, at, "type")
	}
	local, set := profile.LocalhostProfile, at.Child("localhostProfile")
	switch {
	case profile.Type == v1.SeccompProfileTypeLocalhost && local == nil:
		p.Required(set, fmt.Sprintf(localProfileError, "seccomp"))
	case profile.Type == v1.SeccompProfileTypeLocalhost:
		validation.CheckDescendingPath(p, *local, set)
	case local != nil:
		p.Invalid(set, profile, "can only be set when seccomp type is Localhost")
	}
}

// checkAppArmor validates which AppArmor profile holds.
// Upstream: core/validation ValidateAppArmorProfileField, v1.37.
func checkAppArmor(p *validation.Problems, profile *v1.AppArmorProfile, at *field.Path) {
	if profile == nil {
		return
	}
	local, set := profile.LocalhostProfile, at.Child("localhostProfile")
	switch profile.Type {
	case v1.AppArmorProfileTypeLocalhost:
		switch {
		case local == nil || *local == "":
			p.Required(set, fmt.Sprintf(localProfileError, "AppArmor"))
		case strings.TrimSpace(*local) != *local:
			p.Invalid(set, *local, "must not be padded with whitespace")
		}
		if local != nil && len(*local) > maxProfileName {
			p.Add(field.TooLong(set, "", maxProfileName))
		}
	case v1.AppArmorProfileTypeRuntimeDefault, v1.AppArmorProfileTypeUnconfined:
		if local != nil {
			p.Invalid(set, *local, "can only be set when AppArmor type is Localhost")
		}
	case "":
		p.Required(at.Child("type"), "type is required when appArmorProfile is set")
	default:
		p.Add(field.NotSupported(at.Child("type"), profile.Type, appArmorTypes))
	}
}

// checkHostUsersRules: a pod with users of its own shares no more namespaces with the
// node, and has no block devices.
// Upstream: core/validation validateHostUsers, v1.37. "HostPID" is its spelling.
func checkHostUsersRules(p *podRules, at *field.Path) {
	const msg = "when `hostUsers` is false"
	if checkHostUsers(p) {
		return
	}
	if p.spec.HostNetwork {
		p.Forbidden(at.Child("hostNetwork"), msg)
	}
	if p.spec.HostPID {
		p.Forbidden(at.Child("HostPID"), msg)
	}
	if p.spec.HostIPC {
		p.Forbidden(at.Child("HostIPC"), msg)
	}
	eachContainer(p, at, func(c *v1.Container, at *field.Path) {
		if len(c.VolumeDevices) > 0 {
			p.Forbidden(at.Child("volumeDevices"), msg)
		}
	})
}

// DenyPrivileged returns what a server says that does not allow privileged containers.
func DenyPrivileged(spec *v1.PodSpec, at *field.Path) field.ErrorList {
	p := &podRules{Problems: &validation.Problems{}, spec: spec}
	eachContainer(p, at, func(c *v1.Container, at *field.Path) {
		if privileged(c.SecurityContext) {
			p.Forbidden(at.Child("securityContext", "privileged"), "disallowed by cluster policy")
		}
	})
	if _, some := countHostProcesses(p, at); some > 0 {
		p.Forbidden(at, "hostProcess containers are disallowed by cluster policy")
	}
	return p.List
}

// eachContainer visits all containers of the pod, with their paths.
func eachContainer(p *podRules, at *field.Path, do func(*v1.Container, *field.Path)) {
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
