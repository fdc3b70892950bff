package story

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

func expectCommands() []*command {
	return []*command{{
		name: "expect", usage: "expect [no | only] TEXT in COMMAND...", run: expect,
		flags: func(f *pflag.FlagSet) { f.SetInterspersed(false) }, // flags belong to the command behind it
		help: "end the story if the output of a command lacks TEXT; it prints nothing if not\n" +
			"no    the output must not have TEXT\n" +
			"only  TEXT is the whole output\n" +
			"Blanks and the ends of lines count as one blank.",
	}}
}

// Expectation holds the result of a command expect.
type Expectation struct {
	// File and Line have the command.
	File string
	Line int
	// Command is the command whose output was looked at, and Output that output.
	Command, Output string
	// Want is the text that the output must have, or, after "no", must not have.
	Want string
	// Met says whether it is so.
	Met bool
}

// String says what was expected and what the output was.
func (e Expectation) String() string {
	return fmt.Sprintf("expected %s in the output of %q, which is:\n%s", e.Want, e.Command, strings.TrimSpace(e.Output))
}

// unmet is the error of an expectation that is not met: it ends the story, though the script is written as it should be.
type unmet string

func (u unmet) Error() string { return string(u) }

func expect(c *call) error {
	words := c.args
	mode := ""
	if len(words) > 0 && (words[0] == "no" || words[0] == "only") {
		mode, words = words[0], words[1:]
	}
	if len(words) < 3 || words[1] != "in" {
		return c.misuse("%q is not TEXT in COMMAND; a TEXT with blanks stands in quotes", strings.Join(words, " "))
	}
	text, asked := words[0], words[2:]
	if asked[0] == c.cmd.name {
		return c.misuse("its command is expect again; expected one that prints something, such as get or explain")
	}
	output, err := c.command(item{line: c.line, text: strings.Join(asked, " "), words: asked})
	if err != nil {
		return unmet(err.Error())
	}
	got, want := strings.Join(strings.Fields(output), " "), strings.Join(strings.Fields(text), " ")
	found := Expectation{File: c.file, Line: c.line, Command: strings.Join(asked, " "), Output: output, Want: fmt.Sprintf("%q", text)}
	switch mode {
	case "":
		found.Met = strings.Contains(got, want)
	case "no":
		found.Met = !strings.Contains(got, want)
		found.Want = "no " + found.Want
	case "only":
		found.Met = got == want
		found.Want = "only " + found.Want
	}
	if told := c.session.options.Expected; told != nil {
		told(found)
		return nil
	}
	if !found.Met {
		return unmet(found.String())
	}
	return nil
}
