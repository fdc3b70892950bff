package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/story"
)

// shellCommands are the commands of the prompt itself, with their help.
var shellCommands = []struct{ name, usage, help string }{
	{"back", "back [STEPS]", "go back to before the last command, or so many steps, and go on differently"},
	{"save", "save FILE [--force]", "write the commands so far as a story, with what they printed"},
	{"exit", "exit", "end; so does the end of the input (Ctrl-D)"},
}

func newShell() *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "shell [-f FILE]... [SETTING=VALUE]...",
		Short: "Talk to a cluster, a command at a time, and go back",
		Long: `shell reads commands of stories and plays each at once: apply, get, settle, step, crash,
explain and so on; help lists them. Nothing moves by itself: settle, step and run-for let
something happen. Settings are those of the story's command cluster: nodes=a,b, csi=NAME,
seed=N and so on. Without provisioners=, the provisioners run that the manifests' classes name.

  back        go back to before the last command
  back N      go N steps of the cluster back, and go on differently
  save FILE   write a story that plays the same again

Going back plays the run again from its seed, which takes as long as the first time.
Input of a command, such as the YAML of apply, ends at an empty line or at ----.
On a terminal, Tab completes commands, actors and objects, and the arrow keys find earlier
lines.`,
		Example: `  storagesim shell -f manifests/
  storagesim shell nodes=n1,n2,n3 csi=disk.example.com
  printf 'get nodes\nsettle\n' | storagesim shell`,
		Args: func(_ *cobra.Command, args []string) error {
			for _, arg := range args {
				if !strings.Contains(arg, "=") {
					return usageError{fmt.Errorf("%q is not a setting such as nodes=n1,n2; manifests are named with -f", arg)}
				}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runShell(cmd, files, args)
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "`FILE` or directory with manifests to apply first, - for standard input; may be repeated")
	return cmd
}

// runShell reads and plays commands until the input ends.
func runShell(cmd *cobra.Command, files, settings []string) (err error) {
	out := cmd.OutOrStdout()
	options := story.Options{Width: terminal.TableWidth(out), RecordValues: true}
	for _, c := range shellCommands {
		options.MoreCommands = append(options.MoreCommands, c.name)
	}
	sh := prompt{out: out, Shell: story.NewShell(cmd.Context(), options)}
	defer func() { err = errors.Join(err, sh.Close()) }()
	if err := sh.begin(files, settings, cmd.InOrStdin(), cmd.ErrOrStderr()); err != nil {
		return err
	}
	lines, end := linesOf(cmd.InOrStdin(), out, sh.complete)
	defer end()
	return sh.loop(cmd.Context(), lines)
}

// prompt is a shell with the commands of its own.
type prompt struct {
	*story.Shell
	out io.Writer
}

// begin makes the cluster and applies manifests.
func (p *prompt) begin(files, settings []string, in io.Reader, errOut io.Writer) error {
	var objects []manifest.Object
	if len(files) > 0 {
		var err error
		if objects, err = readAll(manifest.Reader{}, files, in, errOut); err != nil {
			return err
		}
		tellGaps(errOut, slices.DeleteFunc(slices.Clone(objects), warnedOf))
	}
	// The provisioners that the classes name run, as those of `run` do.
	var drivers []string
	for _, setting := range settings {
		if driver, ok := strings.CutPrefix(setting, "csi="); ok {
			drivers = append(drivers, driver)
		}
	}
	names := named(objects, drivers)
	if len(names) > 0 && !slices.ContainsFunc(settings, func(s string) bool { return strings.HasPrefix(s, "provisioners=") }) {
		settings = append(settings, "provisioners="+strings.Join(names, ","))
	}
	if len(settings) > 0 {
		if err := p.do(strings.Join(append([]string{"cluster"}, settings...), " ")); err != nil {
			return usageError{err}
		}
	}
	if len(objects) == 0 {
		return nil
	}
	input, err := inputOf(objects)
	if err != nil {
		return err
	}
	return p.do("apply", input...)
}

// warnedOf reports whether the server itself warns of an object in the output of apply: it asks no webhooks in a shell, and evaluates no admission policies.
func warnedOf(obj manifest.Object) bool { return obj.Resource.Group == admissionv1.GroupName }

// inputOf returns objects as the input of a command, so that a story of it needs no file.
func inputOf(objects []manifest.Object) (lines []string, err error) {
	for i, obj := range objects {
		text, err := yaml.JSONToYAML(obj.JSON)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			lines = append(lines, "---")
		}
		lines = append(lines, strings.Split(strings.TrimRight(string(text), "\n"), "\n")...)
	}
	return lines, nil
}

// do plays a command and prints what it prints.
func (p *prompt) do(line string, input ...string) error {
	output, err := p.Do(line, input...)
	if err != nil {
		return err
	}
	return p.print(output)
}

func (p *prompt) print(text string) error {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(p.out, text)
	return err
}

// reader reads a line after it has shown a prompt. The error at the end is io.EOF.
type reader func(prompt string) (string, error)

// loop plays what is read. A mistake is told, and the next line is read.
func (p *prompt) loop(ctx context.Context, read reader) error {
	for {
		line, err := read("> ")
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		ends, err := p.line(ctx, line, read)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case ends:
			return err
		case err != nil:
			if err := p.print("error: " + prose.Printable(err.Error())); err != nil {
				return err
			}
		}
	}
}

// line plays a line, and says whether it was the last.
func (p *prompt) line(ctx context.Context, line string, read reader) (ends bool, err error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return false, nil
	}
	switch words[0] {
	case "exit", "quit":
		return true, nil
	case "back":
		return false, p.back(words[1:])
	case "save":
		return false, p.save(ctx, words[1:])
	case "help":
		if own := helpOf(words[1:]); own != "" {
			return false, p.print(own)
		}
	}
	var input []string
	if story.NeedsInput(line) {
		for {
			more, err := read("... ")
			if err != nil && !errors.Is(err, io.EOF) {
				return true, err
			}
			if err != nil || more == "----" || strings.TrimSpace(more) == "" {
				break
			}
			input = append(input, more)
		}
	}
	if err := p.do(line, input...); err != nil {
		if ctx.Err() != nil {
			return false, err
		}
		// It is wrapped as what commands print. Other mistakes may have a command to copy.
		return false, p.print(prose.Wrap("error: "+prose.Printable(err.Error()), terminal.Width(p.out), 4))
	}
	if len(words) == 1 && words[0] == "help" {
		for _, c := range shellCommands {
			if err := p.print(fmt.Sprintf("%-12s %s", c.name, c.help)); err != nil {
				return true, err
			}
		}
	}
	return false, nil
}

// helpOf explains a command of the prompt; empty if it is none.
func helpOf(words []string) string {
	for _, c := range shellCommands {
		if len(words) == 1 && words[0] == c.name {
			return c.usage + "\n    " + c.help + "\n"
		}
	}
	return ""
}

func (p *prompt) back(words []string) error {
	if len(words) > 1 {
		return errors.New("back: expected a number of steps, or none for the last command")
	}
	if len(words) == 0 {
		line, err := p.BackOne()
		if err != nil {
			return err
		}
		return p.print("back to before: " + line)
	}
	n, err := strconv.ParseUint(words[0], 10, 64)
	if err != nil || n == 0 {
		return fmt.Errorf("back: %q is not a number of steps such as 3", words[0])
	}
	line, err := p.Back(n)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("%d steps back", n)
	if line != "" {
		said += "; the last command is now: " + line
	}
	return p.print(said)
}

func (p *prompt) save(ctx context.Context, words []string) error {
	force := len(words) == 2 && words[1] == "--force"
	if len(words) != 1 && !force {
		return errors.New("save: expected the name of one file; usage: save FILE [--force]")
	}
	var played strings.Builder // in the columns of a file, whatever the terminal has
	if err := story.Play(ctx, &played, words[0], p.Script(), story.Options{}); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(words[0], flags, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("save: %s exists already; save %s --force replaces it", words[0], words[0])
	}
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("save: there is no directory %s", filepath.Dir(words[0]))
	}
	if err != nil {
		return fmt.Errorf("save: %w", manifest.Plainly(words[0], err))
	}
	_, err = io.WriteString(file, played.String())
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	return p.print(words[0] + " is written; storagesim story --check " + words[0] + " plays it")
}

// complete completes the last word of a line as far as that is clear, and returns the words that are possible if it is not.
func (p *prompt) complete(line string) (completed string, possible []string) {
	words := p.Complete(line)
	begin := strings.LastIndexAny(line, " \t") + 1
	if begin == 0 {
		for _, c := range shellCommands {
			if strings.HasPrefix(c.name, line) {
				words = append(words, c.name)
			}
		}
	}
	switch len(words) {
	case 0:
		return line, nil
	case 1:
		return line[:begin] + words[0] + " ", nil
	}
	common := words[0]
	for _, word := range words {
		for !strings.HasPrefix(word, common) {
			common = common[:len(common)-1]
		}
	}
	return line[:begin] + common, words
}

// linesOf returns what reads lines: with history and completion from a terminal, else plainly and without a prompt. end must be called at the end.
func linesOf(in io.Reader, out io.Writer, complete func(string) (string, []string)) (read reader, end func()) {
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) || !terminal.Is(out) {
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, 1<<20)
		return func(string) (string, error) {
			if scanner.Scan() {
				return strings.TrimSuffix(scanner.Text(), "\r"), nil
			}
			if err := scanner.Err(); err != nil {
				return "", err
			}
			return "", io.EOF
		}, func() {}
	}
	fd := int(file.Fd())
	screen := terminal.File(out) // the editor moves the cursor, for which it needs the terminal itself
	editor := term.NewTerminal(readWriter{file, screen}, "")
	editor.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' || pos != len(line) {
			return "", 0, false
		}
		completed, possible := complete(line)
		if completed == line && len(possible) > 1 {
			fmt.Fprintln(editor, prose.Printable(strings.Join(possible, "  ")))
		}
		return completed, len(completed), true
	}
	return func(prompt string) (string, error) { // raw only while a line is read, so that Ctrl-C ends a long settle
		state, err := term.MakeRaw(fd)
		if err != nil {
			return "", err
		}
		defer func() { _ = term.Restore(fd, state) }() // it worked a moment ago
		if width, height, err := term.GetSize(fd); err == nil && width > 0 {
			_ = editor.SetSize(width, height)
		}
		editor.SetPrompt(prompt)
		line, err := editor.ReadLine()
		if errors.Is(err, term.ErrPasteIndicator) {
			err = nil
		}
		return line, err
	}, func() {}
}

// readWriter is a terminal.
type readWriter struct {
	io.Reader
	io.Writer
}
