package kubelet

import (
	"fmt"
	"strings"
)

// assignment is the name and value of a word like NAME=value.
func assignment(w shellWord) (name string, value shellWord, ok bool) {
	if len(w) == 0 || w[0].variable || w[0].quoted {
		return "", nil, false
	}
	name, rest, ok := strings.Cut(w[0].text, "=")
	if !ok || !isName(name) {
		return "", nil, false
	}
	return name, append(shellWord{{text: rest}}, w[1:]...), true
}

// expand puts the variables in. An unquoted one that is empty is no word.
func (s *shell) expand(words []shellWord) ([]string, error) {
	var argv []string
	for _, word := range words {
		text, there := "", false
		for _, piece := range word {
			value, err := s.value(piece)
			if err != nil {
				return nil, err
			}
			if piece.variable && !piece.quoted && strings.ContainsAny(value, " \t\n*?[") {
				return nil, fmt.Errorf("%q in $%s, which is not quoted: %w", value, piece.text, errShell)
			}
			text += value
			there = there || !piece.variable || piece.quoted || value != ""
		}
		if there {
			argv = append(argv, text)
		}
	}
	return argv, nil
}

// expandOne puts the variables in and cuts nothing, as in an assignment.
func (s *shell) expandOne(word shellWord) (text string, err error) {
	for _, piece := range word {
		value, err := s.value(piece)
		if err != nil {
			return "", err
		}
		text += value
	}
	return text, nil
}

func (s *shell) value(piece shellPiece) (string, error) {
	if !piece.variable {
		return piece.text, nil
	}
	value, ok := s.vars[piece.text]
	if !ok && s.unset {
		return "", fmt.Errorf("%s: parameter not set", piece.text)
	}
	return value, nil
}
