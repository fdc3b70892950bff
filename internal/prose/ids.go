package prose

import (
	"regexp"
	"strings"
)

// IDs shortens the identifiers in texts, such as the UID in a volume's name: to the
// first eight digits, or to as many more as it takes to tell two apart. An
// identifier keeps its short form. The zero value is ready for use; it is not safe
// for concurrent use.
type IDs struct {
	short map[string]string // by full identifier
	full  map[string]string // by short form
}

// The identifiers are UIDs (RFC 9562) and hexadecimal hashes of at least 128 bits.
// What looks like a short form is found as well, so that none is given out twice.
var (
	idPattern = regexp.MustCompile(uid + `|[0-9a-f]{32,}|` + shortUID)
	isUID     = regexp.MustCompile(`^` + uid + `$`)
)

const (
	uid      = `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`
	shortUID = `[0-9a-f]{8,31}(?:-[0-9a-f]{4}){0,3}`
)

// Shorten returns the text with its identifiers shortened.
func (ids *IDs) Shorten(text string) string {
	return idPattern.ReplaceAllStringFunc(text, ids.shorten)
}

func (ids *IDs) shorten(id string) string {
	if ids.short == nil {
		ids.short, ids.full = map[string]string{}, map[string]string{}
	}
	if short, ok := ids.short[id]; ok {
		return short
	}
	lengths := []int{8, 16, 24, len(id)}
	switch {
	case isUID.MatchString(id):
		lengths = []int{8, 13, 18, 23, len(id)}
	case len(id) < 32: // a short form, or a word that looks like one
		if ids.full[id] == "" {
			ids.full[id] = id
		}
		return id
	}
	for _, n := range lengths {
		if short := id[:n]; ids.full[short] == "" {
			ids.short[id], ids.full[short] = short, id
			return short
		}
	}
	return id
}

// Expand returns the text with short forms replaced by the identifiers that they
// stand for. It leaves alone what Shorten has not given out.
func (ids *IDs) Expand(text string) string {
	return idPattern.ReplaceAllStringFunc(text, func(id string) string {
		for short := id; short != ""; short = short[:max(strings.LastIndexByte(short, '-'), 0)] {
			if full, ok := ids.full[short]; ok && len(id) < 32 {
				return full + id[len(short):]
			}
		}
		return id
	})
}

// HasID reports whether there is an identifier or a short form in the text.
func HasID(text string) bool { return idPattern.MatchString(text) }
