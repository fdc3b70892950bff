package rest

import (
	"unicode/utf8"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// The length of an answer's warnings in characters from which each is cut, and to how many.
// Upstream: apiserver endpoints/filters WithWarningRecorder, v1.37.
const (
	mostWarnings = 4 << 10
	cutWarning   = 256
)

// warned holds the warnings of an answer.
type warned struct {
	texts   []string
	length  int
	cutting bool
}

// warn adds a warning to the answer, as kubectl shows it to people. One that is there already is left out.
// If they become too long, all of them are cut, and those that are too many even then are left out.
// Upstream: apiserver endpoints/filters recorder.AddWarning, v1.37.
func (c *call) warn(text string) {
	all := &c.warned
	if text == "" || all.cutting && all.length >= mostWarnings {
		return
	}
	for _, known := range all.texts {
		if known == text {
			return
		}
	}
	all.texts = append(all.texts, text)
	if !all.cutting && all.length+utf8.RuneCountInString(text) <= mostWarnings || all.cutting {
		c.addWarning(text)
		return
	}
	all.cutting, all.length = true, 0
	c.w.Header().Del("Warning")
	for _, text := range all.texts {
		c.addWarning(text)
	}
}

// addWarning writes the header of a warning.
func (c *call) addWarning(text string) {
	all := &c.warned
	if all.cutting && all.length >= mostWarnings {
		return
	}
	if runes := []rune(text); all.cutting && len(runes) > cutWarning {
		text = string(runes[:cutWarning])
	}
	const code = 299 // a warning that stays true
	if header, err := utilnet.NewWarningHeader(code, "", text); err == nil {
		all.length += utf8.RuneCountInString(text)
		c.w.Header().Add("Warning", header)
	}
}
