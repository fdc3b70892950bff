package prober

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/kubelet/internal/containerref"
	"github.com/storagesim/storagesim/kubelet/runtime"
)

// unknown is the state of a probe that could not be run, in its event.
//
// Upstream: pkg/probe/probe.go Unknown, v1.37.
const unknown = "unknown"

// probe runs the probe once, and tells the pod if it fails or cannot be run. A probe that cannot be run has no result.
//
// Upstream: pkg/kubelet/prober/prober.go probe, v1.37.
func (w *worker) probe(ctx context.Context, pod *v1.Pod, c *runtime.ContainerStatus) (Result, error) {
	result, output, err := w.runProbe(ctx, pod, c)
	tell := func(format string, args ...any) {
		w.manager.cfg.Recorder.Eventf(containerref.GenerateContainerRef(pod, w.container.Name), v1.EventTypeWarning, "Unhealthy", format, args...)
	}
	switch {
	case err != nil:
		tell("%s probe errored and resulted in %s state: %v", w.key.of, unknown, err)
	case result == Failure:
		tell("%s probe failed: %s", w.key.of, output)
	}
	return result, err
}

// runProbe runs the command of an exec probe. What connects to the container succeeds, if the port is one.
//
// Upstream: prober.go runProbe, v1.37.
func (w *worker) runProbe(ctx context.Context, pod *v1.Pod, c *runtime.ContainerStatus) (result Result, output string, err error) {
	p := w.spec
	switch {
	case p.Exec != nil:
		return w.exec(ctx, pod, c)
	case p.HTTPGet != nil:
		_, err = ResolveContainerPort(p.HTTPGet.Port, w.container)
	case p.TCPSocket != nil:
		_, err = ResolveContainerPort(p.TCPSocket.Port, w.container)
	}
	if err != nil {
		return Unknown, "", err
	}
	return Success, "", nil
}

// ResolveContainerPort returns the number of a port that may be named.
//
// Upstream: pkg/probe/util.go ResolveContainerPort, v1.37.
func ResolveContainerPort(port intstr.IntOrString, c *v1.Container) (int, error) {
	number := port.IntValue()
	if port.Type == intstr.String {
		number = 0
		for _, p := range c.Ports {
			if p.Name == port.StrVal {
				number = int(p.ContainerPort)
				break
			}
		}
		if number == 0 {
			return 0, fmt.Errorf("port %q not found", port.StrVal)
		}
	}
	if number < 1 || number > 65535 {
		return number, fmt.Errorf("invalid port number: %d", number)
	}
	return number, nil
}

// maxReadLength is the number of bytes of a probe's output that its event repeats.
//
// Upstream: pkg/probe/exec/exec.go maxReadLength, v1.37.
const maxReadLength = 10 << 10

// exec runs the command of a probe in the container, for as long as it may take.
//
// Upstream: pkg/probe/exec/exec.go Probe, kuberuntime_container.go RunInContainer and cri-client remote_runtime.go execSync, v1.37.
func (w *worker) exec(ctx context.Context, pod *v1.Pod, c *runtime.ContainerStatus) (Result, string, error) {
	m, command := w.manager, w.manager.cfg.Command(w.container, w.spec.Exec.Command)
	stdout, stderr := bounded.Buffer{Most: maxReadLength}, bounded.Buffer{Most: maxReadLength}
	process, err := m.cfg.Runtime.Exec(c.ID, runtime.ExecConfig{Command: command, Stdout: &stdout, Stderr: &stderr, Probe: true, Absent: m.cfg.Absent(pod)})
	if err != nil {
		return Unknown, "", err
	}
	timeout := time.Duration(w.spec.TimeoutSeconds) * time.Second
	for end := m.cfg.Env.Now().Add(timeout); ; {
		wait, ended := process.Run()
		if ended {
			break
		}
		left := end.Sub(m.cfg.Env.Now())
		if err := m.cfg.Env.Sleep(ctx, min(wait, left)); err != nil {
			process.Stop()
			return Unknown, "", err
		}
		if wait >= left {
			process.Stop()
			return Failure, fmt.Sprintf("command timed out: %q timed out after %s", strings.Join(command, " "), timeout), nil
		}
	}
	if process.ExitCode() == 0 {
		return Success, "", nil
	}
	output := stdout.String() + stderr.String()
	return Failure, output[:min(len(output), maxReadLength)], nil
}
