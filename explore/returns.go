package explore

import (
	"strings"

	"github.com/storagesim/storagesim/trace"
)

// authorsCalls looks at the calls of the author's code: of provisioners and of drivers.
type authorsCalls struct {
	log  *trace.Log
	seen int // entries that were looked at
}

// look returns an error for a call that panicked or did not return, with the stack of the code.
func (a *authorsCalls) look() error {
	if a.log.Len() == a.seen {
		return nil
	}
	entries := a.log.Since(a.seen)
	a.seen += len(entries)
	for _, entry := range entries {
		switch r := entry.Record.(type) {
		case trace.Panicked:
			if strings.HasPrefix(r.Stack, planned) {
				continue
			}
			return about(entry.Actor, "%s panics in %s: %s%s", entry.Actor, r.Where(), r.Value, indented(r.Stack))
		case trace.Blocks:
			return about(entry.Actor, "%s %s%s", entry.Actor, r, indented(r.Stack))
		case trace.RPC:
			if r.Stack != "" {
				return about(r.Driver, "%s: %s%s", r.Method, r.Fault, indented(r.Stack))
			}
		}
	}
	return nil
}

// planned is the function of a panic that the scenario asked for, with a provisioner.Faulty.
const planned = "github.com/storagesim/storagesim/provisioner.(*Answer).give"

// indented returns a stack as lines below a message.
func indented(stack string) string {
	if stack == "" {
		return ""
	}
	return "\n  " + strings.ReplaceAll(stack, "\n", "\n  ")
}
