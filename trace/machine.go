package trace

import (
	"fmt"
	"strings"
)

// Mount is a change to a node's mount table or pod directories.
type Mount struct {
	// Op is "mount" or "unmount".
	Op string
	// About is the pod that the mount is for.
	About Ref
	// Volume names the volume, as in the pod's spec or the PV's name.
	Volume string
	// Source and Target are paths on the node.
	Source, Target string
	Options        []string
	// Err is the error, empty on success.
	Err string
}

// Topic implements Record.
func (Mount) Topic() string { return "mount" }

func (m Mount) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%ss %s", m.Op, m.Volume)
	if m.Source != "" {
		fmt.Fprintf(&b, ": %s ->", m.Source)
	}
	fmt.Fprintf(&b, " %s for %s", m.Target, m.About)
	if m.Err != "" {
		fmt.Fprintf(&b, " fails: %s", m.Err)
	}
	return b.String()
}

// Command is a command that a container ran on a node, or its refusal.
type Command struct {
	About Ref // the pod
	Argv  []string
	// Node is the node it ran on. Paths are the files it worked on, as absolute paths on the node,
	// if they are known.
	Node  string
	Paths []string
	// Err is the error, empty on success.
	Err string
}

// Topic implements Record.
func (Command) Topic() string { return "command" }

func (c Command) String() string {
	s := fmt.Sprintf("runs %q in %s", strings.Join(c.Argv, " "), c.About)
	if c.Err != "" {
		s += ": " + c.Err
	}
	return s
}

// MachineStruck is a fault that struck a file or mount operation of a machine.
type MachineStruck struct {
	// Machine is the machine, "node/NAME" or "nfs/NAME". Op and Path say what failed: "mount",
	// "unmount", "look" (any question about a mount point), "mkdir", "write", "symlink",
	// "remove", "rename", "chmod", "chown", "read" or "stat".
	Machine, Op, Path string
	Err               error
}

// Topic implements Record.
func (MachineStruck) Topic() string { return "fault" }

func (s MachineStruck) String() string {
	verb := s.Op
	if verb == "look" {
		verb = "look at"
	}
	return fmt.Sprintf("cannot %s %s on %s: %v", verb, s.Path, s.Machine, s.Err)
}
