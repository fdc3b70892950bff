package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/story"
)

// leastWidth is the narrowest that a transcript can be read at.
const leastWidth = 60

const widthHelp = "wrap sentences at `COLUMNS`; 0 wraps nothing (default: the terminal's width, and 120 elsewhere)"

func badWidth(width int) error {
	return fmt.Errorf("--width %d: expected at least %d, or 0 for no wrapping", width, leastWidth)
}

// screen is a terminal to which control characters go as escapes: what pods, drivers and manifests say is
// printed in stories and tables.
type screen struct {
	io.Writer
	terminal *os.File
}

// forReaders returns the writer to print to: a screen if out is a terminal.
func forReaders(out io.Writer) io.Writer {
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return screen{prose.PrintableWriter(f), f}
	}
	return out
}

// terminalWidth returns the width of the terminal, or a default if out is not one.
func terminalWidth(out io.Writer) int {
	if s, ok := out.(screen); ok {
		out = s.terminal
	}
	if f, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return max(width, leastWidth)
		}
	}
	return story.DefaultWidth
}
