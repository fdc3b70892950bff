// Package terminal asks how wide the reader's terminal is, and keeps control characters from it.
// Begin with Writer.
package terminal

import (
	"io"
	"os"

	"golang.org/x/term"

	"github.com/storagesim/storagesim/internal/prose"
)

// The widths of what is printed, in columns.
const (
	// DefaultWidth is for files and pipes.
	DefaultWidth = 120
	// TestWidth is for failures of tests, which people read in all kinds of windows.
	TestWidth = 80
	// LeastWidth is the narrowest that sentences are wrapped at.
	LeastWidth = 20
)

// screen is a terminal to which control characters go as escapes: what pods, drivers and manifests say is
// printed in stories and tables.
type screen struct {
	io.Writer
	terminal *os.File
}

// Writer returns the writer to print to. If out is a terminal, control characters reach it as escapes.
func Writer(out io.Writer) io.Writer {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return screen{prose.PrintableWriter(f), f}
	}
	return out
}

// Is reports whether out is a terminal. out may come from Writer.
func Is(out io.Writer) bool {
	if _, ok := out.(screen); ok {
		return true
	}
	f, ok := out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width returns the width of a terminal, at least LeastWidth, or DefaultWidth if out is none. out may come from
// Writer.
func Width(out io.Writer) int {
	if s, ok := out.(screen); ok {
		out = s.terminal
	}
	if f, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return max(width, LeastWidth)
		}
	}
	return DefaultWidth
}
