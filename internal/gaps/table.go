package gaps

import (
	"fmt"
	"slices"
	"strings"
)

// Table returns the register as a table of Markdown.
func Table() string {
	var b strings.Builder
	b.WriteString("| of | a cluster | here |\n| --- | --- | --- |\n")
	for _, g := range register {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", g.subject(), g.Cluster, g.Here)
	}
	return b.String()
}

// subject returns the kinds and fields of an entry. Fields that init containers and ephemeral
// containers have, too, are named once.
func (g *Gap) subject() string {
	var fields []string
	for _, path := range g.Fields {
		for _, list := range []string{"initContainers.", "ephemeralContainers."} {
			path = strings.Replace(path, "spec."+list, "spec.containers.", 1)
		}
		path = strings.TrimPrefix(strings.TrimPrefix(path, "spec."), "volumes.")
		if path = "`" + path + "`"; !slices.Contains(fields, path) {
			fields = append(fields, path)
		}
	}
	subject := strings.Join(g.Kinds, ", ")
	if len(fields) > 0 {
		subject += ": " + strings.Join(fields, ", ")
	}
	if len(g.Images) > 0 {
		subject += " of " + strings.Join(g.Images, ", ")
	}
	return subject
}
