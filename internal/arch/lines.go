package arch

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxColumns is the length that a line of Go code may have: two windows fit beside each other.
const maxColumns = 160

// Long returns the files whose lines may be longer: tables that are generated, or read row by row.
func Long() []string {
	return []string{
		"api/internal/typed/groups.go", "api/internal/typed/kinds.go", "internal/arch/layers.go", "internal/arch/public.go",
		"examples/internal/pictures/canvas.go",    // a style sheet
		"conformance/internal/managers/others.go", // a manifest
	}
}

// A row of a table, and a line with a text that cannot be broken, are as long as what they hold.
var (
	dataRow  = regexp.MustCompile(`^\t*(\{|[\w.&\[\]*]+\{|[\w.]+\([\w.]+, Kind\{|"[^"]*": |\w+: +|case |return \S+\{).*$`)
	longText = regexp.MustCompile("\"[^\"]{50,}\"|`[^`]{50,}`|`[^`]*$|^[^`]*`,?\\)?$")
)

// CheckLines reports comments, and code outside of tests, with more than 160 columns.
func CheckLines(fsys fs.FS, long []string) ([]Violation, error) {
	var found []Violation
	err := walk(fsys, func(name string) error {
		if path.Ext(name) != ".go" || slices.Contains(long, name) {
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(src), "\n") {
			columns, text := utf8.RuneCountInString(line), strings.TrimLeft(line, "\t ")
			switch {
			case columns <= maxColumns, strings.HasPrefix(text, "//nolint"), strings.HasPrefix(text, "//\t"):
			case strings.HasPrefix(text, "//"):
				found = append(found, Violation{name, i + 1, "a comment of more than 160 columns: break it at a word"})
			case strings.HasSuffix(name, "_test.go"), dataRow.MatchString(line), longText.MatchString(line):
			default:
				found = append(found, Violation{name, i + 1, "a line of more than 160 columns: break it behind a comma or an operator"})
			}
		}
		return nil
	})
	return found, err
}
