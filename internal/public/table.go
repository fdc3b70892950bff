package public

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Table returns the rows as the table of docs/public-manifests.md: a table for each repository, and one for planted faults.
func Table(rows []*Row) string {
	var b strings.Builder
	planted := slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool { return r.Of == "" })
	count := map[string]int{}
	for _, row := range rows {
		count[row.counted()]++
	}
	fmt.Fprintf(&b, "%d runs of manifests as they are: %d without anything in place of another program, %d with a stand-in, %d with programs that are taken to "+
		"run, %d with both. %d runs with a planted fault.\n",
		len(rows)-len(planted), count[""], count["stand-in"], count["taken"], count["both"], len(planted))
	repo := ""
	for _, row := range rows {
		if row.Of != "" {
			continue
		}
		if row.Repo != repo {
			repo = row.Repo
			fmt.Fprintf(&b, "\n**%s**%s\n\n| row | manifests | flags | end on a cluster | counted as | shape |\n| --- | --- | --- | --- | --- | --- |\n", repo, row.at())
		}
		fmt.Fprintf(&b, "| %s | %s | `%s` | %s | %s | %s |\n",
			row.Name, cell(row.paths()), strings.Join(row.Flags, " "), row.summary(), row.counted(), strings.Join(row.Shapes, ", "))
	}
	b.WriteString("\n**Planted faults**\n\n| row | in row | file | instead of | stands | end on a cluster | shape |\n" +
		"| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, row := range planted {
		file, _, _ := strings.Cut(row.Edit.File, "@")
		line := func(text string) string { return "`" + cell(strings.Join(strings.Fields(text), " ")) + "`" }
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n",
			row.Name, row.Of, path.Base(file), line(row.Edit.Old), line(row.Edit.New), row.summary(), strings.Join(row.Shapes, ", "))
	}
	return b.String()
}

// counted returns the word under which a row counts: "stand-in", "taken", "both", or "". Planted faults do not count.
func (r *Row) counted() string {
	switch standIn, takes := r.Has("stand-in"), r.Has("takes"); {
	case r.Of != "":
		return "planted"
	case standIn && takes:
		return "both"
	case standIn:
		return "stand-in"
	case takes:
		return "taken"
	}
	return ""
}

// at names the commit of a repository, if its rows have one.
func (r *Row) at() string {
	if r.Commit == "-" {
		return ", each file at the commit that stands after its path"
	}
	return ", commit " + r.Commit
}

// paths returns the files of a row, those of one folder together.
func (r *Row) paths() string {
	var folders []string
	files := map[string][]string{}
	for _, file := range r.Files {
		plain, commit, _ := strings.Cut(file, "@")
		dir, name := path.Split(plain)
		if commit != "" {
			name += "@" + commit[:12]
		}
		if files[dir] == nil {
			folders = append(folders, dir)
		}
		files[dir] = append(files[dir], name)
	}
	for i, dir := range folders {
		folders[i] = dir + strings.Join(files[dir], ", ")
	}
	return strings.Join(append(folders, r.With...), "; ")
}

// summary returns the expectations of a row in a few words.
func (r *Row) summary() string {
	var parts []string
	for _, end := range r.Ends {
		switch end.Kind {
		case "stand-in", "takes":
		default:
			parts = append(parts, cell(end.Kind+" "+end.Text))
		}
	}
	return strings.Join(parts, "; ")
}

// cell escapes a text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;", "`", "'").Replace(text)
}
