package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAPageIsNotWrittenToATerminal(t *testing.T) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer screen.Close()
	require.EqualError(t, checkView(html, screen), "-o html: a page is a file for a browser, not for a terminal; add > page.html")
	require.NoError(t, checkView("story", screen))
	require.NoError(t, checkView(html, &strings.Builder{}))
}
