package show

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/view"
	"github.com/storagesim/storagesim/view/page"
)

// Main plays an example on the terminal; each example's main calls it. With -html FILE it also writes a page of what
// happened; a second cluster gets a page of its own, page.html and page-2.html.
func Main(play func(io.Writer) error) {
	if err := run(terminal.Writer(os.Stdout), os.Args, play); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pages is the writer of an example that is asked for pages. It knows each Show that writes to it.
type pages struct {
	io.Writer
	shows []*Show
}

// run plays an example with the arguments of a command line.
func run(out io.Writer, args []string, play func(io.Writer) error) error {
	flags := flag.NewFlagSet(filepath.Base(args[0]), flag.ContinueOnError)
	file := flags.String("html", "", "also write a page of what happened to `FILE`")
	switch err := flags.Parse(args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	if *file == "" {
		return play(out)
	}
	p := &pages{Writer: out}
	err := play(p)
	if len(p.shows) == 0 {
		return errors.Join(err, errors.New("-html: this example shows no cluster"))
	}
	for i, s := range p.shows {
		err = errors.Join(err, s.writePage(numbered(*file, i), flags.Name()))
	}
	return err
}

// numbered returns the name of the i-th page.
func numbered(file string, i int) string {
	if i == 0 {
		return file
	}
	ext := filepath.Ext(file)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(file, ext), i+1, ext)
}

// writePage writes the page of all that happened in the cluster.
func (s *Show) writePage(file, name string) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	log := s.cluster.Engine().Trace()
	return page.Write(f, view.OfLog(log, view.Options{
		Title: name, Repeat: "go run ./examples/" + name, Start: engine.Start(), Told: log.Len() - len(s.cluster.Trace().Records()),
		Chapters: s.chapters, Shorten: s.cluster.Trace().ShortIDs,
	}))
}
