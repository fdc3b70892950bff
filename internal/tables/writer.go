package tables

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// describer writes a description: labelled lines, aligned by tabs, two blanks
// to a level. Upstream: kubectl describe.go PrefixWriter, v1.37.
type describer struct{ tabs *aligner }

func (v View) newDescriber(w io.Writer) describer {
	return describer{v.aligned(w, 0, 8, 2)}
}

// aligner aligns the cells of lines; a line must be written at once.
type aligner struct {
	*tabwriter.Writer
	shorten func(string) string
}

func (v View) aligned(w io.Writer, minWidth, tabWidth, padding int) *aligner {
	return &aligner{tabwriter.NewWriter(w, minWidth, tabWidth, padding, ' ', 0), v.Shorten}
}

func (c *aligner) Write(line []byte) (int, error) {
	if c.shorten == nil {
		return c.Writer.Write(line)
	}
	_, err := c.Writer.Write([]byte(c.shorten(string(line))))
	return len(line), err
}

// line writes one line.
func (d describer) line(level int, format string, args ...any) {
	fmt.Fprintf(d.tabs, strings.Repeat("  ", level)+format+"\n", args...)
}

// field writes "Title: value".
func (d describer) field(level int, title string, value any) {
	d.line(level, "%s:\t%v", title, value)
}

// lines writes "Title: first" and the other values below the first; <none> if
// there are none.
func (d describer) lines(level int, title string, values []string) {
	if len(values) == 0 {
		values = []string{"<none>"}
	}
	for i, value := range values {
		if i == 0 {
			d.line(level, "%s:\t%s", title, value)
		} else {
			d.line(level, "\t%s", value)
		}
	}
}

func (d describer) labels(title string, labels map[string]string) {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		lines = append(lines, key+"="+labels[key])
	}
	d.lines(0, title, lines)
}

// maxAnnotation is the length that an annotation may have on one line.
const maxAnnotation = 140

// annotations writes them one below the other, long ones on lines of their own.
func (d describer) annotations(annotations map[string]string) {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if key == "kubectl.kubernetes.io/last-applied-configuration" {
			continue
		}
		value := strings.TrimSuffix(annotations[key], "\n")
		if len(key)+len(value)+2 <= maxAnnotation && !strings.Contains(value, "\n") {
			lines = append(lines, key+": "+value)
			continue
		}
		lines = append(lines, key+":")
		for _, line := range strings.Split(value, "\n") {
			if len(line) > maxAnnotation-2 {
				line = line[:maxAnnotation-2] + "..."
			}
			lines = append(lines, "  "+line)
		}
	}
	d.lines(0, "Annotations", lines)
}
