package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/story"
)

// storyOptions are the flags of story.
type storyOptions struct {
	write, check bool
	seed         uint64
	width        int
	allow        []string
	output       string
	filter       filterOptions
}

func newStory() *cobra.Command {
	var o storyOptions
	cmd := &cobra.Command{
		Use:   "story FILE...",
		Short: "Play story scripts and print what they print",
		Long: `story plays scripts: text files of commands that read like kubectl's, plus time
(settle, run-for) and faults (crash, fail). Each command is followed by ---- and,
up to an empty line, by what it printed; playing a script fills that in anew, and
adds the ---- that are missing. "! command" is for one that must fail.

  # Comments say what to look for.
  apply
  apiVersion: v1
  kind: PersistentVolumeClaim
  ...
  ----
  persistentvolumeclaim/data created

  settle
  ----
    0:00:00  user                      creates pvc default/data
             persistent-volume-binder  says of pvc default/data: ...

Files that a script names are looked for beside it, and nowhere else unless
--allow-files says so. A script with nothing but
"help" in it explains all commands:

  printf 'help\n----\n' | storagesim story -

A fault that struck nothing is told at the end. Exit codes: 0 all well; 1 a script is
wrong or, with --check, its outputs are, or a fault in it struck nothing; 2 the command
line is wrong; 130 interrupted.`,
		Example: `  # Play a script and read along.
  storagesim story openebs.txt

  # Write a script without outputs, have them filled in, and read them.
  storagesim story -w mine.txt

  # A page of it, whose chapters are the script's comments and commands.
  storagesim story mine.txt -o html > page.html

  # Find out whether everything still is as the scripts say.
  storagesim story --check *.txt`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("nothing to play: name the file of a script, or - for standard input")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			if o.width != 0 && o.width < terminal.LeastWidth {
				return usageError{badWidth(o.width)}
			}
			if o.write && o.check {
				return usageError{errors.New("-w and --check exclude each other")}
			}
			if (o.write || o.check) && o.filter.set() {
				return usageError{errors.New("--about and --actor leave things out, and -w and --check are about the whole story")}
			}
			if err := o.checkOutput(cmd.OutOrStdout(), files); err != nil {
				return usageError{err}
			}
			for _, file := range files {
				if err := o.play(cmd, file); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&o.write, "write", "w", false, "write the outputs into the files instead of printing them")
	cmd.Flags().BoolVar(&o.check, "check", false, "print nothing and fail if an output differs from the file's")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FORMAT` of the output: "+strings.Join(viewFormats(), ", ")+" (default: the script with its outputs)")
	o.filter.add(cmd.Flags())
	cmd.Flags().IntVar(&o.width, "width", 0, widthHelp)
	cmd.Flags().StringArrayVar(&o.allow, "allow-files", nil, "let scripts read manifests in `DIR` besides their own folder; may be repeated")
	cmd.Flags().Uint64Var(&o.seed, "seed", 0, "seed of the order of events, instead of the script's own")
	return cmd
}

func (o storyOptions) play(cmd *cobra.Command, file string) (err error) {
	script, err := readScript(file, cmd.InOrStdin())
	if err != nil {
		return err
	}
	options := story.Options{Seed: o.seed, Width: o.width, AllowFiles: o.allow}
	switch wide := cmd.Flags().Changed("width"); {
	case wide && o.width == 0:
		options.Width = -1
	case !wide && !o.write && !o.check:
		options.Width = terminal.TableWidth(cmd.OutOrStdout())
	}
	only, err := o.filter.seen()
	if err != nil {
		return usageError{err}
	}
	options.Keep = only.chosen()
	name := file
	if file == "-" {
		name = "standard input"
	}
	var missed []string
	options.Missed = func(fault string) { missed = append(missed, fault) }
	defer func() { err = o.tellMissed(cmd, name, missed, err) }()
	if o.output != "" {
		return o.view(cmd, file, name, script, options)
	}
	if !o.write && !o.check {
		options.WrapComments = options.Width > 0
		return errors.Join(story.Play(cmd.Context(), cmd.OutOrStdout(), name, script, options), only.check())
	}
	var played bytes.Buffer
	err = story.Play(cmd.Context(), &played, name, script, options)
	if o.write {
		wrong, ok := errors.AsType[*story.Error](err)
		if err != nil && (!ok || played.Len() == 0) {
			return err
		}
		if ok { // what comes after it stays as it was
			lines := strings.SplitAfter(plainLines(script), "\n")
			played.WriteString(strings.Join(lines[wrong.Line-1:], ""))
		}
		text := played.String()
		if strings.Contains(script, "\r\n") { // as the editor wrote it: else each line of the file would differ
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		if file == "-" {
			_, err2 := io.WriteString(cmd.OutOrStdout(), text)
			return errors.Join(err, err2)
		}
		return errors.Join(err, os.WriteFile(file, []byte(text), 0o644))
	}
	if err != nil {
		return err
	}
	return firstDifference(name, plainLines(script), played.String())
}

// tellMissed tells of faults that struck nothing, which is an error with --check: a script that shows a fault shows nothing then.
func (o storyOptions) tellMissed(cmd *cobra.Command, name string, missed []string, err error) error {
	for _, fault := range missed {
		if o.check {
			err = errors.Join(err, fmt.Errorf("%s: a fault struck nothing: %s", name, fault))
			continue
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s: a fault struck nothing: %s\n", name, fault)
	}
	return err
}

// readScript reads a script. An empty one is a mistake: a redirection that failed, or the wrong file.
func readScript(file string, in io.Reader) (string, error) {
	name, read := file, manifest.ReadFile
	if file == "-" {
		name, read = "standard input", func(name string) ([]byte, error) { return manifest.ReadAll(name, in) }
	}
	data, err := read(name)
	if err == nil && len(bytes.TrimSpace(data)) == 0 {
		err = fmt.Errorf("%s: is empty; expected at least one command", name)
	}
	return string(data), err
}

// plainLines returns a script without what editors on Windows write: a byte order mark, and line ends of two characters. It is played so.
func plainLines(script string) string {
	return strings.ReplaceAll(strings.TrimPrefix(script, "\ufeff"), "\r\n", "\n")
}

// firstDifference returns an error with the first line in which the outputs differ.
func firstDifference(file, want, got string) error {
	wanted, gotten := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(wanted), len(gotten)) {
		w, g := lineAt(wanted, i), lineAt(gotten, i)
		if w != g {
			return fmt.Errorf("%s:%d: the output is no longer what the file says\n- %s\n+ %s", file, i+1, w, g)
		}
	}
	return nil
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}
