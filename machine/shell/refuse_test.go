package shell

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"
)

// Syntax of other shells cannot come from a script, which is read as bash or sh. A refusal of it shows it all the same.
func TestARefusalShowsWhatItRefuses(t *testing.T) {
	for script, want := range map[string]string{
		"echo a\necho ${%name}":    "line 2: ${%name}, which has more than a name and one operation, is not supported",
		"echo ${(U)name}":          "line 1: ${(U)name}, which has more than a name and one operation, is not supported",
		"echo ${name:h}":           "line 1: ${name:h}, which has more than a name and one operation, is not supported",
		"echo ${(U)" + long + "}":  "line 1: ${(U)" + long[:maxShown-len("${(U)")] + " ..., which has more than a name and one operation, is not supported",
		"echo ${name:-a}${name#b}": "",
	} {
		lang := syntax.LangZsh
		if strings.Contains(script, "${%") {
			lang = syntax.LangMirBSDKorn
		}
		file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(script), "")
		require.NoError(t, err, script)
		if err := refuse(file); want == "" {
			require.NoError(t, err, script)
		} else {
			require.EqualError(t, err, want, script)
		}
	}
}

var long = strings.Repeat("name", 30)

func TestTheTextOfAnExpressionIsItsSource(t *testing.T) {
	file, err := syntax.NewParser().Parse(strings.NewReader("(( a + (b - 1) ))\n[[ a == b ||\n! -f c ]]\ntime ls"), "")
	require.NoError(t, err)
	want := []string{"((a + (b - 1)))", "[[ a == b || ! -f c ]]", "time ls"}
	for i, stmt := range file.Stmts {
		require.Equal(t, want[i], textOf(stmt.Cmd))
	}
}
