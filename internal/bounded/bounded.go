// Package bounded cuts what is too long to be kept or printed, and says how much is missing.
package bounded

import (
	"fmt"
	"io"
	"unicode/utf8"
)

// Text returns text if it has at most so many bytes. Otherwise it returns the first of them, and how many
// more there are. Characters stay whole.
func Text(text string, most int) string {
	if len(text) <= most {
		return text
	}
	kept := most
	for kept > 0 && !utf8.RuneStart(text[kept]) {
		kept--
	}
	return text[:kept] + rest(len(text)-kept)
}

func rest(n int) string { return fmt.Sprintf("... %d bytes more", n) }

// Buffer keeps the first Most bytes that are written to it, and counts the others. It is not safe
// for concurrent use.
type Buffer struct {
	// Most is the number of bytes that are kept.
	Most int

	kept []byte
	more int
}

var _ io.Writer = (*Buffer)(nil)

// Write never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	room := min(max(b.Most-len(b.kept), 0), len(p))
	b.kept = append(b.kept, p[:room]...)
	b.more += len(p) - room
	return len(p), nil
}

// String returns what is kept, and how many more bytes there were.
func (b *Buffer) String() string {
	if b.more == 0 {
		return string(b.kept)
	}
	return string(b.kept) + rest(b.more)
}
