package story

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/storagesim/storagesim/internal/bounded"
	"github.com/storagesim/storagesim/kubelet/runtime"
)

func execCommands() []*command {
	container := func(f *pflag.FlagSet) { inNamespace(f); f.StringP("container", "c", "", "") }
	return []*command{
		{
			name: "exec", usage: "exec POD|TYPE/NAME [-n NAMESPACE] [-c CONTAINER] -- COMMAND [ARG...]", run: exec, input: true, flags: container,
			help: "run a command in a container, on the pod's volumes; the input, if there is any, is what it reads\n" +
				"Of a workload or a Service (deployment/web), a pod that is ready is taken. The container is the pod's first unless -c names another. " +
				"Virtual time passes while the command sleeps.",
		},
		{
			name: "logs", usage: "logs POD|TYPE/NAME [-n NAMESPACE] [-c CONTAINER] [--previous]", run: logs, reads: true,
			flags: func(f *pflag.FlagSet) {
				container(f)
				f.BoolP("previous", "p", false, "")
				f.BoolP("follow", "f", false, "")
			},
			help: "print what a container has printed, or with --previous the one before it\n" +
				"Of a workload or a Service (deployment/web), a pod that is ready is taken.",
		},
	}
}

// maxOutput is the number of bytes of a command's output that a story prints.
const maxOutput = 1 << 20

func exec(c *call) error {
	if dash := c.flags.ArgsLenAtDash(); dash != 1 || len(c.args) < 2 {
		return c.misuse("expected a pod, -- and a command")
	}
	output := &bounded.Buffer{Most: maxOutput}
	config := runtime.ExecConfig{Command: c.args[1:], Stdout: output, Stderr: output}
	if c.input != nil {
		config.Stdin = strings.NewReader(strings.Join(c.input, "\n") + "\n")
	}
	pod, _, err := c.podNamed(c.inNamespace(c.args[0]))
	if err != nil {
		return err
	}
	code, err := pod.ExecStreams(c.flag("container"), config)
	c.WriteString(output.String())
	c.endLine()
	if err == nil && code != 0 {
		return plainError(fmt.Sprintf("command terminated with exit code %d", code))
	}
	return err
}

func logs(c *call) error {
	if err := c.want(1, 1); err != nil {
		return err
	}
	if c.on("follow") {
		return c.misuse("there is nothing to follow, since no time passes while a command prints; settle or run-for first, and then logs without -f")
	}
	pod, namespace, err := c.podNamed(c.inNamespace(c.args[0]))
	var text string
	if err == nil {
		text, err = pod.Logs(c.flag("container"), c.on("previous"))
	}
	c.WriteString(text)
	c.endLine()
	if apierrors.IsNotFound(err) { // Upstream: kubectl cmd/logs/logs.go Complete, v0.37.2, which says "error" twice
		return plainError(fmt.Sprintf("error: error from server (NotFound): %v in namespace %q", err, namespace))
	}
	return err
}

// endLine ends the last line of what a program has printed.
func (c *call) endLine() {
	if data := c.Bytes(); len(data) > 0 && data[len(data)-1] != '\n' {
		c.WriteByte('\n')
	}
}
