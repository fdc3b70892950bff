package clustertest

import (
	"slices"
	"strings"

	"github.com/storagesim/storagesim/trace"
)

// ContainsLine reports whether one line of the text has all parts.
func ContainsLine(text string, parts ...string) bool {
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			return true
		}
	}
	return false
}

// Strikes returns the machines' faults that struck, a line each.
func Strikes(log *trace.Log) (list []string) {
	for _, entry := range log.Entries() {
		if struck, ok := entry.Record.(trace.MachineStruck); ok {
			list = append(list, entry.Actor+" "+struck.String())
		}
	}
	return list
}

// IgnoreMissing returns the error, or nil if it says that an object was not found.
func IgnoreMissing(err error) error {
	if err != nil && strings.Contains(err.Error(), "not found") {
		return nil
	}
	return err
}
