package shell

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// wc counts lines, words and bytes.
func wc(p *Process) error {
	flags, names, err := options(p.Argv, "lwcm", "")
	if err != nil {
		return err
	}
	total := [3]int{}
	if len(flags) == 0 {
		flags = map[string]string{"l": "", "w": "", "c": ""}
	}
	width := 1
	if len(flags) > 1 || len(names) > 1 {
		width = p.countWidth(names)
	}
	show := func(n [3]int, name string) error {
		var words []string
		for i, flag := range []string{"l", "w", "c"} {
			if has(flags, flag) || flag == "c" && has(flags, "m") {
				words = append(words, fmt.Sprintf("%*d", width, n[i]))
			}
		}
		if name != "-" || len(names) > 0 {
			words = append(words, name)
		}
		return p.printf("%s\n", strings.Join(words, " "))
	}
	err = inputs(p, names, func(name string, data []byte) error {
		words := 0
		for range bytes.FieldsSeq(data) {
			words++
		}
		n := [3]int{bytes.Count(data, []byte{'\n'}), words, len(data)}
		for i := range n {
			total[i] += n[i]
		}
		return show(n, name)
	})
	if len(names) > 1 {
		err = errors.Join(err, show(total, "total"))
	}
	return err
}

// countWidth returns the width of wc's numbers: that of the size of all files, or 7 if it
// is not known.
func (p *Process) countWidth(names []string) int {
	size := int64(0)
	for _, name := range names {
		info, err := p.program.files.stat(p.Path(name))
		if name == "-" {
			return 7
		}
		if err == nil {
			size += info.Size()
		}
	}
	if len(names) == 0 {
		return 7
	}
	return len(strconv.FormatInt(size, 10))
}

// sorted implements "sort": it prints lines in order.
func sorted(p *Process) error {
	flags, names, err := options(p.Argv, "rnu", "")
	if err != nil {
		return err
	}
	var lines []string
	size := 0
	err = inputs(p, names, func(_ string, data []byte) error {
		for line := range strings.Lines(string(data)) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
			if size += len(line) + wordCost; size > maxCommand {
				tooMuch("sort: lines of more than %d bytes", maxCommand)
			}
		}
		return nil
	})
	p.program.hold(size)
	defer p.program.hold(-size)
	slices.SortStableFunc(lines, func(a, b string) int {
		p.program.work(50 + min(len(a), len(b)))
		order := 0
		if has(flags, "n") {
			order = leadingNumber(a) - leadingNumber(b)
		}
		if order == 0 {
			order = strings.Compare(a, b)
		}
		if has(flags, "r") {
			order = -order
		}
		return order
	})
	if has(flags, "u") {
		lines = slices.Compact(lines)
	}
	for _, line := range lines {
		err = errors.Join(err, p.printf("%s\n", line))
	}
	return err
}

func leadingNumber(text string) int {
	text = strings.TrimSpace(text)
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && text[end] == '-') {
		end++
	}
	n, _ := strconv.Atoi(text[:end])
	return n
}
