package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/learn"
)

// learnFolder is the folder to learn in unless the command line names one.
const learnFolder = "storagesim-learn"

// learnOptions are the flags of learn.
type learnOptions struct {
	check, exercise, lang string
	verify                bool
}

func newLearn() *cobra.Command {
	var o learnOptions
	cmd := &cobra.Command{
		Use:   "learn [DIR]",
		Short: "Mend broken clusters, and be told whether they are",
		Long: `learn gives you exercises: a cluster that is broken, files that you may change, and a goal. It lists
them, writes the files of the next one into a folder of its own in DIR (default: ` + learnFolder + `), and plays
them. On a terminal it goes on watching the folder, and plays the exercise each time that a file is
saved. After you have passed it shows the official answer, and why.

  h  a hint        n  the next exercise        enter  play it once more
  l  the list      q  quit

Nothing that you have written is ever overwritten: to begin an exercise anew, rename its folder.
The clusters are simulated, in this process and without a network. Four exercises are in Go: they need Go, and
a folder inside a checkout of storagesim to begin in.

Exit codes: 0 all well, and with --check passed; 1 not passed, or something is wrong; 2 the
command line is wrong; 130 interrupted.`,
		Example: `  storagesim learn
  storagesim learn my-folder --exercise 5
  storagesim learn --check my-folder/05-it-does-not-go-away
  storagesim learn --verify`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usageError{fmt.Errorf("%d folders are named; expected at most one", len(args))}
			case len(args) > 0 && (o.check != "" || o.verify):
				return usageError{fmt.Errorf("%s: --check and --verify take no other folder", args[0])}
			case o.check != "" && o.verify:
				return usageError{errors.New("--check and --verify exclude each other")}
			}
			if len(args) > 0 && args[0] != "" && strings.Trim(args[0], "0123456789") == "" { // as page and museum take a number
				return usageError{fmt.Errorf("%s: a folder is expected here; write --exercise %[1]s to begin with that exercise, "+
					"or ./%[1]s for a folder of that name", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := learn.All()
			if err != nil {
				return err
			}
			checkout, lacking := learn.FindCheckout(".")
			if err := learn.Attach(all, checkout, lacking); err != nil {
				return err
			}
			dir := learnFolder
			if len(args) > 0 {
				dir = args[0]
			}
			l := &learner{out: cmd.OutOrStdout(), width: terminal.Width(cmd.OutOrStdout()), language: languageOf(o.lang, os.Getenv)}
			switch {
			case o.verify:
				return verifyExercises(cmd.Context(), cmd.OutOrStdout(), all)
			case o.check != "":
				return l.checkFolders(cmd.Context(), o.check, all)
			}
			return l.learn(cmd, dir, o.exercise, all)
		},
	}
	cmd.Flags().StringVar(&o.check, "check", "",
		"play the exercise in `FOLDER`, or each exercise of a learner's folder, and say with the exit code whether it passes")
	cmd.Flags().BoolVar(&o.verify, "verify", false, "play all exercises with their starts, answers and wrong answers")
	cmd.Flags().StringVarP(&o.exercise, "exercise", "e", "", "begin with `EXERCISE`, a number or a name, instead of the next that is not passed")
	cmd.Flags().StringVar(&o.lang, "lang", "", "`LANGUAGE` of the texts where an exercise has it, such as en or zh (default: that of LC_ALL, LC_MESSAGES or LANG)")
	return cmd
}

// languageOf returns the language to write in: that of the flag, or of the environment.
func languageOf(flag string, env func(string) string) string {
	if flag != "" {
		return flag
	}
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value := env(name); value != "" {
			language, _, _ := strings.Cut(value, ".")
			language, _, _ = strings.Cut(language, "_")
			return language
		}
	}
	return learn.Default
}

// verifyExercises plays everything that comes with the exercises.
func verifyExercises(ctx context.Context, out io.Writer, all []*learn.Exercise) error {
	result, err := learn.Verify(ctx, out, all)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, result); err != nil {
		return err
	}
	if len(result.Problems) > 0 {
		return fmt.Errorf("%d problems", len(result.Problems))
	}
	return nil
}

// learner is one who learns, at a terminal or not.
type learner struct {
	out      io.Writer
	width    int
	language string
	course   *learn.Course
	now      *learn.Exercise
	keys     bool // keys are read
}

// say prints paragraphs, wrapped.
func (l *learner) say(format string, args ...any) error {
	text := paragraphs(strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
	_, err := io.WriteString(l.out, prose.Wrap(text+"\n", l.width, 0))
	return err
}

// paragraphs returns Markdown with each paragraph on one line.
func paragraphs(text string) string {
	var b strings.Builder
	within := false
	for i, line := range strings.Split(text, "\n") {
		plain := line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "- ")
		switch {
		case i == 0:
		case within && plain:
			b.WriteByte(' ')
		default:
			b.WriteByte('\n')
		}
		b.WriteString(line)
		within = line != "" && !strings.HasPrefix(line, "#")
	}
	return b.String()
}

// show prints text as it is: reports, tables and files.
func (l *learner) show(text string) error {
	_, err := io.WriteString(l.out, strings.TrimRight(text, "\n")+"\n")
	return err
}

// checkFolders plays the exercise of a folder, or each one in it.
func (l *learner) checkFolders(ctx context.Context, dir string, all []*learn.Exercise) error {
	folders, err := exerciseFolders(dir, all)
	if err != nil {
		return err
	}
	failed := 0
	for _, folder := range folders {
		e, notes, err := learn.Identify(folder, all)
		if err != nil {
			return err
		}
		for _, note := range notes {
			if err := l.say("note: %s", note); err != nil {
				return err
			}
		}
		o, err := e.Check(ctx, folder)
		if err != nil {
			return err
		}
		if !o.Passed() {
			failed++
		}
		if err := errors.Join(l.show(folder+": "+verdict(o, e.Words(l.language))), l.show(e.Report(o, l.language))); err != nil {
			return err
		}
	}
	if failed > 0 {
		return quietError{fmt.Errorf("%d of %d not passed", failed, len(folders))}
	}
	return nil
}

// exerciseFolders returns the folder itself, or the folders of exercises in it.
func exerciseFolders(dir string, all []*learn.Exercise) ([]string, error) {
	_, _, err := learn.Identify(dir, all)
	if err == nil {
		return []string{dir}, nil
	}
	var folders []string
	for _, e := range all {
		folder := filepath.Join(dir, e.Name)
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			folders = append(folders, folder)
		}
	}
	if len(folders) == 0 {
		return nil, err
	}
	return folders, nil
}

// verdict says what came of it in a few words.
func verdict(o learn.Outcome, w learn.Words) string {
	if o.Passed() {
		return w.Passed
	}
	if len(o.Goals) == 0 {
		return w.NotPlayed
	}
	return fmt.Sprintf(w.NotYet, o.Met(), len(o.Goals))
}

// learn begins with an exercise, and on a terminal goes on as long as the learner likes.
func (l *learner) learn(cmd *cobra.Command, dir, exercise string, all []*learn.Exercise) error {
	ctx := cmd.Context()
	course, note, err := learn.Open(ctx, dir, all)
	if err != nil {
		return err
	}
	l.course = course
	if note != "" {
		if err := l.say("note: %s", note); err != nil {
			return err
		}
	}
	l.now = course.Next(nil)
	if exercise != "" {
		if l.now, err = findExercise(exercise, all); err != nil {
			return usageError{err}
		}
	}
	in, ok := cmd.InOrStdin().(*os.File)
	screen := terminal.File(l.out)
	if !ok || screen == nil || !term.IsTerminal(int(in.Fd())) {
		return errors.Join(l.list(), l.begin(ctx))
	}
	l.keys = true
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(int(in.Fd()), state) }() // it worked a moment ago
	l.out = rawScreen{screen}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	keys := make(chan byte)
	go readKeys(ctx, in, keys, cancel)
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	if err := errors.Join(l.list(), l.begin(ctx)); err != nil {
		return err
	}
	return l.watch(ctx, keys, ticker.C)
}

// watchEvery is the time between two looks at the learner's files.
const watchEvery = 300 * time.Millisecond

// rawScreen is a terminal in raw mode, on which a line needs a carriage return.
type rawScreen struct{ terminal *os.File }

func (s rawScreen) Write(text []byte) (int, error) {
	if _, err := io.WriteString(s.terminal, strings.ReplaceAll(prose.Printable(string(text)), "\n", "\r\n")); err != nil {
		return 0, err
	}
	return len(text), nil
}

// interrupt is Ctrl-C in raw mode.
const interrupt = 3

// readKeys hands on the keys that are pressed, until the input or ctx ends. Ctrl-C ends what is being played, too.
func readKeys(ctx context.Context, in io.Reader, keys chan<- byte, cancel context.CancelFunc) {
	defer close(keys)
	one := make([]byte, 1)
	for {
		if _, err := in.Read(one); err != nil {
			return
		}
		if one[0] == interrupt {
			cancel()
			return
		}
		select {
		case keys <- one[0]:
		case <-ctx.Done():
			return
		}
	}
}

// watch plays the exercise each time that a file is saved, and does what keys say, until q.
func (l *learner) watch(ctx context.Context, keys <-chan byte, ticks <-chan time.Time) error {
	stamp := l.stamp()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case key, ok := <-keys:
			if !ok {
				return ctx.Err()
			}
			quit, err := l.key(ctx, key)
			if quit || err != nil {
				return err
			}
			stamp = l.stamp()
		case <-ticks:
			if now := l.stamp(); now != stamp {
				stamp = now
				if err := l.check(ctx); err != nil {
					return err
				}
			}
		}
	}
}

// stamp changes when the learner saves a file.
func (l *learner) stamp() string {
	if l.now == nil {
		return ""
	}
	return l.course.Stamp(l.now)
}

// key does what a key says.
func (l *learner) key(ctx context.Context, key byte) (quit bool, err error) {
	switch key {
	case 'q', 4: // Ctrl-D
		return true, l.show(fmt.Sprintf(learn.WordsOf(l.language).Bye, l.course.Dir))
	case 'l':
		return false, l.list()
	case 'n':
		l.now = l.course.Next(l.now)
		return false, l.begin(ctx)
	case 'h':
		return false, l.hint()
	case '\r', '\n':
		return false, l.check(ctx)
	}
	return false, l.say("%s", learn.WordsOf(l.language).Keys)
}

// findExercise finds an exercise by its number or name.
func findExercise(word string, all []*learn.Exercise) (*learn.Exercise, error) {
	var names []string
	for _, e := range all {
		number, name, _ := strings.Cut(e.Name, "-")
		if word == e.Name || word == name || strings.TrimLeft(word, "0") == strings.TrimLeft(number, "0") {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return nil, fmt.Errorf("--exercise: there is no %q%s", word, prose.OneOf(word, names))
}

// list prints all exercises.
func (l *learner) list() error {
	var b strings.Builder
	w, passed := learn.WordsOf(l.language), 0
	for _, e := range l.course.Exercises {
		mark := " "
		if l.course.Passed(e) {
			mark = "x"
			passed++
		}
		number, _, _ := strings.Cut(e.Name, "-")
		fmt.Fprintf(&b, "[%s] %s\n", mark, fmt.Sprintf(w.Line, number, e.Text(l.language).Title, e.Chapter))
		if lacking := e.Lacking(); lacking != nil {
			fmt.Fprintf(&b, "        %v\n", lacking)
		}
	}
	return l.show(b.String() + fmt.Sprintf(w.PassedOf, passed, len(l.course.Exercises)))
}

// begin writes the files of the exercise that the folder lacks, tells the task and plays it.
func (l *learner) begin(ctx context.Context) error {
	if l.now == nil {
		return l.say("\nAll exercises that can be played here are passed. To do one again: storagesim learn %s --exercise NUMBER", l.course.Dir)
	}
	if lacking := l.now.Lacking(); lacking != nil {
		return l.say("\n%s: %v", l.now.Name, lacking)
	}
	written, notes, err := l.course.Begin(l.now, l.language)
	if err != nil {
		return err
	}
	if err := l.say("\n%s", l.now.Task(l.language)); err != nil {
		return err
	}
	w := l.now.Words(l.language)
	said := w.AsLeft
	if len(written) > 0 {
		said = strings.Join(l.now.Files(), ", ")
	}
	err = l.show("\n" + fmt.Sprintf(w.Files, l.course.Folder(l.now), said, l.now.Chapter))
	for _, note := range notes {
		err = errors.Join(err, l.say("note: %s", note))
	}
	return errors.Join(err, l.check(ctx))
}

// check plays the exercise and tells what came of it; if it passes, with the official answer.
func (l *learner) check(ctx context.Context) error {
	if l.now == nil {
		return nil
	}
	o, err := l.course.Check(ctx, l.now)
	if err != nil {
		return err
	}
	number, _, _ := strings.Cut(l.now.Name, "-")
	if err := errors.Join(l.show("\n== "+number+": "+verdict(o, l.now.Words(l.language))), l.show(l.now.Report(o, l.language))); err != nil {
		return err
	}
	if o.Passed() {
		err = l.answer()
	}
	if l.keys {
		err = errors.Join(err, l.say("\n%s", learn.WordsOf(l.language).Keys))
	}
	return err
}

// answer shows the official answer, and what to take away.
func (l *learner) answer() error {
	var b strings.Builder
	answer := l.now.Answer()
	for _, name := range slices.Sorted(maps.Keys(answer)) {
		fmt.Fprintf(&b, "\n%s\n\n    %s\n", fmt.Sprintf(l.now.Words(l.language).Answer, name),
			strings.ReplaceAll(strings.TrimRight(answer[name], "\n"), "\n", "\n    "))
	}
	return errors.Join(l.show(b.String()), l.say("\n%s", l.now.Text(l.language).TakeAway))
}

// hint tells the next hint.
func (l *learner) hint() error {
	if l.now == nil {
		return nil
	}
	hint, number, of, err := l.course.Hint(l.now, l.language)
	if err != nil {
		return err
	}
	return l.say("\n%s", fmt.Sprintf(l.now.Words(l.language).HintOf, number, of, hint))
}
