package requests

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// Counts says how the requests of a recording came out.
type Counts struct {
	// All counts the requests, Agree those with the same answer, Known those that differ and are in the list
	// of Known, Differ those that differ and are not, Skipped those that could not be played.
	All, Agree, Known, Differ, Skipped int
	// Stale lists the names in Known whose requests all agree.
	Stale []string
}

// String returns the counts as a sentence.
func (c Counts) String() string {
	text := fmt.Sprintf("%d of %d requests agree", c.Agree, c.All)
	if c.Known > 0 {
		text += fmt.Sprintf(", %d differ for a known reason", c.Known)
	}
	if c.Differ > 0 {
		text += fmt.Sprintf(", %d differ", c.Differ)
	}
	if c.Skipped > 0 {
		text += fmt.Sprintf(", %d cannot be played", c.Skipped)
	}
	return text
}

// Run plays each recording in dir against an empty server of its own and prints each request that differs and is
// not known to, then a line with the counts. With verbose it prints the known ones, too, with the reason. It returns the
// number of requests that differ and are not known to; the error is one of reading or playing.
func Run(dir string, w io.Writer, verbose bool) (failed int, err error) {
	paths, err := files(dir)
	if err != nil {
		return 0, err
	}
	for _, path := range paths {
		recording, err := Load(path)
		if err != nil {
			return failed, err
		}
		results, err := Play(recording)
		if err != nil {
			return failed, fmt.Errorf("%s: %w", path, err)
		}
		counts, text := Report(results, Known(), verbose)
		failed += counts.Differ
		if _, err := fmt.Fprintf(w, "%s%s: %s\n", text, filepath.Base(path), counts); err != nil {
			return failed, err
		}
	}
	return failed, nil
}

// Report counts results and says what differs; without verbose it leaves out what is known to differ.
func Report(results []Result, reasons []Reason, verbose bool) (c Counts, text string) {
	var out bytes.Buffer
	used := make([]bool, len(reasons))       // reasons that excuse a request
	agreeing := make([]string, len(reasons)) // a request that a reason concerns, and that agrees
	for _, r := range results {
		c.All++
		known := slices.IndexFunc(reasons, func(reason Reason) bool { return reason.Concerns(&r.Request) })
		switch {
		case r.Skipped != "":
			c.Skipped++
			if verbose {
				fmt.Fprintf(&out, "not played: %s: %s\n", r.title(), r.Skipped)
			}
			continue
		case len(r.Differences) == 0:
			c.Agree++
			if known >= 0 {
				agreeing[known] = r.title()
			}
			continue
		case known >= 0:
			c.Known++
			used[known] = true
			if !verbose {
				continue
			}
			fmt.Fprintf(&out, "differs, as known: %s\n  because: %s\n", r.title(), reasons[known].Text)
		default:
			c.Differ++
			fmt.Fprintf(&out, "differs: %s\n", r.title())
		}
		for _, d := range r.Differences {
			fmt.Fprintf(&out, "  %s\n", d)
		}
	}
	for i, title := range agreeing {
		if title != "" && !used[i] {
			c.Stale = append(c.Stale, reasons[i].Names)
			fmt.Fprintf(&out, "agrees, though it is known to differ: %s\n", title)
		}
	}
	return c, out.String()
}

// title names a request in a report.
func (r Result) title() string {
	return fmt.Sprintf("%s: %s: %s %s", r.Section, r.Name, r.Method, short(r.Path))
}
