package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/storagesim/storagesim/internal/rigs/soon"
)

// openTerminal returns the two sides of a terminal of 100 columns: that of the one who types, and that of the program.
func openTerminal(t *testing.T) (typist, program *os.File) {
	t.Helper()
	typist, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { typist.Close() })
	fd := int(typist.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100}))
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { program.Close() })
	return typist, program
}

func TestATerminalHasHistoryAndCompletion(t *testing.T) {
	typist, program := openTerminal(t)
	var seen output
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := typist.Read(buffer)
			if _, werr := seen.Write(buffer[:n]); err != nil || werr != nil {
				return // the terminal is closed
			}
		}
	}()
	done := make(chan int, 1)
	go func() {
		done <- execute(t.Context(), []string{"shell", "nodes=n1", "provisioners="}, program, program, program)
	}()
	shows := func(text string, times int) {
		t.Helper()
		require.True(t, soon.Is(t, func() bool { return strings.Count(seen.String(), text) >= times }), "%q: %q", text, seen.String())
	}
	types := func(keys string) {
		t.Helper()
		_, err := typist.WriteString(keys)
		require.NoError(t, err)
	}
	shows("> ", 1)
	types("crash kubel\t")
	shows("crash kubelet/n1 ", 1)
	types("\r")
	shows("kubelet/n1 crashed\r\n", 1)
	types("\x1b[A\r") // the line before
	shows("kubelet/n1 crashed\r\n", 2)
	types("crash kube\t\t")
	shows("kube-scheduler  kubelet/n1", 1)
	types("\x15\x04")
	require.Equal(t, 0, <-done)
	require.NotContains(t, seen.String(), `\x`, "the editor moves the cursor")
}
