// Package svg writes a view.Page as a picture: a column for each actor that does something, and a row for each step, with arrows to the API server and to
// drivers. Write is the entry. The picture has no script and loads nothing; what records say is text in it.
package svg

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/view"
)

// Rows is the number of steps that a picture has. Of a longer run it has the first ones, and says so.
const Rows = 400

// Measures, in pixels.
const (
	timeWidth, laneWidth, textWidth = 80, 92, 760
	rowHeight, headHeight           = 18, 60
	// letter is the average width of a letter in a wide font; longText and longName are numbers of letters.
	letter, longText, longName = 7, textWidth/letter - 1, laneWidth/letter + 1
)

// The colours: of lines and words, of what goes well, of refusals and errors, of what is down.
const (
	ink, faint, good, bad, down = "#1b1b1b", "#c8ccd2", "#2b6cb0", "#c53030", "#9aa0a6"
)

// Write writes the picture, without details. An error is that of w.
func Write(w io.Writer, p view.Page) error {
	var steps []view.Step
	for _, s := range p.Steps {
		if !s.Detail {
			steps = append(steps, s)
		}
	}
	d := drawing{bufio.NewWriter(w), p, min(len(steps), Rows), map[int]int{}}
	d.place(steps[:d.rows])
	d.begin(len(steps))
	last := ""
	for i, s := range steps[:d.rows] {
		at := trace.Offset(time.Duration(s.T) * time.Millisecond)
		if at != last {
			d.text(4, d.y(i)+4, ink, at)
		}
		last = at
		d.step(i, s)
	}
	if rest := len(steps) - d.rows; rest > 0 {
		d.text(4, d.y(d.rows)+4, bad, fmt.Sprintf("the last %d steps are left out", rest))
	}
	d.printf("</svg>\n")
	return d.out.Flush() // which returns the error of any write before it
}

// drawing is a picture that is being written.
type drawing struct {
	out  *bufio.Writer
	page view.Page
	rows int
	// column is the column of each lane that has something in it.
	column map[int]int
}

// place gives each lane a column that one of the steps begins or ends in.
func (d drawing) place(steps []view.Step) {
	used := map[int]bool{}
	for _, s := range steps {
		used[s.Lane], used[d.target(s)] = true, true
	}
	for lane := range d.page.Lanes {
		if used[lane] {
			d.column[lane] = len(d.column)
		}
	}
}

func (d drawing) printf(format string, args ...any) {
	fmt.Fprintf(d.out, format, args...)
}

// x returns the middle of a lane, and y that of a row.
func (d drawing) x(lane int) int { return timeWidth + laneWidth*d.column[lane] + laneWidth/2 }
func (d drawing) y(row int) int  { return headHeight + rowHeight*row + rowHeight/2 }

// textX returns the left end of the sentences.
func (d drawing) textX() int { return timeWidth + laneWidth*len(d.column) + 8 }

// begin writes the head: the names of the lanes, and their lines.
func (d drawing) begin(steps int) {
	height := headHeight + rowHeight*d.rows + rowHeight/2
	if steps > d.rows {
		height += rowHeight
	}
	width := d.textX() + textWidth
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="system-ui, sans-serif" font-size="12">`+
		"\n", width, height, width, height)
	d.printf("<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n", escape(d.page.Title))
	d.printf(`<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" `+
		`fill="%s"/></marker></defs>`+"\n", good)
	for i, lane := range d.page.Lanes {
		if _, ok := d.column[i]; !ok {
			continue
		}
		first, second := halves(lane.Name)
		names := []string{first, second, lane.Node}
		if second == "" {
			names = []string{first, lane.Node, ""}
		}
		for line, name := range names {
			d.middle(d.x(i), 16+14*line, name)
		}
		d.printf(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s"/>`+"\n", d.x(i), headHeight-8, d.x(i), height-4, faint)
	}
}

// step draws one row.
func (d drawing) step(row int, s view.Step) {
	x, y, color := d.x(s.Lane), d.y(row), good
	switch {
	case s.Kind == "down" || s.Kind == "up":
		color = down
	case s.Kind == "fault", s.Write != nil && s.Write.Refused != nil, s.Call != nil && s.Call.Code != "OK", s.Mount != nil && s.Mount.Err != "":
		color = bad
	}
	if to := d.target(s); to >= 0 && to != s.Lane {
		end := d.x(to) - 5
		if to < s.Lane {
			end = d.x(to) + 5
		}
		d.printf(`<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" marker-end="url(#to)"/>`+"\n", x, y, end, y, color)
	}
	switch s.Kind {
	case "decision":
		d.printf(`<rect x="%d" y="%d" width="12" height="10" rx="5" fill="#ffffff" stroke="%s"/>`+"\n", x-6, y-5, color)
	case "mount", "down":
		d.printf(`<rect x="%d" y="%d" width="9" height="9" fill="%s"/>`+"\n", x-4, y-4, color)
	default:
		d.printf(`<circle cx="%d" cy="%d" r="4" fill="%s"/>`+"\n", x, y, color)
	}
	words := ink
	if color == bad {
		words = bad
	}
	d.text(d.textX(), y+4, words, s.Text)
}

// target returns the lane that a step's arrow leads to, -1 for none.
func (d drawing) target(s view.Step) int {
	switch {
	case s.Kind == "write":
		return slices.IndexFunc(d.page.Lanes, func(l view.Lane) bool { return l.Kind == view.APIServer })
	case s.Call != nil && s.Call.To != nil:
		return *s.Call.To
	}
	return -1
}

func (d drawing) text(x, y int, color, text string) {
	d.printf(`<text x="%d" y="%d" fill="%s">%s</text>`+"\n", x, y, color, escape(cut(text, longText)))
}

func (d drawing) middle(x, y int, text string) {
	d.printf(`<text x="%d" y="%d" fill="%s" text-anchor="middle">%s</text>`+"\n", x, y, ink, escape(cut(text, longName)))
}

// halves returns a name in two lines, if it is too long for one and can be divided after a dash, a dot or a slash.
func halves(name string) (first, second string) {
	if len(name) <= longName {
		return name, ""
	}
	end := strings.LastIndexAny(name[:longName], "-./ ") + 1
	if end == 0 {
		return name, ""
	}
	return name[:end], name[end:]
}

// cut returns as much of a text as has the width of so many letters. A character that is not of an alphabet is as wide as two.
func cut(text string, most int) string {
	width, last := 0, 0
	for i, r := range text {
		if width < most {
			last = i
		}
		width++
		if r >= wide {
			width++
		}
	}
	if width <= most {
		return text
	}
	return text[:last] + "…"
}

// wide is the first of the characters with which East Asian scripts and their punctuation begin.
const wide = 0x2e80

// escape returns text for XML, in which control characters and some others cannot stand at all.
func escape(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < ' ' || r == 0xfffe || r == 0xffff || r >= 0xd800 && r < 0xe000:
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?")))
}
