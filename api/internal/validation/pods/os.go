package pods

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

var systems = []v1.OSName{v1.Linux, v1.Windows}

// checkOS validates the operating system that a pod is for, and refuses what makes no
// sense on it. Upstream: core/validation validateOS, validateLinux and
// validateWindows, v1.37.
func checkOS(p *podRules, at *field.Path) {
	switch {
	case p.spec.OS == nil:
	case p.spec.OS.Name == "":
		p.Required(at.Child("os", "name"), "")
	case !slices.Contains(systems, p.spec.OS.Name):
		p.Add(field.NotSupported(at.Child("os"), p.spec.OS.Name, systems))
	case p.spec.OS.Name == v1.Linux:
		checkLinux(p, at)
	default:
		checkWindows(p, at)
	}
}

func checkLinux(p *podRules, at *field.Path) {
	const msg = "windows options cannot be set for a linux pod"
	if sc := p.spec.SecurityContext; sc != nil && sc.WindowsOptions != nil {
		p.Forbidden(at.Child("securityContext", "windowsOptions"), msg)
	}
	eachContainer(p, at, func(c *v1.Container, at *field.Path) {
		if c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil {
			p.Forbidden(at.Child("securityContext", "windowsOptions"), msg)
		}
	})
}

// A setting is a field that may be set or not.
type setting struct {
	name string
	set  bool
}

func checkWindows(p *podRules, at *field.Path) {
	const msg = "cannot be set for a windows pod"
	forbidSettings(p.Problems, at, msg, []setting{
		{"hostUsers", p.spec.HostUsers != nil}, {"hostPID", p.spec.HostPID}, {"hostIPC", p.spec.HostIPC},
		{"shareProcessNamespace", p.spec.ShareProcessNamespace != nil},
	})
	if sc := p.spec.SecurityContext; sc != nil {
		forbidSettings(p.Problems, at.Child("securityContext"), msg, []setting{
			{"appArmorProfile", sc.AppArmorProfile != nil}, {"seLinuxOptions", sc.SELinuxOptions != nil},
			{"seccompProfile", sc.SeccompProfile != nil}, {"fsGroup", sc.FSGroup != nil},
			{"fsGroupChangePolicy", sc.FSGroupChangePolicy != nil}, {"sysctls", len(sc.Sysctls) > 0},
			{"runAsUser", sc.RunAsUser != nil}, {"runAsGroup", sc.RunAsGroup != nil},
			{"supplementalGroups", sc.SupplementalGroups != nil}, {"supplementalGroupsPolicy", sc.SupplementalGroupsPolicy != nil},
			{"seLinuxChangePolicy", sc.SELinuxChangePolicy != nil},
		})
	}
	eachContainer(p, at, func(c *v1.Container, at *field.Path) {
		if sc := c.SecurityContext; sc != nil {
			forbidSettings(p.Problems, at.Child("securityContext"), msg, []setting{
				{"appArmorProfile", sc.AppArmorProfile != nil}, {"seLinuxOptions", sc.SELinuxOptions != nil},
				{"seccompProfile", sc.SeccompProfile != nil}, {"capabilities", sc.Capabilities != nil},
				{"readOnlyRootFilesystem", sc.ReadOnlyRootFilesystem != nil}, {"privileged", sc.Privileged != nil},
				{"allowPrivilegeEscalation", sc.AllowPrivilegeEscalation != nil}, {"procMount", sc.ProcMount != nil},
				{"runAsUser", sc.RunAsUser != nil}, {"runAsGroup", sc.RunAsGroup != nil},
			})
		}
	})
}

func forbidSettings(p *validation.Problems, at *field.Path, msg string, settings []setting) {
	for _, s := range settings {
		if s.set {
			p.Forbidden(at.Child(s.name), msg)
		}
	}
}

// countHostProcesses counts the containers, and those that run as processes of a
// Windows node.
func countHostProcesses(p *podRules, at *field.Path) (all, some int) {
	inherited := hostProcess(p.spec.SecurityContext)
	eachContainer(p, at, func(c *v1.Container, _ *field.Path) {
		own := inherited
		if c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil && c.SecurityContext.WindowsOptions.HostProcess != nil {
			own = c.SecurityContext.WindowsOptions.HostProcess
		}
		all++
		if own != nil && *own {
			some++
		}
	})
	return all, some
}

func hostProcess(sc *v1.PodSecurityContext) *bool {
	if sc == nil || sc.WindowsOptions == nil {
		return nil
	}
	return sc.WindowsOptions.HostProcess
}

// checkHostProcessRules: all containers of a pod are processes of the node, or none is.
// Upstream: core/validation validateWindowsHostProcessPod, v1.37.
func checkHostProcessRules(p *podRules, at *field.Path) {
	pod := hostProcess(p.spec.SecurityContext)
	eachContainer(p, at, func(c *v1.Container, at *field.Path) {
		if c.SecurityContext == nil || c.SecurityContext.WindowsOptions == nil {
			return
		}
		if own := c.SecurityContext.WindowsOptions.HostProcess; own != nil && pod != nil && *own != *pod {
			p.Invalid(at.Child("securityContext", "windowsOptions", "hostProcess"), *own,
				fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *pod))
		}
	})
	all, some := countHostProcesses(p, at)
	if some == 0 {
		return
	}
	if some != all {
		p.Invalid(at, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers")
	}
	if !p.spec.HostNetwork {
		p.Invalid(at.Child("hostNetwork"), false, "hostNetwork must be true if pod contains any hostProcess containers")
	}
}

var (
	controlCharacters = regexp.MustCompile(`[[:cntrl:]]+`)
	netBIOSDomain     = regexp.MustCompile(`^[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}$`)
	dnsDomain         = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
	badUserCharacters = regexp.MustCompile(`["/\\:;|=,\+\*\?<>@\[\]]`)
	dotsAndSpaces     = regexp.MustCompile(`^[\. ]+$`)
)

const (
	maxCredentialSpec = 64 << 10 // bytes
	maxUserDomain     = 256      // characters; less is allowed
	maxUserName       = 104      // characters
)

// checkWindowsOptions validates as whom a Windows container runs.
// Upstream: core/validation validateWindowsSecurityContextOptions, v1.37.
func checkWindowsOptions(p *validation.Problems, o *v1.WindowsSecurityContextOptions, at *field.Path) {
	if o == nil {
		return
	}
	if o.GMSACredentialSpecName != nil {
		p.Subdomain(*o.GMSACredentialSpecName, at.Child("gmsaCredentialSpecName"))
	}
	if spec := o.GMSACredentialSpec; spec != nil && *spec == "" {
		p.Invalid(at.Child("gmsaCredentialSpec"), *spec, "gmsaCredentialSpec cannot be an empty string")
	} else if spec != nil && len(*spec) > maxCredentialSpec {
		p.Invalid(at.Child("gmsaCredentialSpec"), *spec, "gmsaCredentialSpec size must be under 64 KiB")
	}
	if o.RunAsUserName != nil {
		p.Messages(at.Child("runAsUserName"), *o.RunAsUserName, windowsUser(*o.RunAsUserName))
	}
}

// windowsUser says what is wrong with DOMAIN\user or user.
func windowsUser(name string) (msgs []string) {
	domain, user, hasDomain := strings.Cut(name, `\`)
	if !hasDomain {
		domain, user = "", name
	}
	switch {
	case name == "":
		return []string{"runAsUserName cannot be an empty string"}
	case controlCharacters.MatchString(name):
		return []string{"runAsUserName cannot contain control characters"}
	case strings.Contains(user, `\`):
		return []string{"runAsUserName cannot contain more than one backslash"}
	}
	for _, rule := range []struct {
		broken bool
		msg    string
	}{
		{len(domain) >= maxUserDomain, "runAsUserName's Domain length must be under 256 characters"},
		{hasDomain && !netBIOSDomain.MatchString(domain) && !dnsDomain.MatchString(domain),
			"runAsUserName's Domain doesn't match the NetBios nor the DNS format"},
		{user == "", "runAsUserName's User cannot be empty"},
		{len(user) > maxUserName, "runAsUserName's User length must not be longer than 104 characters"},
		{dotsAndSpaces.MatchString(user), "runAsUserName's User cannot contain only periods or spaces"},
		{badUserCharacters.MatchString(user), `runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]`},
	} {
		if rule.broken {
			msgs = append(msgs, rule.msg)
		}
	}
	return msgs
}
