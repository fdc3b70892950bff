package main

import (
	"errors"
	"io"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/view"
	"github.com/storagesim/storagesim/view/page"
)

// html is the output format that is a page.
const html = "html"

// checkPage refuses to write a page to a terminal.
func checkPage(output string, out io.Writer) error {
	if output == html && terminal.Is(out) {
		return errors.New("-o html: a page is a file for a browser, not for a terminal; add > page.html")
	}
	return nil
}

// writePage writes the page of all that the story of a cluster tells.
func writePage(out io.Writer, c *storagesim.Cluster, o view.Options) error {
	log := c.Engine().Trace()
	o.Start, o.Told, o.Shorten = engine.Start(), log.Len()-len(c.Records()), c.ShortIDs
	return page.Write(out, view.OfLog(log, o))
}

// dashF returns -f and each file.
func dashF(files []string) []string {
	var args []string
	for _, file := range files {
		args = append(args, "-f", file)
	}
	return args
}

// quoted returns arguments for a shell.
func quoted(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = mount.Quote(arg)
	}
	return strings.Join(words, " ")
}

// repeat returns the command line that plays the run again and tells the story.
func (o *runOptions) repeat() string {
	var args []string
	for _, arg := range o.again {
		if !strings.HasPrefix(arg, "--output=") && !strings.HasPrefix(arg, "--width=") {
			args = append(args, arg)
		}
	}
	return quoted(args)
}
