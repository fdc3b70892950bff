//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup starts a process in a group of its own: Ctrl-C comes to this process, which ends the driver.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// terminate asks a process, and all that it has started, to end.
func terminate(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

// kill ends a process and all that it has started.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
