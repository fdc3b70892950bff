package pods

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/containers"
	"github.com/storagesim/storagesim/api/internal/validation"
)

const tooManyHandlers = "may not specify more than 1 handler type"

var urlSchemes = []v1.URIScheme{v1.URISchemeHTTP, v1.URISchemeHTTPS}

// checkLifecycle validates what is run in a container, or asked of it, beside its
// command. A stop signal is dropped before (see dropDisabledPodFields).
// Upstream: core/validation validateLifecycle and the probes', v1.37.
func checkLifecycle(p *podRules, c *v1.Container, at *field.Path) {
	if c.Lifecycle != nil && c.Lifecycle.PostStart != nil {
		checkHook(p, c.Lifecycle.PostStart, at.Child("lifecycle", "postStart"))
	}
	if c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
		checkHook(p, c.Lifecycle.PreStop, at.Child("lifecycle", "preStop"))
	}
	for _, probe := range containers.Probes(c) {
		if probe.Probe != nil {
			checkProbe(p, probe, at.Child(probe.Name))
		}
	}
}

func checkHook(p *podRules, h *v1.LifecycleHandler, at *field.Path) {
	n := checkAction(p.Problems, h.Exec, h.HTTPGet, h.TCPSocket, at)
	if h.Sleep != nil {
		n++
		// Without a grace period that is the problem; it is reported elsewhere.
		grace, s := p.spec.TerminationGracePeriodSeconds, h.Sleep.Seconds
		if n > 1 {
			p.Forbidden(at.Child("sleep"), tooManyHandlers)
		} else if grace != nil && (s < 0 || s > *grace) {
			p.Invalid(at.Child("sleep"), s, fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))
		}
	}
	if n == 0 {
		p.Required(at, "must specify a handler type")
	}
}

// checkProbe validates a probe. Upstream: core/validation validateProbe, v1.37.
func checkProbe(p *podRules, probe containers.Probe, at *field.Path) {
	n := checkAction(p.Problems, probe.Exec, probe.HTTPGet, probe.TCPSocket, at)
	if probe.GRPC != nil {
		n++
		if n > 1 {
			p.Forbidden(at.Child("grpc"), tooManyHandlers)
		} else {
			checkPortNumber(p.Problems, int64(probe.GRPC.Port), at.Child("grpc", "port"))
		}
	}
	if n == 0 {
		p.Required(at, "must specify a handler type")
	}
	p.NotNegative(int64(probe.InitialDelaySeconds), at, "initialDelaySeconds")
	p.NotNegative(int64(probe.TimeoutSeconds), at, "timeoutSeconds")
	p.NotNegative(int64(probe.PeriodSeconds), at, "periodSeconds")
	p.NotNegative(int64(probe.SuccessThreshold), at, "successThreshold")
	p.NotNegative(int64(probe.FailureThreshold), at, "failureThreshold")
	grace := probe.TerminationGracePeriodSeconds
	if grace != nil && *grace <= 0 {
		p.Invalid(at.Child("terminationGracePeriodSeconds"), *grace, "must be greater than 0")
	}
	if probe.Name == "readinessProbe" {
		if grace != nil {
			p.Invalid(at.Child("terminationGracePeriodSeconds"), *grace, "must not be set for readinessProbes")
		}
	} else if probe.SuccessThreshold != 1 {
		p.Invalid(at.Child("successThreshold"), probe.SuccessThreshold, "must be 1")
	}
}

// checkAction validates what probes and hooks may do alike, and returns how many of
// these things are to be done. One is allowed; more are refused here.
// Upstream: core/validation validateHandler, v1.37.
func checkAction(p *validation.Problems, exec *v1.ExecAction, get *v1.HTTPGetAction, tcp *v1.TCPSocketAction, at *field.Path) int {
	n := 0
	if exec != nil {
		n++
		if len(exec.Command) == 0 {
			p.Required(at.Child("exec", "command"), "")
		}
	}
	if get != nil {
		if n++; n > 1 {
			p.Forbidden(at.Child("httpGet"), tooManyHandlers)
		} else {
			checkHTTPGet(p, get, at.Child("httpGet"))
		}
	}
	if tcp != nil {
		if n++; n > 1 {
			p.Forbidden(at.Child("tcpSocket"), tooManyHandlers)
		} else {
			checkPort(p, tcp.Port, at.Child("tcpSocket", "port"))
		}
	}
	return n
}

func checkHTTPGet(p *validation.Problems, get *v1.HTTPGetAction, at *field.Path) {
	p.Need(at, "path", get.Path)
	checkPort(p, get.Port, at.Child("port"))
	if !slices.Contains(urlSchemes, get.Scheme) {
		p.Add(field.NotSupported(at.Child("scheme"), get.Scheme, urlSchemes))
	}
	for _, header := range get.HTTPHeaders {
		p.Messages(at.Child("httpHeaders"), header.Name, utilvalidation.IsHTTPHeaderName(header.Name))
	}
}

// checkPort validates a port given by its number or its name.
func checkPort(p *validation.Problems, port intstr.IntOrString, at *field.Path) {
	if port.Type == intstr.String {
		p.Messages(at, port.StrVal, utilvalidation.IsValidPortName(port.StrVal))
		return
	}
	checkPortNumber(p, int64(port.IntVal), at)
}
