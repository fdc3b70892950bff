package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/explore/museum"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/machine/mount"
	"github.com/storagesim/storagesim/story"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/view"
	"github.com/storagesim/storagesim/view/mermaid"
	"github.com/storagesim/storagesim/view/page"
	"github.com/storagesim/storagesim/view/perfetto"
	"github.com/storagesim/storagesim/view/svg"
)

// The output formats that packages of view write.
const (
	html           = "html"
	mermaidDiagram = "mermaid"
	svgPicture     = "svg"
	perfettoTrace  = "perfetto"
)

// viewFormats returns these formats.
func viewFormats() []string { return []string{html, mermaidDiagram, svgPicture, perfettoTrace} }

// checkView refuses a page on a terminal.
func checkView(output string, out io.Writer) error {
	if output == html && terminal.Is(out) {
		return errors.New("-o html: a page is a file for a browser, not for a terminal; add > page.html")
	}
	return nil
}

// checkFormat refuses what is no format of a view.
func checkFormat(output string) error {
	if !slices.Contains(viewFormats(), output) {
		return fmt.Errorf("-o: unknown format %q%s", output, prose.OneOf(output, viewFormats()))
	}
	return nil
}

// viewCluster writes a view of all that the story of a cluster tells.
func viewCluster(out io.Writer, c *storagesim.Cluster, format string, o view.Options) error {
	return writeView(out, pageOfCluster(c, o), format)
}

// pageOfCluster returns all that the story of a cluster tells.
func pageOfCluster(c *storagesim.Cluster, o view.Options) view.Page {
	o.Shorten = c.Trace().ShortIDs
	return pageOfLog(c.Engine().Trace(), c.Engine().Trace().Len()-len(c.Trace().Records()), o)
}

// pageOfLog returns a log, whose story begins with the record of number told.
func pageOfLog(log *trace.Log, told int, o view.Options) view.Page {
	o.Start, o.Told = engine.Start(), told
	return view.OfLog(log, o)
}

// writeView writes a view in a format.
func writeView(out io.Writer, p view.Page, format string) error {
	switch format {
	case mermaidDiagram:
		return mermaid.Write(out, p)
	case svgPicture:
		return svg.Write(out, p)
	case perfettoTrace:
		return perfetto.Write(out, p)
	}
	return page.Write(out, p)
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

// checkOutput checks -o of story.
func (o storyOptions) checkOutput(out io.Writer, files []string) error {
	switch {
	case o.output == "":
		return nil
	case o.write, o.check:
		return errors.New("-o: it prints no script, so that there is nothing for -w or --check")
	case len(files) > 1:
		return fmt.Errorf("-o %s: it shows one script, and there are %d", o.output, len(files))
	}
	if err := checkFormat(o.output); err != nil {
		return err
	}
	return errors.Join(checkView(o.output, out), o.filter.checkOutput(o.output))
}

// view plays a script and writes the view of its cluster.
func (o storyOptions) view(cmd *cobra.Command, file, name, script string, options story.Options) error {
	shown := view.Options{Title: "story " + name, Repeat: quoted([]string{"storagesim", "story", file})}
	return watched(cmd.Context(), name, script, false, options, shown, func(p view.Page) error { return writeView(cmd.OutOrStdout(), p, o.output) })
}

// watched plays a script and hands over the page of its cluster, with its comments and commands as chapters. If it stops, it does so at the comments.
func watched(ctx context.Context, name, script string, stops bool, options story.Options, shown view.Options, write func(view.Page) error) error {
	comment := false // the last line was one
	var written error
	options.RecordValues = true
	options.Watch = func(c *storagesim.Cluster, line string) {
		records := 0
		if c != nil {
			records = c.Engine().Trace().Len()
		}
		text, isComment := strings.CutPrefix(line, "#")
		text = strings.TrimSpace(text)
		last := len(shown.Chapters) - 1
		switch {
		case line == "" && c == nil:
			written = errors.New("this script makes no cluster, so that there is nothing to show")
		case line == "":
			written = write(pageOfCluster(c, shown))
		case isComment && comment:
			shown.Chapters[last].Title += " " + text
		case isComment:
			shown.Chapters = append(shown.Chapters, view.Chapter{Step: records, Title: text, Stop: stops})
		default:
			shown.Chapters = append(shown.Chapters, view.Chapter{Step: records, Title: "$ " + text})
		}
		comment = isComment
	}
	return errors.Join(story.Play(ctx, io.Discard, name, script, options), written)
}

// checkMuseumView refuses what has no failure to show.
func checkMuseumView(output string, fixed, find bool) error {
	if fixed || find {
		return fmt.Errorf("-o %s: it shows the run that the bug breaks; leave --fixed and --find out", output)
	}
	return checkFormat(output)
}

// viewExhibit writes the view of the run that a bug breaks.
func viewExhibit(out io.Writer, e museum.Exhibit, format string) error {
	err := e.PlayWithValues(false)
	f, failed := errors.AsType[*explore.Failure](err)
	if !failed {
		return errors.Join(err, fmt.Errorf("bug %d breaks nothing", e.Number))
	}
	log, told := f.Log()
	return writeView(out, pageOfLog(log, told, view.Options{
		Title: fmt.Sprintf("Bug %d: %s", e.Number, e.Name), Intro: e.Mechanism + " In the end: " + f.Err.Error(),
		Repeat: fmt.Sprintf("storagesim museum %d", e.Number),
	}), format)
}
