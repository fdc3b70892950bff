package prose

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns text with its control characters as escapes, "\\x1b" for ESC, so that what a pod or a
// driver says cannot move a reader's cursor or set the title of the window. Ends of lines and tabs stay.
func Printable(text string) string {
	if !strings.ContainsFunc(text, controls) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if controls(r) {
			fmt.Fprintf(&b, `\x%02x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func controls(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }

// PrintableWriter returns a writer for a terminal: it hands on what is written as Printable does.
func PrintableWriter(to io.Writer) io.Writer { return &printable{to: to} }

// printable keeps the bytes of a character that a Write has begun.
type printable struct {
	to    io.Writer
	begun []byte
}

func (p *printable) Write(data []byte) (int, error) {
	all := append(p.begun, data...)
	end := len(all)
	for i := max(0, end-utf8.UTFMax+1); i < end; i++ {
		if utf8.RuneStart(all[i]) && !utf8.FullRune(all[i:]) {
			end = i
			break
		}
	}
	p.begun = append([]byte(nil), all[end:]...)
	if _, err := io.WriteString(p.to, Printable(string(all[:end]))); err != nil {
		return 0, err
	}
	return len(data), nil
}
