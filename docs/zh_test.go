package docs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/story"
)

// part is a piece of a page, in the order of the page: words, a fenced block, or a comment.
type part struct {
	// kind is "#" to "######" for a heading, "paragraph", "item" of a list, "row of N" of a table, "fence" or "comment".
	kind string
	// text has one space where the file has white space, except in a fence.
	text string
	// from and to are the lines of the file: lines[from:to].
	from, to int
}

// words reports whether a part is one that a translation has in its own words.
func (p part) words() bool { return p.kind != "fence" && p.kind != "comment" }

// hash returns the hash of the part's text. The links in it lead to the English pages, wherever the page is.
func (p part) hash(file string) string {
	text := link.ReplaceAllStringFunc(p.text, func(m string) string { return "](" + target(file, link.FindStringSubmatch(m)[1]) + ")" })
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

// target returns where a link of a page in docs leads, relative to docs: to the English page, if it is a translation.
func target(file, to string) string {
	if strings.Contains(to, "://") {
		return to
	}
	return englishOf(path.Join(path.Dir(filepath.ToSlash(file)), to))
}

// A page NAME.md of docs is translated as zh/NAME.md, and one in another folder as NAME.zh.md beside it.

// englishOf returns the page that a Chinese one translates, and other files as they are.
func englishOf(file string) string {
	if name, ok := strings.CutSuffix(file, ".zh.md"); ok {
		return name + ".md"
	}
	return strings.TrimPrefix(file, "zh/")
}

// chineseOf returns the name that the translation of a page has.
func chineseOf(file string) string {
	if path.Dir(file) == "." {
		return "zh/" + file
	}
	return strings.TrimSuffix(file, ".md") + ".zh.md"
}

var (
	headingOf = regexp.MustCompile(`^#+ `)
	numberOf  = regexp.MustCompile(`^#+ \d+\. `)
	itemOf    = regexp.MustCompile(`^\s*(?:-|\d+\.) `)
	ruleOf    = regexp.MustCompile(`^\|[-| ]+\|$`)
)

// kindOf returns the kind of part that a line begins.
func kindOf(line string) string {
	switch {
	case strings.HasPrefix(line, "```"):
		return "fence"
	case strings.HasPrefix(line, "<!--"):
		return "comment"
	case strings.HasPrefix(line, "|"):
		return fmt.Sprintf("row of %d", len(cells(line)))
	case headingOf.MatchString(line):
		return strings.TrimSpace(headingOf.FindString(line))
	case itemOf.MatchString(line):
		return "item"
	}
	return "paragraph"
}

// cells returns the cells of a table's row, with "x" for what is between backticks.
func cells(row string) []string {
	all := strings.Split(strings.TrimSuffix(strings.TrimPrefix(codeIn.ReplaceAllString(row, "x"), "|"), "|"), "|")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// parts splits a page. A paragraph or an item goes on until an empty line, or a line that begins something else.
func parts(page string) (all []part) {
	text := lines(page)
	for at := 0; at < len(text); {
		p := part{kind: kindOf(text[at]), from: at, to: at + 1}
		switch {
		case text[at] == "" || ruleOf.MatchString(text[at]):
			at++
			continue
		case p.kind == "fence":
			for p.to < len(text) && text[p.to] != "```" {
				p.to++
			}
			p.to = min(p.to+1, len(text))
		case p.kind == "paragraph" || p.kind == "item":
			for p.to < len(text) && text[p.to] != "" && kindOf(text[p.to]) == "paragraph" {
				p.to++
			}
		}
		p.text = strings.Join(text[p.from:p.to], "\n")
		if p.words() {
			p.text = strings.Join(strings.Fields(p.text), " ")
		}
		all, at = append(all, p), p.to
	}
	return all
}

// beginning returns the first words of a part, for messages.
func (p part) beginning() string {
	if runes := []rune(p.text); len(runes) > 60 {
		return string(runes[:60]) + "..."
	}
	return p.text
}

// codeIn matches what a text has between backticks.
var codeIn = regexp.MustCompile("`[^`]+`")

// misfit says where the parts of a translation are others than those of the page: in kind or number, a quotation, a name in backticks, a link.
func misfit(file string, english, chinese []part) error {
	for i, e := range english {
		if i == len(chinese) {
			return fmt.Errorf("docs/%s ends before the %s of line %d: %s", chineseOf(file), e.kind, e.from+1, e.beginning())
		}
		c := chinese[i]
		at := fmt.Sprintf("docs/%s:%d and docs/%s:%d", chineseOf(file), c.from+1, file, e.from+1)
		switch {
		case c.kind != e.kind:
			return fmt.Errorf("%s: a %s stands for a %s: %s", at, c.kind, e.kind, e.beginning())
		case !e.words() && c.text != e.text:
			return fmt.Errorf("%s: the %s differs; go test ./docs -update takes it from the English page", at, e.kind)
		}
		if !e.words() {
			continue
		}
		for _, name := range codeIn.FindAllString(e.text, -1) {
			if !strings.Contains(c.text, name) {
				return fmt.Errorf("%s: the English has %s: %s", at, name, e.beginning())
			}
		}
		if there, want := linksOf(chineseOf(file), c.text), linksOf(file, e.text); !slices.Equal(there, want) {
			return fmt.Errorf("%s: the links lead to %v, expected %v", at, there, want)
		}
	}
	if len(chinese) > len(english) {
		c := chinese[len(english)]
		return fmt.Errorf("docs/%s:%d: the English page has ended: %s", chineseOf(file), c.from+1, c.beginning())
	}
	return nil
}

func linksOf(file, text string) (to []string) {
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		to = append(to, target(file, m[1]))
	}
	slices.Sort(to)
	return to
}

// pair is a block of a page and its translation, by their hashes. same says why the translation stayed when the English changed.
type pair struct{ english, chinese, same string }

func (p pair) String() string {
	if p.same != "" {
		return p.english + " " + p.chinese + " same: " + p.same
	}
	return p.english + " " + p.chinese
}

const pairsFile = "zh/pairs.txt"

const pairsTop = `# The blocks of the translated pages: the hash of the English one (a heading, a paragraph, an item, a row), and of the Chinese one that
# was read beside it. Where the English changes, change the Chinese and run "go test ./docs -update"; or, where the Chinese still says what the
# English says, put the new English hash into the line here and the reason after it: "same: a word was misspelt".
`

// parsePairs reads the file: the pairs of each page.
func parsePairs(text string) (map[string][]pair, error) {
	all, page := map[string][]pair{}, ""
	for i, line := range lines(text) {
		if name, ok := strings.CutPrefix(line, "page "); ok {
			page = name
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		hashes, same, noted := strings.Cut(line, " same:")
		fields := strings.Fields(hashes)
		p := pair{same: strings.TrimSpace(same)}
		if len(fields) != 2 || len(fields[0]) != 12 || len(fields[1]) != 12 || page == "" {
			return nil, fmt.Errorf(`%s:%d: %q: expected two hashes of 12 digits, below a line "page NAME"`, pairsFile, i+1, line)
		}
		if noted && len(strings.Fields(p.same)) < 2 {
			return nil, fmt.Errorf("%s:%d: same: expected the reason why the Chinese stays as it is", pairsFile, i+1)
		}
		p.english, p.chinese = fields[0], fields[1]
		all[page] = append(all[page], p)
	}
	return all, nil
}

// paired returns the pairs of a page as it is now, with the notes of those that are known, and says which are not: stale ones, whose
// English changed while the Chinese stayed, and fresh ones, whose Chinese is new. A stale pair stays in the list as it was.
func paired(known []pair, file string, english, chinese []part) (now []pair, stale, fresh []string) {
	for i, e := range english {
		if !e.words() {
			continue
		}
		p := pair{english: e.hash(file), chinese: chinese[i].hash(chineseOf(file))}
		place := fmt.Sprintf("docs/%s:%d (%s)", chineseOf(file), chinese[i].from+1, e.beginning())
		is := slices.IndexFunc(known, func(k pair) bool { return k.english == p.english && k.chinese == p.chinese })
		was := slices.IndexFunc(known, func(k pair) bool { return k.chinese == p.chinese })
		switch {
		case is >= 0:
			now = append(now, known[is])
		case was >= 0:
			now = append(now, known[was])
			stale = append(stale,
				fmt.Sprintf("%s: the English changed and the Chinese did not. Change it, or, if it still says the same, write in docs/%s\n\t%s same: WHY\ninstead of\n\t%s",
					place, pairsFile, p, known[was]))
		default:
			now = append(now, p)
			fresh = append(fresh, place)
		}
	}
	return now, stale, fresh
}

// pageOf returns the lines of a page in the file.
func pageOf(name string, pairs []pair) string {
	text := "\npage " + name + "\n"
	for _, p := range pairs {
		text += p.String() + "\n"
	}
	return text
}

// own has the Chinese pages that are no translation, block by block, of one English page.
var own = []string{"zh/glossary.md", "zh/" + sourcesFile, "../README.zh.md"}

// translated returns the pages that are translated, in the order of their names, relative to docs.
func translated(t *testing.T) (files []string) {
	t.Helper()
	for _, file := range chinesePages(t) {
		if !slices.Contains(own, file) {
			files = append(files, englishOf(file))
		}
	}
	require.NotEmpty(t, files)
	slices.Sort(files)
	return files
}

// requoted returns a Chinese page with the quotations of the English one, if they are as many, and links to pages that are translated.
func requoted(file, english, chinese string) string {
	var quoted []part
	for _, p := range parts(english) {
		if !p.words() {
			quoted = append(quoted, p)
		}
	}
	var b strings.Builder
	text, at, n := lines(chinese), 0, 0
	there := parts(chinese)
	if len(slices.DeleteFunc(slices.Clone(there), part.words)) != len(quoted) {
		return chinese
	}
	for _, p := range there {
		if p.words() {
			continue
		}
		b.WriteString(strings.Join(append(slices.Clone(text[at:p.from]), quoted[n].text), "\n") + "\n")
		at, n = p.to, n+1
	}
	for _, line := range text[at:] {
		b.WriteString(line + "\n")
	}
	return relinked(chineseOf(file), b.String())
}

// relinked returns a Chinese page whose links lead to the Chinese page where there is one.
func relinked(file, text string) string {
	return link.ReplaceAllStringFunc(text, func(m string) string {
		to := link.FindStringSubmatch(m)[1]
		english := target(file, to)
		if strings.Contains(to, "://") || !strings.HasSuffix(english, ".md") || strings.HasPrefix(english, "..") {
			return m
		}
		if _, err := os.Stat(chineseOf(english)); err != nil {
			return m
		}
		rel, err := filepath.Rel(filepath.Dir(file), chineseOf(english))
		if err != nil {
			return m
		}
		return strings.Replace(m, to, filepath.ToSlash(rel), 1)
	})
}

// TestEachBlockOfATranslatedPageIsPaired: the Chinese pages have the blocks of the English ones, and each was read beside its English as it is now.
func TestEachBlockOfATranslatedPageIsPaired(t *testing.T) {
	known, err := parsePairs(read(t, pairsFile))
	require.NoError(t, err)
	pairs := pairsTop
	blocks, files := 0, translated(t)
	for _, file := range files {
		english, chinese := read(t, file), read(t, chineseOf(file))
		if *update {
			chinese = requoted(file, english, chinese)
			require.NoError(t, os.WriteFile(chineseOf(file), []byte(chinese), 0o644))
		}
		e, c := parts(english), parts(chinese)
		if err := misfit(file, e, c); err != nil {
			t.Error(err)
			pairs += pageOf(file, known[file])
			continue
		}
		now, stale, fresh := paired(known[file], file, e, c)
		for _, s := range stale {
			t.Error(s)
		}
		if !*update && len(fresh) > 0 {
			t.Errorf("blocks that nothing is written of in docs/%s; once both were read, go test ./docs -update pairs them:\n%s", pairsFile, strings.Join(fresh, "\n"))
		}
		blocks += len(now)
		pairs += pageOf(file, now)
	}
	if *update {
		require.NoError(t, os.WriteFile(pairsFile, []byte(pairs), 0o644))
	} else if !t.Failed() {
		require.Equal(t, slices.Sorted(slices.Values(files)), slices.Sorted(maps.Keys(known)), "docs/%s: pages; go test ./docs -update", pairsFile)
	}
	t.Logf("%d blocks of %d pages are paired", blocks, len(files))
}

func TestChinesePagesLinkChinesePages(t *testing.T) {
	for _, file := range chinesePages(t) {
		text := read(t, file)
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(relinked(file, text)), 0o644))
		}
		require.Equal(t, relinked(file, text), read(t, file), "%s links to an English page that is translated; go test ./docs -update mends it", file)
	}
}

// Half-width marks have no place beside Chinese; a colon or a full stop may stand inside a time, a version or a name.
var (
	halfWidth = regexp.MustCompile(`[,;?!()"']|[:.](?:\s|$|\p{Han})|\p{Han}[:.]`)
	noSpace   = regexp.MustCompile(`\p{Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Han}`)
	tooMuch   = regexp.MustCompile(`\p{Han} +\p{Han}|[，。；：？！（）《》“”、] | [，。；：？！（）《》“”、]`)
	emphasis  = strings.NewReplacer("**", "", "*", "")
	linkText  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	strong    = regexp.MustCompile(`\*{1,2}([^*]+)\*{1,2}`)
	mark      = regexp.MustCompile(`[，。；：？！）》”、]$`)
	markers   = regexp.MustCompile(`<!--.*?-->`)
	letter    = regexp.MustCompile(`^[\p{L}\d]`)
)

// typography says what is wrong with the setting of a Chinese text.
func typography(page string) (wrong []string) {
	text := lines(page)
	for _, p := range parts(page) {
		if !p.words() || !strings.ContainsFunc(p.text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			continue
		}
		if p.to > p.from+1 {
			wrong = append(wrong, fmt.Sprintf("line %d: a line ends inside a %s: %s", p.from+2, p.kind, text[p.from+1]))
		}
		said := []string{headingOf.ReplaceAllString(numberOf.ReplaceAllString(itemOf.ReplaceAllString(p.text, ""), ""), "")}
		if strings.HasPrefix(p.kind, "row") {
			said = cells(p.text)
			for i := range said {
				said[i] = itemOf.ReplaceAllString(said[i], "")
			}
		}
		for _, m := range strong.FindAllStringSubmatchIndex(p.text, -1) {
			if mark.MatchString(p.text[m[2]:m[3]]) && letter.MatchString(p.text[m[1]:]) {
				wrong = append(wrong,
					fmt.Sprintf("line %d: Markdown does not end emphasis between a mark and a letter; put the mark behind: %s", p.from+1, p.text[m[0]:m[1]]))
			}
		}
		for _, s := range said {
			s = emphasis.Replace(linkText.ReplaceAllString(codeIn.ReplaceAllString(markers.ReplaceAllString(s, ""), "x"), "$1"))
			if !strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
				continue
			}
			for what, rule := range map[string]*regexp.Regexp{"a half-width mark": halfWidth, "no space between Chinese and Latin": noSpace,
				"a space too much": tooMuch} {
				if m := rule.FindStringIndex(s); m != nil {
					wrong = append(wrong, fmt.Sprintf("line %d: %s: %q in %s", p.from+1, what, s[m[0]:m[1]], s))
				}
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// chinesePages returns the Chinese pages of the repository.
func chinesePages(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"../*.zh.md", "zh/*.md", "*/*.zh.md", "../learn/exercises/*/text.zh.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range found {
			files = append(files, filepath.ToSlash(file))
		}
	}
	return files
}

func TestChinesePagesAreSetAsChineseIs(t *testing.T) {
	for _, file := range chinesePages(t) {
		for _, wrong := range typography(read(t, file)) {
			t.Errorf("%s, %s", file, wrong)
		}
	}
}

func TestTypographyFindsWhatItIsFor(t *testing.T) {
	for _, right := range []string{
		"# 1. 绑定", "PV 与 PVC：`a,b`，共 3 个。", "- 见[第 4 章](../a.md)（**延迟**绑定）。", "**讲**：**绑定**。**好。**（是）", "| `x` | no, thanks | 相同 |", "English, only (here).",
		"到 0:50 为止，v1.37.2 如此。", "“`a`”与《原理》",
	} {
		require.Empty(t, typography(right), right)
	}
	for wrong, want := range map[string]string{
		"绑定,完成": "half-width", "绑定(bind)": "half-width", "用`x`绑定": "no space", "用 PV绑定": "no space", "绑定 ，完成": "too much", "绑 定": "too much",
		"绑定\n完成": "line ends inside", "| a | 用PV |": "no space", "绑定: 完成": "half-width", "完成.": "half-width", "说\"好\"": "half-width", "**用**PV": "no space",
		"**讲：**绑定": "put the mark behind",
	} {
		require.Contains(t, strings.Join(typography(wrong), "\n"), want, wrong)
	}
}

func TestAChangedEnglishBlockNeedsAChangedChineseOneOrAReason(t *testing.T) {
	english := parts("# A\n\nOne `x`\nand [two](b.md).\n\n- three\n\n| a | b |\n| --- | --- |\n| c | d |\n\n<!-- from f -->\n```go\nx\n```\n")
	chinese := parts("# 甲\n\n一 `x` 和[二](../b.md)。\n\n- 三\n\n| 甲 | 乙 |\n| --- | --- |\n| 丙 | 丁 |\n\n<!-- from f -->\n```go\nx\n```\n")
	require.NoError(t, misfit("a.md", english, chinese))
	known, stale, fresh := paired(nil, "a.md", english, chinese)
	require.Len(t, known, 5)
	require.Len(t, fresh, 5)
	require.Empty(t, stale)
	_, stale, fresh = paired(known, "a.md", english, chinese)
	require.Empty(t, stale)
	require.Empty(t, fresh)
	require.Equal(t, parts("One `x` and\n[two](b.md).")[0].hash("a.md"), english[1].hash("a.md"), "where the lines end is no change")
	require.Equal(t, parts("[二](b.md)")[0].hash("zh/a.md"), parts("[二](../b.md)")[0].hash("zh/a.md"), "neither is that a page was translated")

	changed := slices.Clone(english)
	changed[2].text = "- four"
	now, stale, _ := paired(known, "a.md", changed, chinese)
	require.Equal(t, known, now, "-update does not take a stale pair")
	require.Len(t, stale, 1)
	require.Contains(t, stale[0], changed[2].hash("a.md")+" "+known[2].chinese+" same: WHY")

	noted, err := parsePairs("page a.md\n" + changed[2].hash("a.md") + " " + known[2].chinese + " same: a better word\n")
	require.NoError(t, err)
	now, stale, fresh = paired(append(noted["a.md"], known...), "a.md", changed, chinese)
	require.Empty(t, append(stale, fresh...))
	require.Equal(t, "a better word", now[2].same)

	mended := slices.Clone(chinese)
	mended[2].text = "- 四"
	_, stale, fresh = paired(known, "a.md", changed, mended)
	require.Empty(t, stale)
	require.Len(t, fresh, 1)

	for text, want := range map[string]string{
		"page a.md\n0123456789ab 0123456789ab same:\n": "expected the reason", "0123456789ab 0123456789ab\n": "expected two hashes",
		"page a.md\n0123 0123456789ab\n": "expected two hashes",
	} {
		_, err := parsePairs(text)
		require.ErrorContains(t, err, want)
	}
	for text, want := range map[string]string{
		"# 甲\n\n一和[二](../b.md)。\n": "the English has `x`", "# 甲\n\n一 `x` 和[二](../c.md)。\n": "the links lead to [c.md]",
		"# 甲\n\n- 一\n": "a item stands for a paragraph",
		"# 甲\n":        "ends before the paragraph",
	} {
		require.ErrorContains(t, misfit("a.md", english, parts(text)), want)
	}
	require.ErrorContains(t, misfit("a.md", english[:1], chinese), "the English page has ended")
	other := slices.Clone(chinese)
	other[len(other)-1].text = "```go\ny\n```"
	require.ErrorContains(t, misfit("a.md", english, other), "the fence differs")
	require.Equal(t, "# 甲\n\n```\nnew\n```\n二\n", requoted("a.md", "# A\n\n```\nnew\n```\ntwo\n", "# 甲\n\n```\nold\nold\n```\n二\n"))
}

// The page of the source documents is made of docs/sources.md: itemsFile has the Chinese of each English text in it, indented below it.
const (
	sourcesFile = "sources.md"
	itemsFile   = "zh/items.txt"
)

// sums matches the line that counts items.
var sums = regexp.MustCompile(`^(All five: )?(\d+) of (\d+) items whole, (\d+) in part, (\d+) told(?:, (\d+) without their picture)?\.$`)

// lexicon is the Chinese of texts.
type lexicon map[string]string

func parseLexicon(text string) (lexicon, error) {
	l, english := lexicon{}, ""
	for i, line := range lines(text) {
		chinese, indented := strings.CutPrefix(line, "\t")
		switch {
		case !indented && line != "":
			english = line
		case indented && english != "" && l[english] == "":
			l[english] = chinese
		case line != "":
			return nil, fmt.Errorf("%s:%d: expected an English text, and below it its Chinese, indented by a tab; each once", itemsFile, i+1)
		}
	}
	return l, nil
}

// of returns the Chinese of a text. A text with Chinese in it, a number or a link may stay as it is.
func (l lexicon) of(text string) (string, error) {
	if m := sums.FindStringSubmatch(text); m != nil {
		whole := "共 " + m[3] + " 项：完整 " + m[2] + " 项，部分 " + m[4] + " 项，只讲不演 " + m[5] + " 项"
		if m[1] != "" {
			whole = "五份文本" + whole
		}
		if m[6] != "" {
			whole += "，还缺图 " + m[6] + " 项"
		}
		return whole + "。", nil
	}
	if chinese, ok := l[text]; ok {
		return chinese, nil
	}
	if text == "" || stays.MatchString(text) || strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		return text, nil
	}
	return "", fmt.Errorf("docs/%s has no Chinese of %q: write it there, indented by a tab below the English", itemsFile, text)
}

// stays matches what is the same in both languages: numbers, links, names in backticks, and headings of the documents that are English.
var stays = regexp.MustCompile("^(?:[\\d-]+|\\[[^]]*\\]\\([^)]*\\)|`[^`]+`(?:, `[^`]+`)*|Local PV|Kubelet|StorageClass|kubernetes external " +
	"provisioner|Provisioner|Attacher|Snapshotter|csi-[a-z-]+|CSI Provisioner|Overview)$")

// cell returns the Chinese of a cell of the table.
func (l lexicon) cell(text string) (string, error) {
	if told, ok := strings.CutPrefix(text, "told only: "); ok {
		chinese, err := l.of(told)
		return "只讲不演：" + chinese, err
	}
	shown, part, found := strings.Cut(text, "; in part: ")
	chinese, err := l.of(shown)
	if err != nil || !found {
		return strings.ReplaceAll(chinese, "`, `", "`、`"), err
	}
	part, err = l.of(part)
	return chinese + "；只有部分：" + part, err
}

// chineseSources returns the Chinese page of the source documents, made of the English one.
func chineseSources(english string, l lexicon) (string, error) {
	var b strings.Builder
	before := ""
	for _, p := range parts(english) {
		row := strings.HasPrefix(p.kind, "row")
		if b.Len() > 0 && (!row || !strings.HasPrefix(before, "row")) {
			b.WriteString("\n")
		}
		before = p.kind
		if !row {
			chinese, err := l.of(p.text)
			if err != nil {
				return "", err
			}
			b.WriteString(chinese + "\n")
			continue
		}
		of := strings.Split(strings.TrimSuffix(strings.TrimPrefix(p.text, "|"), "|"), "|")
		for i := range of {
			chinese, err := l.cell(strings.TrimSpace(of[i]))
			if err != nil {
				return "", err
			}
			of[i] = " " + chinese + " "
		}
		b.WriteString("|" + strings.Join(of, "|") + "|\n")
		if strings.HasPrefix(p.text, "| section") {
			b.WriteString("|" + strings.Repeat(" --- |", len(of)) + "\n")
		}
	}
	return relinked("zh/"+sourcesFile, deeper(b.String())), nil
}

// deeper returns a page of docs for docs/zh: its links lead to the same files.
func deeper(page string) string {
	return link.ReplaceAllStringFunc(page, func(m string) string {
		if strings.Contains(m, "://") {
			return m
		}
		return "](../" + strings.TrimPrefix(m, "](")
	})
}

// TestTheChinesePageOfTheSourcesIsMadeOfTheEnglishOne: each text in it has its Chinese in docs/zh/items.txt, which has no other.
func TestTheChinesePageOfTheSourcesIsMadeOfTheEnglishOne(t *testing.T) {
	l, err := parseLexicon(read(t, itemsFile))
	require.NoError(t, err)
	english := read(t, sourcesFile)
	want, err := chineseSources(english, l)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile("zh/"+sourcesFile, []byte(want), 0o644))
	}
	require.Equal(t, want, read(t, "zh/"+sourcesFile), "go test ./docs -update makes it")
	text := strings.Join(strings.Fields(english), " ")
	for known := range l {
		require.Contains(t, text, known, "docs/%s: the English page says it no more", itemsFile)
	}
	_, err = chineseSources("| something new | 3 |\n", l)
	require.ErrorContains(t, err, `no Chinese of "something new"`)
	_, err = parseLexicon("\t甲\n")
	require.ErrorContains(t, err, "expected an English text")
}

// TestWhatTheChineseREADMEHasYouTypeRuns: the class as it is printed is refused, and with three lines more, the claim and the pod run.
func TestWhatTheChineseREADMEHasYouTypeRuns(t *testing.T) {
	text := read(t, "../README.zh.md")
	blocks := map[string]string{}
	for _, m := range quote.FindAllStringSubmatch(text, -1) {
		first, _, _ := strings.Cut(m[4], "\n")
		blocks[first], _, _ = strings.Cut(m[4], "----\n")
	}
	class := blocks["apiVersion: storage.k8s.io/v1"]
	require.NotEmpty(t, class)
	manifests := class + blocks["provisioner: openebs.io/local"] + "---\n" + blocks["# local-hostpath-pvc.yaml"] + "---\n" + blocks["# local-hostpath-pod.yaml"]
	script := "cluster nodes=node1,node2\n----\n\n! apply\n" + class + "----\n\napply\n" + manifests +
		"----\n\nsettle quiet\n----\n\nget pvc\n----\n\nget pods\n----\n"
	var b strings.Builder
	require.NoError(t, story.Play(t.Context(), &b, "README.zh.md", script, story.Options{}))
	require.Contains(t, b.String(), "is invalid: provisioner: Required value")
	require.Regexp(t, `local-hostpath-pvc +Bound`, b.String())
	require.Regexp(t, `hello-local-hostpath-pod +1/1 +Running`, b.String())
}

// sentences matches the rows of the glossary that explain what runs print.
var sentences = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\|$")

// TestTheSentencesOfTheGlossaryArePrinted: each is in a story or in the output of an example.
func TestTheSentencesOfTheGlossaryArePrinted(t *testing.T) {
	printed := ""
	for _, pattern := range []string{"../story/testdata/*.txt", "stories/*.txt", "lessons/*.txt", "../examples/*/output.txt"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			printed += strings.Join(strings.Fields(read(t, file)), " ") + "\n"
		}
	}
	_, section, found := strings.Cut(read(t, "zh/glossary.md"), "\n## 输出里的句子\n")
	require.True(t, found)
	rows := sentences.FindAllStringSubmatch(section, -1)
	require.Len(t, rows, strings.Count(section, "\n| `"))
	require.Greater(t, len(rows), 20)
	for _, m := range rows {
		require.Contains(t, printed, m[1], "no run prints this sentence of the glossary")
	}
}
