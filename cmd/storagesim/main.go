// Command storagesim runs the Kubernetes storage control plane in one process:
// it applies manifests and tells the story of what happened, plays story
// scripts, and compares the simulation with recordings of a real cluster.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/machine/workdir"
)

func main() { os.Exit(run()) }

// interrupted is the exit code after Ctrl-C, as shells have it.
const interrupted = 130

// grace is the time that a command may take to end after Ctrl-C.
const grace = 5 * time.Second

// run runs the command line until it is done, Ctrl-C ends it, the terminal is closed, or
// its output is not read any more. Nothing is left behind: machines have their disks in
// memory, but where --keep says otherwise.
func run() int {
	ctx, stop := untilEnded(context.Background())
	defer stop()
	done := make(chan int, 1)
	go func() { done <- execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr) }()
	select {
	case code := <-done:
		if code == 0 || ctx.Err() == nil {
			return code
		}
	case <-ctx.Done():
		// It may be writing a file that stays.
		select {
		case <-done:
		case <-time.After(grace):
			for _, dir := range workdir.Mine() {
				if err := removeUnmounted(dir); err != nil {
					fmt.Fprintf(os.Stderr, "error: the command did not end within %s; %s\n", grace, prose.Printable(err.Error()))
				}
			}
		}
	}
	fmt.Fprintln(os.Stderr, "interrupted")
	return interrupted
}

// removeUnmounted removes a directory of a command that does not end, unless something is mounted there.
func removeUnmounted(dir string) error {
	if !mount.Known() {
		return fmt.Errorf("%s stays", dir)
	}
	return mount.RemoveAll(dir)
}
