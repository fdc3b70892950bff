package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/terminal"
)

const widthHelp = "wrap sentences at `COLUMNS`; 0 wraps nothing (default: the terminal's width, and 120 elsewhere)"

func badWidth(width int) error {
	return fmt.Errorf("--width %d: expected at least %d, or 0 for no wrapping", width, terminal.LeastWidth)
}

// wrapErrors has a command wrap at --width what it prints on standard error, its last error too. Without the flag that stays one line each, for
// programs that read it.
func wrapErrors(cmd *cobra.Command) {
	width, err := cmd.Flags().GetInt("width")
	if err == nil && width >= terminal.LeastWidth {
		cmd.SetErr(wrapping{cmd.ErrOrStderr(), width})
	}
}

// wrapping wraps lines, each of which is written at once.
type wrapping struct {
	to    io.Writer
	width int
}

func (w wrapping) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.to, prose.Wrap(string(text), w.width, 4)); err != nil {
		return 0, err
	}
	return len(text), nil
}
