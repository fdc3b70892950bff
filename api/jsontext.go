package api

import (
	"bytes"
	"unicode/utf8"
)

// These read JSON that is known to be valid, such as a patch that json.Valid has seen. They
// make no copies: what they find are pieces of the text.

// jsonMembers calls yield with each name, without its quotes, and value of a JSON object. It
// says whether the text is an object whose names are written without escapes, and yield never
// returned false.
func jsonMembers(text []byte, yield func(name, value []byte) bool) bool {
	return jsonElements(text, '{', func(text []byte) (rest []byte, ok bool) {
		name, rest := cutValue(text)
		if !isPlain(name) {
			return nil, false
		}
		value, rest := cutValue(trimSpace(rest)[1:]) // after the colon
		return rest, yield(name[1:len(name)-1], value)
	})
}

// jsonItems calls yield with each item of a JSON list, and says whether the text is a list and
// yield never returned false.
func jsonItems(text []byte, yield func(item []byte) bool) bool {
	return jsonElements(text, '[', func(text []byte) (rest []byte, ok bool) {
		item, rest := cutValue(text)
		return rest, yield(item)
	})
}

// jsonElements calls take where each element of an object or list begins.
func jsonElements(text []byte, open byte, take func(text []byte) (rest []byte, ok bool)) bool {
	if text = trimSpace(text); text[0] != open {
		return false
	}
	for text = trimSpace(text[1:]); text[0] != '}' && text[0] != ']'; text = trimSpace(text) {
		if text[0] == ',' {
			text = text[1:]
		}
		rest, ok := take(text)
		if !ok {
			return false
		}
		text = trimSpace(rest)
	}
	return true
}

func trimSpace(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }

// cutValue is the value that the text begins with, and what follows it.
func cutValue(text []byte) (value, rest []byte) {
	text = trimSpace(text)
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 || i+1 < len(text) && !endsWord(text[i+1]) {
				continue
			}
		}
		if depth == 0 {
			return text[:i+1], text[i+1:]
		}
	}
	return text, nil
}

// endsWord says whether a number, true, false or null ends before c.
func endsWord(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\t' || c == '\r'
}

// isPlain says whether the value is a text, and the text is what stands between the quotes.
func isPlain(value []byte) bool {
	if value[0] != '"' {
		return false
	}
	for _, c := range value {
		if c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
