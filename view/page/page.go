// Package page writes a view.Page as one HTML file that opens without a server or a network. Write is the entry. Where there is no
// JavaScript, the file shows the story as a table.
//
// The script and the style in assets/ are built elsewhere and embedded. A content security policy lets the file run them, by their
// hashes, and nothing else, and load nothing. What the records say is data: text in the table, and JSON in which no HTML can begin.
package page

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"time"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/view"
)

//go:embed assets/page.js
var script string

//go:embed assets/page.css
var style string

// Write writes the page. An error is that of w, or says that a value has no JSON.
func Write(w io.Writer, p view.Page) error { return write(w, p.Title, []view.Page{p}) }

// WriteAll writes several runs as one page, which begins with a list of them. An error is that of w, or says that a value has no JSON.
func WriteAll(w io.Writer, title string, pages []view.Page) error { return write(w, title, pages) }

func write(w io.Writer, title string, pages []view.Page) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>%s - storagesim</title>
<style>%s</style>
</head>
<body>
<div id="app">
`, policy(), html.EscapeString(title), style)
	for _, p := range pages {
		writeTable(b, p)
	}
	fmt.Fprint(b, "</div>\n")
	for i, p := range pages {
		data, err := json.Marshal(p) // escapes <, >, & and U+2028/9
		if err != nil {
			return fmt.Errorf("page %q: %w", p.Title, err)
		}
		id := "story"
		if i > 0 {
			id = fmt.Sprintf("story-%d", i+1)
		}
		fmt.Fprintf(b, "<script type=\"application/json\" id=\"%s\">%s</script>\n", id, data)
	}
	fmt.Fprintf(b, "<script>%s</script>\n</body>\n</html>\n", script)
	return b.Flush()
}

// WriteLive writes a page without a run, which asks the server that it comes from for one, and sends it commands. An error is that of w.
func WriteLive(w io.Writer, title string) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s - storagesim</title>
<style>%s</style>
</head>
<body>
<div id="app"><p>This page needs JavaScript.</p></div>
<script>document.documentElement.dataset.live = "1"; %s</script>
</body>
</html>
`, html.EscapeString(title), style, script)
	return b.Flush()
}

// LivePolicy returns the content security policy for a page of WriteLive, which its server sends as a header: the page's own script and style,
// and requests to its own server.
func LivePolicy() string {
	return fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "+
		"frame-ancestors 'none'",
		hash(`document.documentElement.dataset.live = "1"; `+script), hash(style))
}

// policy returns the content security policy: the embedded script and style, and nothing else.
func policy() string {
	return fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; img-src data:; base-uri 'none'; form-action 'none'", hash(script), hash(style))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// writeTable writes the story as a table, without details. The script replaces it, and keeps it for paper.
func writeTable(b *bufio.Writer, p view.Page) { // a failed write is the error of Flush
	text := html.EscapeString
	fmt.Fprintf(b, "<section>\n<h1>%s</h1>\n", text(p.Title))
	if p.Intro != "" {
		fmt.Fprintf(b, "<p>%s</p>\n", text(p.Intro))
	}
	if p.Repeat != "" {
		fmt.Fprintf(b, "<p>To play it again: <code>%s</code></p>\n", text(p.Repeat))
	}
	for _, missing := range p.Missing {
		fmt.Fprintf(b, "<p>%s</p>\n", text(missing))
	}
	fmt.Fprint(b, "<table>\n<thead><tr><th scope=\"col\">time</th><th scope=\"col\">who</th><th scope=\"col\">what</th></tr></thead>\n<tbody>\n")
	chapters := p.Chapters
	tell := func(before int) {
		for len(chapters) > 0 && chapters[0].Step <= before {
			fmt.Fprintf(b, "<tr><th colspan=\"3\" scope=\"rowgroup\">%s</th></tr>\n", text(chapters[0].Title))
			chapters = chapters[1:]
		}
	}
	for i, s := range p.Steps {
		tell(i)
		if !s.Detail {
			fmt.Fprintf(b, "<tr><td>%s</td><td>%s</td><td>%s</td></tr>\n", trace.Offset(time.Duration(s.T)*time.Millisecond), text(p.Lanes[s.Lane].ID), text(s.Text))
		}
	}
	tell(len(p.Steps))
	fmt.Fprint(b, "</tbody>\n</table>\n</section>\n")
}
