package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api/rest"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/shell"
)

// lookEvery is the interval, in the machine's time, at which a request looks for what it waits
// for: more of a log, or the time at which a command goes on.
const lookEvery = 100 * time.Millisecond

var errEnded = apierrors.NewServiceUnavailable("the cluster has ended")

// nodes implements rest.Nodes between the steps of the cluster.
type nodes struct{ *run }

var _ rest.Nodes = nodes{}

// Logs implements rest.Nodes.
func (n nodes) Logs(ctx context.Context, pod types.NamespacedName, opts *corev1.PodLogOptions, to io.Writer) error {
	text, err := n.log(pod, opts)
	if err != nil {
		return err
	}
	left := int64(-1) // of limitBytes
	if opts.LimitBytes != nil {
		left = *opts.LimitBytes
	}
	more := lastLines(text, opts.TailLines)
	for {
		if left >= 0 {
			more = more[:min(int64(len(more)), left)]
			left -= int64(len(more))
		}
		if _, err := io.WriteString(to, more); err != nil || !opts.Follow || opts.Previous || left == 0 {
			return err
		}
		was := text
		if text, err = n.nextLog(ctx, pod, opts, was); err != nil || text == was {
			return nil //nolint:nilerr // the container is gone, and its log with it
		}
		more = added(was, text)
	}
}

// nextLog waits until a log differs from was, and returns it. It returns was if the container
// has ended or ctx is done.
func (n nodes) nextLog(ctx context.Context, pod types.NamespacedName, opts *corev1.PodLogOptions, was string) (string, error) {
	for {
		running := n.runs(pod, opts.Container) // before the last look
		text, err := n.log(pod, opts)
		if err != nil || text != was || !running || !sleep(ctx, lookEvery) {
			return text, err
		}
	}
}

func (n nodes) log(pod types.NamespacedName, opts *corev1.PodLogOptions) (text string, err error) {
	if !n.Do(func() { text, err = n.cluster.Machine("pod/"+pod.String()).Logs(opts.Container, opts.Previous) }) {
		return "", errEnded
	}
	return text, err
}

// runs reports whether a container of a pod runs, as far as the API knows; "" is any.
func (n nodes) runs(name types.NamespacedName, container string) (running bool) {
	n.Do(func() {
		pod, err := n.cluster.Pod(name.String())
		if err != nil {
			return
		}
		for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
			for _, s := range list {
				running = running || s.State.Running != nil && (container == "" || s.Name == container)
			}
		}
	})
	return running
}

// lastLines returns the last n lines of a text; all of them if n is nil.
func lastLines(text string, n *int64) string {
	if n == nil {
		return text
	}
	at := len(strings.TrimSuffix(text, "\n"))
	if *n == 0 {
		return ""
	}
	for left := *n; ; left-- {
		at = strings.LastIndexByte(text[:at], '\n')
		if at < 0 {
			return text
		}
		if left == 1 {
			return text[at+1:]
		}
	}
}

// added returns the part of a log that was added. Of a long log only the end is kept, so that
// the end of the old text is the beginning of the new one.
func added(was, text string) string {
	for from := range len(was) + 1 {
		if more, ok := strings.CutPrefix(text, was[from:]); ok {
			return more
		}
	}
	return text
}

// sleep waits on the machine's clock, and says whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Exec implements rest.Nodes.
func (n nodes) Exec(ctx context.Context, pod types.NamespacedName, opts *corev1.PodExecOptions, connect func() (*rest.Streams, error)) (code int32, err error) {
	x := &execution{nodes: n}
	config := runtime.ExecConfig{Command: opts.Command, Stdout: &x.stdout, Stderr: &x.stderr}
	if opts.TTY {
		config.Stderr = &x.stdout
	}
	if opts.Stdin {
		x.stdin = &input{tty: opts.TTY, ended: make(chan struct{})}
		config.Stdin = x.stdin
	}
	if !n.Do(func() { x.Execution, err = n.cluster.Machine("pod/"+pod.String()).BeginExec(opts.Container, config) }) {
		return 0, errEnded
	}
	if err != nil {
		return 0, err
	}
	defer n.Do(x.Stop)
	streams, err := connect()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if x.stdin != nil {
		go x.stdin.receive(streams.Stdin, streams.Stdout, cancel)
	}
	return x.run(ctx, streams)
}

// execution is a command that a client is connected to. What it prints is handed over
// between the steps of the cluster, which never waits for a client.
type execution struct {
	*storagesim.Execution
	nodes          nodes
	stdin          *input // nil without standard input
	stdout, stderr bytes.Buffer

	until   time.Time // when the command goes on
	reading bool      // it waits for its standard input, as far as can be seen
	ended   bool
}

// run runs the command to its end.
func (x *execution) run(ctx context.Context, streams *rest.Streams) (int32, error) {
	for {
		var err error
		if !x.nodes.Do(func() { err = x.goOn() }) {
			return 0, errEnded
		}
		if err := errors.Join(err, pass(&x.stdout, streams.Stdout), pass(&x.stderr, streams.Stderr)); err != nil {
			return 0, err
		}
		if x.ended {
			return x.ExitCode(), nil
		}
		if !x.pause(ctx, streams.Gone) {
			return 0, errors.New("the command was stopped: the client has gone, or it took too long")
		}
	}
}

// goOn runs the command if its time has come, or its standard input.
func (x *execution) goOn() error {
	now := x.nodes.cluster.Now()
	if now.Before(x.until) && (!x.reading || x.stdin.Pending()) {
		return nil
	}
	pending := x.stdin != nil && x.stdin.Pending() // before it looks itself
	wait, ended, err := x.Run()
	x.until, x.ended = now.Add(wait), ended
	x.reading = pending && wait > shell.Forever/2
	return err
}

// pause waits for a while, or until the command has its input, and reports whether
// the command should go on.
func (x *execution) pause(ctx context.Context, gone <-chan struct{}) bool {
	var input <-chan struct{}
	if x.reading {
		input = x.stdin.ended
	}
	select {
	case <-ctx.Done():
		return false
	case <-gone:
		return false
	case <-input:
	case <-time.After(lookEvery):
	}
	return true
}

// pass writes the output to the client, or drops it if the client did not ask for it.
func pass(from *bytes.Buffer, to io.Writer) error {
	defer from.Reset()
	if to == nil || from.Len() == 0 {
		return nil
	}
	_, err := to.Write(from.Bytes())
	return err
}

var _ shell.Pending = (*input)(nil)

// maxInput is the number of bytes that a client may send to a command.
const maxInput = 64 << 20

// The keys of a terminal that end the input and the command.
const (
	ctrlC = 0x03
	ctrlD = 0x04
)

// input holds the data that a client sends to a command until the command reads it.
type input struct {
	tty   bool
	ended chan struct{}
	mu    sync.Mutex
	data  bytes.Buffer
	err   error
}

// Pending implements shell.Pending.
func (in *input) Pending() bool {
	select {
	case <-in.ended:
		return false
	default:
		return true
	}
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.data.Len() == 0 && in.err != nil {
		return 0, in.err
	}
	return in.data.Read(p)
}

// receive reads what the client sends until it ends, which for a terminal is Ctrl-D. There,
// what is typed is echoed, and Ctrl-C stops the command.
func (in *input) receive(from io.Reader, echo io.Writer, stop func()) {
	defer close(in.ended)
	buf := make([]byte, 32<<10)
	for in.err == nil {
		n, err := from.Read(buf)
		typed := buf[:n]
		if in.tty {
			var ended bool
			typed, ended = edit(typed, stop)
			if ended {
				err = io.EOF
			}
			if echo != nil {
				_, _ = echo.Write(bytes.ReplaceAll(typed, []byte("\n"), []byte("\r\n")))
			}
		}
		in.mu.Lock()
		in.data.Write(typed)
		switch {
		case in.data.Len() > maxInput:
			in.err = errors.New("the standard input is too long")
			stop()
		case err != nil:
			in.err = err
		}
		in.mu.Unlock()
	}
}

// edit turns keys into the text that a terminal hands over: lines end in a newline.
func edit(keys []byte, stop func()) (typed []byte, ended bool) {
	for _, key := range keys {
		switch key {
		case ctrlC:
			stop()
			return typed, true
		case ctrlD:
			return typed, true
		case '\r':
			key = '\n'
		}
		typed = append(typed, key)
	}
	return typed, false
}
