// Command storagesim runs the Kubernetes storage control plane in one process:
// it applies manifests and tells the story of what happened, plays story
// scripts, and compares the simulation with recordings of a real cluster.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() { os.Exit(run()) }

// interrupted is the exit code after Ctrl-C, as shells have it.
const interrupted = 130

// grace is how long a command may take to end after Ctrl-C.
const grace = 5 * time.Second

// run runs the command line and leaves nothing behind: whatever is made in a
// temporary directory meanwhile is made inside one of ours, which goes at the
// end, also when Ctrl-C ends a run that would go on for ever, when the terminal is
// closed, and when the output is not read any more.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // writing fails instead
	temp, err := os.MkdirTemp("", "storagesim-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return exitError
	}
	defer removeAll(temp)
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		if err := os.Setenv(name, temp); err != nil {
			fmt.Fprintln(os.Stderr, "error:", err)
			return exitError
		}
	}
	done := make(chan int, 1)
	go func() { done <- execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr) }()
	select {
	case code := <-done:
		if code == 0 || ctx.Err() == nil {
			return code
		}
	case <-ctx.Done():
		// While the command is still at work it may make what is removed here.
		select {
		case <-done:
		case <-time.After(grace):
		}
	}
	fmt.Fprintln(os.Stderr, "interrupted")
	return interrupted
}

// endings are the signals that end a command; one that is ignored, as under nohup,
// stays ignored.
func endings() []os.Signal {
	var signals []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signals = append(signals, s)
		}
	}
	return signals
}

// removeAll removes a directory in which files may still be made.
func removeAll(dir string) {
	for range 100 {
		if os.RemoveAll(dir) == nil {
			if _, err := os.Lstat(dir); os.IsNotExist(err) {
				return
			}
		}
	}
}
