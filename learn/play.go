package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/storagesim/storagesim/explain"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/story"
)

// What a learner's files may have. More is refused with words, so that an exercise always ends.
const (
	// MaxFile is the number of bytes of a file.
	MaxFile = 64 << 10
	// MaxCommands is the number of lines of a mend.story.
	MaxCommands = 500
	// MaxTime is the virtual time that one run-for may let pass.
	MaxTime = 24 * time.Hour
)

// looking returns the commands that each mend.story may have: those that look, and those that let time pass.
func looking() []string {
	return []string{"get", "describe", "events", "explain", "trace", "logs", "ls", "read", "leaks", "settle", "run-for"}
}

// Outcome holds the results of playing an exercise.
type Outcome struct {
	// Goals are the lines of the goal, in order.
	Goals []Goal
	// Problems are errors in the learner's files. With one of them nothing is passed, even if the goals are met.
	Problems []string
	// Refused are commands and manifests that the cluster refused, with its words.
	Refused []string
	// Transcript is the learner's mend.story with what it printed; empty if it has no commands.
	Transcript string
	// Look holds the output of get and events for the objects of the exercise, in the end.
	Look string

	code explain.Code // the verdict on the first of them after the start
}

// Goal is a line of the goal.
type Goal struct {
	Met bool
	// Got says what was looked at and what was found there, if the goal is not met.
	Got string

	found any // what Got is made of: a story.Expectation or a misguess; nil if there is Got alone
}

// misguess is a guess that is not right: a name and what it stands for, "" if nothing.
type misguess struct{ name, made string }

// in returns Got with words of a language around it.
func (g Goal) in(w Words) string {
	switch found := g.found.(type) {
	case story.Expectation:
		return printed(found, w)
	case misguess:
		if found.made == "" {
			return fmt.Sprintf(w.Unguessed, GuessFile, found.name)
		}
		return fmt.Sprintf(w.Misguessed, GuessFile, found.name, found.made)
	}
	return g.Got
}

// Passed reports whether everything is mended.
func (o Outcome) Passed() bool {
	return len(o.Problems) == 0 && len(o.Goals) > 0 && !slices.ContainsFunc(o.Goals, func(g Goal) bool { return !g.Met })
}

// Met returns the number of goals that are met.
func (o Outcome) Met() (n int) {
	for _, g := range o.Goals {
		if g.Met {
			n++
		}
	}
	return n
}

// Play plays the exercise with a learner's files, which is only read, and only files that the learner was given. The error is
// ctx's, or one of the exercise itself.
func (e *Exercise) Play(ctx context.Context, files fs.FS) (Outcome, error) {
	return e.play(ctx, files, 0)
}

// play plays the exercise, and lets some time pass before it looks at the goal.
func (e *Exercise) play(ctx context.Context, files fs.FS, wait time.Duration) (o Outcome, err error) {
	if e.golang != "" {
		return e.playGo(ctx, files, wait)
	}
	own, problems := e.read(files)
	o.Problems = problems
	var expected []story.Expectation
	watched := &o.Refused
	sh := story.NewShell(ctx, story.Options{
		Files: only{own}, MostTime: MaxTime, Width: reportWidth,
		Expected: func(x story.Expectation) { expected = append(expected, x) },
		Refused: func(file string, line int, problem string) {
			if watched != nil {
				*watched = append(*watched, fmt.Sprintf("%s:%d: %s", file, line, problem))
			}
		},
	})
	defer func() { err = errors.Join(err, sh.Close()) }()
	var start strings.Builder
	if err := sh.Play(&start, startStory, e.start); err != nil {
		return o, e.broken(err)
	}
	if why, err := sh.Cluster().Lab().Explanation(e.about[0]); err == nil {
		o.code = why.Verdict.Code
	}
	if err := e.mend(ctx, sh, own, &o); err != nil {
		return o, err
	}
	watched = nil
	if wait > 0 {
		if _, err := sh.Do(fmt.Sprintf("run-for %s quiet", wait)); err != nil {
			return o, err
		}
	}
	guesses, problem := readGuesses(own[GuessFile])
	if problem != "" {
		o.Problems = append(o.Problems, problem)
	}
	var check strings.Builder
	filled := guess.ReplaceAllStringFunc(e.check, func(word string) string { return cmp.Or(guesses[word[1:]], unknown) })
	if err := sh.Play(&check, checkStory, filled); err != nil {
		return o, e.broken(err)
	}
	o.Goals = e.goals(expected, guesses)
	o.Look, err = e.look(sh)
	return o, err
}

// reportWidth is the number of columns of what is told.
const reportWidth = 100

// broken returns the error of an exercise whose own stories cannot be played.
func (e *Exercise) broken(err error) error { return fmt.Errorf("exercise %s: %w", e.Name, err) }

// read returns the learner's files by name, and those given where one is missing. It says what is wrong with them.
func (e *Exercise) read(files fs.FS) (own map[string]string, problems []string) {
	own = map[string]string{}
	for _, name := range e.Files() {
		info, err := fs.Stat(files, name)
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("%s; storagesim learn writes it anew if you take what is left of it out of the way", missing(name, err)))
			continue
		case !info.Mode().IsRegular():
			problems = append(problems, fmt.Sprintf("%s: expected a plain file", name))
			continue
		case info.Size() > MaxFile:
			problems = append(problems, fmt.Sprintf("%s: %d bytes; expected at most %d", name, info.Size(), MaxFile))
			continue
		}
		data, err := fs.ReadFile(files, name)
		if err != nil {
			problems = append(problems, missing(name, err).Error())
			continue
		}
		own[name] = string(normal(data))
		if e.isFixed(name) && strings.TrimSpace(own[name]) != strings.TrimSpace(e.given[name]) {
			problems = append(problems, fmt.Sprintf("%s: it is changed; here only %s can be mended. Take the file out of the way, and storagesim learn writes it anew",
				name, strings.Join(e.Yours, " and ")))
		}
	}
	return own, problems
}

// isFixed reports whether a file is as it is: the text calls it right, or the exercise is to say what comes of it.
func (e *Exercise) isFixed(name string) bool {
	return len(e.Yours) > 0 && name != MendStory && !slices.Contains(e.Yours, name)
}

// mend plays the learner's commands.
func (e *Exercise) mend(ctx context.Context, sh *story.Shell, own map[string]string, o *Outcome) error {
	text := own[MendStory]
	if n := strings.Count(text, "\n"); n > MaxCommands {
		o.Problems = append(o.Problems, fmt.Sprintf("%s: %d lines; expected at most %d", MendStory, n, MaxCommands))
		return nil
	}
	var played strings.Builder
	err := sh.Play(&played, MendStory, text, slices.Concat(e.Commands, looking())...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		o.Problems = append(o.Problems, err.Error())
	}
	if strings.Contains(played.String(), "----\n") {
		o.Transcript = strings.Trim(uncommented(played.String()), "\n")
	}
	return nil
}

// uncommented returns a story without the comments at its beginning, which explain it to the learner.
func uncommented(text string) string {
	lines := strings.Split(text, "\n")
	for len(lines) > 0 && (lines[0] == "" || strings.HasPrefix(lines[0], "#")) {
		lines = lines[1:]
	}
	return strings.Join(lines, "\n")
}

// unknown is a guess that the learner has not made.
const unknown = "?"

// guessWord matches a guess: a word without blanks and quotes.
var guessWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]*$`)

// readGuesses reads guess.yaml and returns the guesses that the learner has made, by their names. Those left out, and those that are
// still "?", are not among them.
func readGuesses(text string) (guesses map[string]string, problem string) {
	guesses = map[string]string{}
	if text == "" {
		return guesses, ""
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		if strings.Contains(text, "：") {
			return guesses, GuessFile + ": it has a full-width colon ：; expected lines with a plain one and a space, such as volume: data-1"
		}
		return guesses, fmt.Sprintf("%s:%s; expected lines such as volume: data-1", GuessFile, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "line "))
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := fmt.Sprint(values[name])
		switch {
		case value == unknown || values[name] == nil:
		case guessWord.MatchString(value):
			guesses[name] = value
		default:
			problem = fmt.Sprintf("%s: %s: %q is not one word of letters, digits, and . _ : / -", GuessFile, name, value)
		}
	}
	return guesses, problem
}

// goals returns what came of each line of the goal. A guess that is wrong is not corrected.
func (e *Exercise) goals(expected []story.Expectation, guesses map[string]string) []Goal {
	goals := make([]Goal, len(e.expects))
	for i, l := range e.expects {
		at := slices.IndexFunc(expected, func(x story.Expectation) bool { return x.Line == l.number })
		if at < 0 {
			continue
		}
		x := expected[at]
		goals[i].Met = x.Met
		switch {
		case x.Met:
		case len(l.guesses) == 0:
			goals[i].found = x
		default:
			for _, name := range l.guesses {
				goals[i].found = misguess{name, guesses[name]}
			}
		}
		goals[i].Got = goals[i].in(WordsOf(Default))
	}
	return goals
}

// printed says what a command has printed.
func printed(x story.Expectation, w Words) string {
	output := cut(strings.TrimSpace(x.Output))
	if output == "" {
		output = w.Nothing
	}
	begin := fmt.Sprintf(w.Prints, x.Command)
	if strings.Contains(output, "\n") {
		return strings.TrimRight(begin, " ") + "\n" + output
	}
	return strings.TrimRight(prose.Wrap(begin+output, reportWidth-6, 2), "\n")
}

// longest is the number of bytes of an output that a goal quotes at most.
const longest = 400

// cut returns the beginning of a text that is too long.
func cut(text string) string {
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "..."
	}
	return text
}

// look returns what get and events print of the objects that the exercise is about.
func (e *Exercise) look(sh *story.Shell) (string, error) {
	var all []string
	if _, guesses := e.given[GuessFile]; guesses {
		return "", nil // it would tell the answer
	}
	if e.explain != "" {
		why, err := sh.Cluster().Explain(e.explain)
		if err != nil {
			why = err.Error()
		}
		why, _, _ = strings.Cut(why, "\nevents\n") // these are told below
		why = strings.TrimRight(prose.Wrap(sh.Cluster().Trace().ShortIDs(why), reportWidth-4, 4), "\n")
		all = append(all, "> explain "+e.explain+"\n"+why)
	}
	for _, ref := range e.about {
		commands := []string{"get " + ref}
		if strings.Contains(ref, "/") {
			commands = append(commands, "events --for "+ref)
		}
		for _, command := range commands {
			printed, err := sh.Do(command)
			if err != nil {
				return "", e.broken(err)
			}
			if text := strings.TrimSpace(printed); !strings.HasPrefix(text, "No events found") {
				all = append(all, "> "+command+"\n"+text)
			}
		}
	}
	return strings.Join(all, "\n"), nil
}

// Report says what came of it, with the lines of the goal in a language.
func (e *Exercise) Report(o Outcome, language string) string {
	var b strings.Builder
	t, w := e.Text(language), e.Words(language)
	for _, p := range o.Problems {
		fmt.Fprintf(&b, "%s%s\n", w.Mistake, indented(p))
	}
	for _, r := range o.Refused {
		fmt.Fprintf(&b, "%s%s\n", w.Refused, indented(r))
	}
	for i, g := range o.Goals {
		mark := "[ ]"
		if g.Met {
			mark = "[x]"
		}
		fmt.Fprintf(&b, "%s %s\n", mark, t.Goal[i])
		if got := g.in(w); !g.Met && got != "" {
			fmt.Fprintf(&b, "      %s\n", strings.ReplaceAll(got, "\n", "\n      "))
		}
	}
	if o.Transcript != "" {
		fmt.Fprintf(&b, "\n%s\n\n%s\n", fmt.Sprintf(w.Played, MendStory), indent(o.Transcript))
	}
	if !o.Passed() && o.Look != "" {
		fmt.Fprintf(&b, "\n%s\n", indent(o.Look))
	}
	return b.String()
}

// indented indents the lines of a text after the first.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

// indent indents the lines of a text.
func indent(text string) string { return "    " + indented(text) }
