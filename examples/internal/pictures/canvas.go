package main

import (
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf8"
)

// width is that of all pictures, in pixels: documents show about as many.
const width = 720

// Sizes of type, in pixels.
const (
	big, normal, small = 18, 15, 13
)

// em is the width of a letter on average, as a part of its size, in the widest of the fonts that may be there.
const em = 0.6

// canvas is a picture that is being drawn.
type canvas struct {
	title  string
	height int
	parts  []string
	errs   []error
	// nodes and edges name what the picture shows; an edge is "from -> to: label".
	nodes, edges []string
}

const style = `
svg{--bg:#fff;--panel:#f4f6f9;--ink:#1c2128;--soft:#59636e;--line:#c3cad3;--pvc:#0067a8;--pv:#b35300;--pod:#00785a;--node:#5b6470;--va:#9a3d7c;--bad:#c1121f;--mark:#eaf3fb}
@media (prefers-color-scheme:dark){svg{--bg:#14171b;--panel:#1e232a;--ink:#e6e9ed;--soft:#a5aeb9;--line:#444d59;--pvc:#6bb6f0;--pv:#f2a25c;--pod:#4fc3a0;--node:#a3adb9;--va:#e08dc4;--bad:#ff7b7b;--mark:#1c2d3d}}
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","DejaVu Sans",sans-serif;fill:var(--ink)}
.bold{font-weight:650}.soft{fill:var(--soft)}.mono{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.box{fill:var(--bg);stroke:var(--line);stroke-width:1.5}.panel{fill:var(--panel)}.spine{fill:var(--soft)}.api{fill:var(--ink)}.onapi{fill:var(--bg)}
.line{stroke:var(--line);stroke-width:1.5;fill:none}.arrow{stroke:var(--soft);stroke-width:2;fill:none}.tip{fill:var(--soft)}
.pvc{--k:var(--pvc)}.pv{--k:var(--pv)}.pod{--k:var(--pod)}.node{--k:var(--node)}.attachment{--k:var(--va)}.bad{--k:var(--bad)}.call{--k:var(--soft)}
.k{stroke:var(--k)}.kfill{fill:var(--k)}text.kfill{fill:var(--k)}.dash{stroke-dasharray:6 5}.badbox{stroke:var(--bad)}
`

func (c *canvas) add(format string, args ...any) {
	c.parts = append(c.parts, fmt.Sprintf(format, args...))
}

// svg returns the file. The error names a text that does not fit.
func (c *canvas) svg() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", width,
		c.height, width, c.height, html.EscapeString(c.title))
	fmt.Fprintf(&b, "<title>%s</title>\n<style>%s</style>\n", html.EscapeString(c.title), style)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="10" fill="var(--bg)"/>`+"\n", width, c.height)
	for _, part := range c.parts {
		b.WriteString(part + "\n")
	}
	b.WriteString("</svg>\n")
	return b.String(), errors.Join(c.errs...)
}

// wide returns the width of a text, in pixels: an estimate that is seldom too small.
func wide(text string, size int) int { return int(em*float64(size*utf8.RuneCountInString(text))) + 1 }

// say writes a text whose left end is at x. class may have more than one word; room is the width that it may have.
func (c *canvas) say(x, y, size, room int, class, text string) {
	c.write(x, y, size, room, class, "start", text)
}

// middle writes a text around x.
func (c *canvas) middle(x, y, size, room int, class, text string) {
	c.write(x, y, size, room, class, "middle", text)
}

func (c *canvas) write(x, y, size, room int, class, anchor, text string) {
	left := x
	if anchor == "middle" {
		left = x - wide(text, size)/2
	}
	if w := wide(text, size); w > room || left < 0 || left+w > width || y > c.height {
		c.errs = append(c.errs, fmt.Errorf("the text %q is %d wide and has %d, at %d,%d", text, w, room, x, y))
	}
	c.add(`<text x="%d" y="%d" font-size="%d" class="%s" text-anchor="%s">%s</text>`, x, y, size, class, anchor, html.EscapeString(text))
}

// node draws a box with a name and lines below it, and notes the name.
func (c *canvas) node(x, y, w, h int, class, name string, lines ...string) {
	c.nodes = append(c.nodes, name)
	c.add(`<rect x="%d" y="%d" width="%d" height="%d" rx="8" class="box %s"/>`, x, y, w, h, class)
	top := y + h/2 + 6 - 9*len(lines)
	c.middle(x+w/2, top, normal, w-8, "bold", name)
	for i, line := range lines {
		c.middle(x+w/2, top+18*(i+1), small, w-8, "soft", line)
	}
}

// object draws an object of the API, with a stripe in the colour of its kind.
func (c *canvas) object(x, y, w, h int, kind, name, state string) {
	c.add(`<rect x="%d" y="%d" width="%d" height="%d" rx="7" class="box"/><rect x="%d" y="%d" width="6" height="%d" rx="3" class="kfill %s"/>`, x,
		y, w, h, x, y, h, kind)
	c.say(x+14, y+21, normal, w-18, "bold kfill "+kind, kind+" "+name)
	c.say(x+14, y+41, small, w-18, "soft", state)
}

// arrow draws an arrow along points and notes the edge.
func (c *canvas) arrow(from, to, label, class string, points ...int) {
	edge := from + " -> " + to
	if label != "" {
		edge += ": " + label
	}
	if !slices.Contains(c.edges, edge) {
		c.edges = append(c.edges, edge)
	}
	c.path(class, points...)
}

// path draws an arrow along points: x, y, x, y ... The last part is straight along an axis.
func (c *canvas) path(class string, points ...int) {
	n := len(points)
	x, y, px, py := points[n-2], points[n-1], points[n-4], points[n-3]
	const tip = 9
	dx, dy := sign(x-px), sign(y-py)
	if dy != 0 {
		dx = 0
	}
	end := append(slices.Clone(points[:n-2]), x-dx*tip, y-dy*tip)
	var b strings.Builder
	for i := 0; i < n; i += 2 {
		fmt.Fprintf(&b, "%c%d %d", map[bool]byte{true: 'M', false: 'L'}[i == 0], end[i], end[i+1])
	}
	c.add(`<path d="%s" class="arrow k %s"/><path d="M%d %dL%d %dL%d %dz" class="tip kfill %s"/>`, b.String(), class,
		x, y, x-dx*tip-dy*5, y-dy*tip-dx*5, x-dx*tip+dy*5, y-dy*tip+dx*5, class)
}

func sign(n int) int {
	switch {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}

// number draws a number in a circle.
func (c *canvas) number(x, y, n int) {
	c.add(`<circle cx="%d" cy="%d" r="13" class="api"/>`, x, y)
	c.middle(x, y+5, small, 26, "bold onapi", fmt.Sprint(n))
}

// heading writes the title at the top.
func (c *canvas) heading(text string) { c.say(20, 32, big, width-40, "bold", text) }
