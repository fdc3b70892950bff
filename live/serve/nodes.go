package serve

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api/rest"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/machine/shell"
)

// lookEvery is the interval, in the machine's time, at which a request looks for the time at which a command goes on.
const lookEvery = 100 * time.Millisecond

var errEnded = apierrors.NewServiceUnavailable("the cluster has ended")

// nodes implements rest.Nodes between the steps of the cluster.
type nodes struct{ *run }

var _ rest.Nodes = nodes{}

// Log implements rest.Nodes.
func (n nodes) Log(_ context.Context, pod types.NamespacedName, container string, previous bool) (text, running string, err error) {
	look := func() {
		if pod, err := n.cluster.Pod(pod.String()); err == nil {
			running = rest.Running(pod, container)
		}
		text, err = n.cluster.Machine("pod/"+pod.String()).Logs(container, previous)
	}
	if !n.Do(look) {
		return "", "", errEnded
	}
	return text, running, err
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

// Proxy implements rest.Nodes. What needs no time is done also if time passes only on command.
func (n nodes) Proxy(_ context.Context, node string, r *http.Request) (look func() (*http.Response, error), err error) {
	var x *storagesim.KubeletRequest
	if !n.Do(func() { x, err = n.cluster.Machine("node/" + node).BeginRequest(r) }) {
		return nil, errEnded
	}
	return func() (answer *http.Response, err error) {
		ended := func() bool { answer, err = x.Answer(); return answer != nil || err != nil }
		var failure error
		if !n.Do(func() { failure = n.cluster.Engine().RunUntil(0, ended) }) {
			return nil, errEnded
		}
		var waits *engine.ConditionError
		if failure != nil && !errors.As(failure, &waits) {
			return nil, failure
		}
		return answer, err
	}, err
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
