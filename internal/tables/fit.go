package tables

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/internal/prose"
)

// grid is a table that is about to be printed.
type grid struct {
	columns []gridColumn
	// kind is the prefix of the names, such as "persistentvolume/", and shortKind its short form; empty if there is none.
	kind, shortKind string
	// headings says that the headings are printed.
	headings bool
}

// gridColumn is a column of a grid, with a cell for each row.
type gridColumn struct {
	heading string
	cells   []string
	// isName marks the column of the names; keep marks those that are always printed.
	isName, keep bool
}

// The layout of kubectl's tables, in columns of the terminal. Upstream: cli-runtime tabwriter.go, v1.37.
const (
	cellMin     = 6
	cellPadding = 3
)

// noteIndent is the indentation of the line that tells what a table leaves out.
const noteIndent = 2

// printGrids prints tables, one below the other. If one of them must have the short name of its kind, all have.
func printGrids(w io.Writer, grids []grid, width int) error {
	short := width > 0 && slices.ContainsFunc(grids, func(g grid) bool {
		g.drop(width, g.leastTelling(), gridColumn.isEmpty)
		return g.isWider(width)
	})
	for i, g := range grids {
		if i > 0 && g.headings {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		if short {
			g.kind = g.shortKind
		}
		if err := g.print(w, width); err != nil {
			return err
		}
	}
	return nil
}

// print prints the table in at most width columns, if that is possible. What it leaves out and is not empty stands in a line below.
func (g grid) print(w io.Writer, width int) error {
	omitted := g.fit(width)
	var b strings.Builder
	widths := make([]int, len(g.columns))
	for i, c := range g.columns {
		widths[i] = g.widthOf(c)
	}
	for row := range g.rows() + 1 {
		if row == 0 && !g.headings {
			continue
		}
		for i, c := range g.columns {
			cell := c.heading
			if row > 0 {
				cell = g.cell(c, row-1)
			}
			if i < len(g.columns)-1 {
				cell = prose.Pad(cell, max(cellMin, widths[i]+cellPadding))
			}
			b.WriteString(cell)
		}
		b.WriteByte('\n')
	}
	text := b.String()
	b.Reset()
	b.WriteString(prose.WrapMessages(text, width))
	if omitted != "" {
		b.WriteString(prose.Wrap(strings.Repeat(" ", noteIndent)+omitted, width, noteIndent) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// rows returns the number of rows.
func (g grid) rows() int {
	if len(g.columns) == 0 {
		return 0
	}
	return len(g.columns[0].cells)
}

// cell returns what is printed of a cell.
func (g grid) cell(c gridColumn, row int) string {
	if c.isName {
		return g.kind + c.cells[row]
	}
	return c.cells[row]
}

// widthOf returns the width of the widest cell of a column.
func (g grid) widthOf(c gridColumn) (width int) {
	if g.headings {
		width = prose.Columns(c.heading)
	}
	for row := range c.cells {
		width = max(width, prose.Columns(g.cell(c, row)))
	}
	return width
}

// isWider reports whether a line of the table takes more than width columns. Messages in the last column do not count: they are wrapped.
func (g grid) isWider(width int) bool {
	total := 0
	for i, c := range g.columns {
		switch {
		case i < len(g.columns)-1:
			total += max(cellMin, g.widthOf(c)+cellPadding)
		case c.heading == "MESSAGE" && g.headings:
			total += len(c.heading)
		default:
			total += g.widthOf(c)
		}
	}
	return total > width
}

// fit takes columns away until the table fits: first those without content, then those that have the same in each row, then those that
// tell least. It returns what the reader does not see then.
func (g *grid) fit(width int) (omitted string) {
	if width <= 0 || g.rows() == 0 {
		return ""
	}
	order := g.leastTelling()
	g.drop(width, order, gridColumn.isEmpty)
	same := g.drop(width, order, gridColumn.isSame)
	differ := g.drop(width, order, func(c gridColumn) bool { return rank(c.heading) <= lastMinor })
	var parts []string
	if len(same) > 0 {
		text := "in each row: "
		if g.rows() == 1 {
			text = "also: "
		}
		for i, c := range same {
			if i > 0 {
				text += ", "
			}
			text += fmt.Sprintf("%s %s", c.heading, c.cells[0])
		}
		parts = append(parts, text)
	}
	if len(differ) > 0 {
		var names []string
		for _, c := range differ {
			names = append(names, c.heading)
		}
		parts = append(parts, "left out: "+strings.Join(names, ", "))
	}
	return strings.Join(parts, "; ")
}

// drop takes away columns of which may is true, in order, until the table fits. It returns those.
func (g *grid) drop(width int, order []string, may func(gridColumn) bool) (dropped []gridColumn) {
	for _, heading := range order {
		if !g.isWider(width) {
			break
		}
		i := slices.IndexFunc(g.columns, func(c gridColumn) bool { return c.heading == heading && !c.keep && !c.isName })
		if i >= 0 && may(g.columns[i]) {
			dropped = append(dropped, g.columns[i])
			g.columns = slices.Delete(slices.Clone(g.columns), i, i+1)
		}
	}
	return dropped
}

// leastTelling returns the headings, first that of the column that a reader misses least.
func (g *grid) leastTelling() []string {
	var order []string
	for _, c := range g.columns {
		order = append(order, c.heading)
	}
	slices.Reverse(order)
	slices.SortStableFunc(order, func(a, b string) int { return rank(a) - rank(b) })
	return order
}

// minor lists the columns that a reader misses least, in this order. lastMinor is the rank of the last one that is left out although its cells differ.
func minor() []string {
	return []string{
		"VOLUMEATTRIBUTESCLASS", "REASON", "ALLOWVOLUMEEXPANSION", "RECLAIMPOLICY", "RECLAIM POLICY", "AGE", "ACCESS MODES",
		"NAMESPACE", "RESTARTS", "VOLUMEBINDINGMODE",
	}
}

const lastMinor = 6

// rank returns the position of a heading in minor; all others have the same one after them.
func rank(heading string) int {
	if i := slices.Index(minor(), heading); i >= 0 {
		return i
	}
	return len(minor())
}

// isEmpty reports whether no cell has content.
func (c gridColumn) isEmpty() bool {
	return !slices.ContainsFunc(c.cells, func(cell string) bool { return cell != "" && cell != "<unset>" && cell != "<none>" })
}

// isSame reports whether all cells are the same.
func (c gridColumn) isSame() bool {
	return !slices.ContainsFunc(c.cells, func(cell string) bool { return cell != c.cells[0] })
}
