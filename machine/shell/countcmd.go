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
		n := [3]int{bytes.Count(data, []byte{'\n'}), len(bytes.Fields(data)), len(data)}
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

// countWidth is how wide wc's numbers are: as the size of all files, or 7 if that is
// not known before.
func (p *Process) countWidth(names []string) int {
	size := int64(0)
	for _, name := range names {
		info, err := p.program.file.stat(p.Path(name))
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

// sorted prints lines in order: -r, -n, -u.
func sorted(p *Process) error {
	flags, names, err := options(p.Argv, "rnu", "")
	if err != nil {
		return err
	}
	var lines []string
	err = inputs(p, names, func(_ string, data []byte) error {
		if len(data) > 0 {
			lines = append(lines, strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")...)
		}
		return nil
	})
	p.program.step(len(lines) / 100)
	slices.SortStableFunc(lines, func(a, b string) int {
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
