package shell

import (
	"slices"
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

// braceParts is every way of taking one alternative from each brace.
func braceParts(parts []syntax.WordPart) [][]syntax.WordPart {
	for i, part := range parts {
		brace, ok := part.(*syntax.BraceExp)
		if !ok {
			continue
		}
		var all [][]syntax.WordPart
		for _, alternative := range alternatives(brace) {
			for _, inner := range braceParts(alternative) {
				for _, rest := range braceParts(parts[i+1:]) {
					all = append(all, slices.Concat(parts[:i], inner, rest))
					if len(all) > maxBraces {
						tooMuch("braces of more than %d words", maxBraces)
					}
				}
			}
		}
		return all
	}
	return [][]syntax.WordPart{parts}
}

// alternatives of a brace: what is between its commas, or the numbers or letters of
// its range.
func alternatives(brace *syntax.BraceExp) (list [][]syntax.WordPart) {
	if !brace.Sequence {
		for _, w := range brace.Elems {
			list = append(list, w.Parts)
		}
		return list
	}
	bounds := make([]int, len(brace.Elems))
	letters := false
	for i, w := range brace.Elems {
		n, err := strconv.Atoi(w.Lit())
		if err != nil && len(w.Lit()) == 1 {
			n, letters = int(w.Lit()[0]), true
		}
		bounds[i] = n
	}
	step := 1
	if len(bounds) > 2 && bounds[2] != 0 {
		step = max(bounds[2], -bounds[2])
	}
	if bounds[1] < bounds[0] {
		step = -step
	}
	for n := bounds[0]; step > 0 && n <= bounds[1] || step < 0 && n >= bounds[1]; n += step {
		text := strconv.Itoa(n)
		if letters {
			text = string(rune(n))
		}
		list = append(list, []syntax.WordPart{&syntax.Lit{Value: text}})
		if len(list) > maxBraces {
			tooMuch("braces of more than %d words", maxBraces)
		}
	}
	return list
}
