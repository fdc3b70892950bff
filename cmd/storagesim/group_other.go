//go:build !unix

package main

import (
	"os/exec"
	"syscall"
)

// ownGroup changes nothing: this system has no groups of processes.
func ownGroup() *syscall.SysProcAttr { return nil }

// terminate ends a process: this system has no way to ask it.
func terminate(cmd *exec.Cmd) { kill(cmd) }

// kill ends a process.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
