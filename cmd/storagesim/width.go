package main

import (
	"fmt"

	"github.com/storagesim/storagesim/internal/terminal"
)

const widthHelp = "wrap sentences at `COLUMNS`; 0 wraps nothing (default: the terminal's width, and 120 elsewhere)"

func badWidth(width int) error {
	return fmt.Errorf("--width %d: expected at least %d, or 0 for no wrapping", width, terminal.LeastWidth)
}
