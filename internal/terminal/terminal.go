// Package terminal asks how wide the reader's terminal is, and keeps control characters from it.
// Begin with Writer.
package terminal

import (
	"cmp"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/storagesim/storagesim/internal/prose"
)

// The widths of what is printed, in columns.
const (
	// DefaultWidth is for files and pipes.
	DefaultWidth = 120
	// TestWidth is for failures of tests, which people read in all kinds of windows: 80 columns without the 8 by which go
	// test indents a message.
	TestWidth = 72
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
func Width(out io.Writer) int { return cmp.Or(TableWidth(out), DefaultWidth) }

// TableWidth returns the width that tables must fit in: that of a terminal, at least LeastWidth, or 0 if out is none, since
// programs that read tables want all columns. out may come from Writer.
func TableWidth(out io.Writer) int {
	f := File(out)
	if f == nil {
		return 0
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		return max(width, LeastWidth)
	}
	return DefaultWidth
}

// Lines returns the writer for texts that are sentences: on a terminal they are wrapped at its width, and control characters
// are escapes. Each Write should have whole lines. Where out is no terminal, lines stay whole: a log is read on a terminal later.
func Lines(out io.Writer) io.Writer {
	if TableWidth(out) == 0 {
		return prose.PrintableWriter(out)
	}
	if _, ok := out.(screen); !ok {
		out = Writer(out)
	}
	return lines{out}
}

// lines wraps what is written. It asks for the width each time, since a window may change.
type lines struct{ screen io.Writer }

// hang is the indentation of what does not fit into a line.
const hang = 2

func (l lines) Write(text []byte) (int, error) {
	if _, err := io.WriteString(l.screen, prose.Wrap(string(text), Width(l.screen), hang)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// File returns the terminal that out writes to, or nil if it is none. out may come from Writer or Lines.
func File(out io.Writer) *os.File {
	if l, ok := out.(lines); ok {
		out = l.screen
	}
	if s, ok := out.(screen); ok {
		return s.terminal
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}
