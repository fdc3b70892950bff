package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/story"
)

// The exit codes, besides 0.
const (
	exitError = 1 // something is wrong with the input, or went wrong
	exitUsage = 2 // the command line is

	exitNotThere    = 3 // run: an object does not reach the state that --wait waits for in time
	exitUpstream    = 4 // explore: a run fails through a bug of Kubernetes itself
	exitNotReached  = 5 // explore: the replay line does not fit the manifests
	exitNotRepeated = 6 // explore: the scenario behaves differently when a run is repeated
)

// usageError is an error of the command line.
type usageError struct{ error }

// quietError is an error that was printed already.
type quietError struct{ error }

// codedError is an error with an exit code of its own.
type codedError struct {
	error
	code int
}

// Unwrap returns the error.
func (c codedError) Unwrap() error { return c.error }

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	errOut = terminal.Lines(errOut)
	root.SetArgs(args)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root && !strings.HasPrefix(args[0], "-") {
			return root.Args(root, args) // the flags of a command that is misspelt are not the mistake
		}
		return usageError{flagError(cmd, err)}
	})
	root.SetIn(in)
	root.SetOut(terminal.Writer(out))
	root.SetErr(errOut)
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) { wrapErrors(cmd) }
	cmd, err := root.ExecuteContextC(ctx)
	errOut = cmd.ErrOrStderr()
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usageError{}):
		fmt.Fprintf(errOut, "error: %s\nSee '%s -h'.\n", prose.Printable(err.Error()), cmd.CommandPath())
		return exitUsage
	case errors.As(err, &quietError{}), errors.Is(err, context.Canceled), errors.Is(err, syscall.EPIPE):
	default:
		fmt.Fprintln(errOut, "error:", prose.Printable(err.Error()))
	}
	if coded, ok := errors.AsType[codedError](err); ok {
		return coded.code
	}
	return exitError
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "storagesim",
		Short: "The Kubernetes storage control plane in one process",
		Long: `storagesim runs the Kubernetes storage control plane in one process: an API
server's semantics, the PV controller, the scheduler's volume binder, external
provisioners and a kubelet per node. There is no cluster, nothing to install, and
nothing runs as root. Time is virtual: ten minutes pass in an instant, and the
same input gives the same output, to the byte.

The disks of the nodes are in memory. With run --keep DIR they are directories on this
machine, one for each node, and nothing in a manifest can reach outside them.`,
		Example: `  # Apply manifests, let the cluster come to rest, tell the story and show the tables.
  storagesim run -f class.yaml -f claim.yaml -f pod.yaml --nodes node-1,node-2

  # Play a story: a script of commands with what they print.
  storagesim story openebs.txt

  # Offer a cluster to kubectl, sixty times faster than real time.
  storagesim serve --nodes node-1,node-2 --speed 60x

  # Compare the simulation with recordings of a real control plane.
  storagesim conformance recordings/`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var names []string
			for _, sub := range cmd.Commands() {
				if !sub.Hidden {
					names = append(names, sub.Name())
				}
			}
			if slices.Contains(story.Commands(), args[0]) {
				return usageError{fmt.Errorf("%q is a command of stories: write it into a script, and play that with storagesim story", args[0])}
			}
			return usageError{fmt.Errorf("unknown command %q%s", args[0], prose.OneOf(args[0], names))}
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.Version = version()
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(newHelp())
	root.AddCommand(newRun(), newExplore(), newMuseum(), newStory(), newShell(), newLearn(), newPage(), newServe(), newStep(), newSettle(),
		newRunFor(), newExplain(), newControl(), newConformance(), newVersion())
	return root
}

// newHelp returns cobra's command help, which would print the help of storagesim for a command that there is not.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		Long:  "Print the help of a command, as its flag -h does.",
		RunE: func(help *cobra.Command, args []string) error {
			root := help.Root()
			cmd, rest, err := root.Find(args)
			if err != nil || cmd == root {
				if err := root.Args(root, rest); err != nil {
					return err
				}
				cmd = root
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// flagError says what a flag should have been instead of how reading it failed.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return fmt.Errorf("%w%s", err, suggestFlag(cmd, unknown.GetSpecifiedName()))
	}
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	flag := wrong.GetFlag()
	expected := map[string]string{
		"duration": "a time such as 90s, 6m or 1h30m, at most 2562047h", "uint64": "a whole number such as 7, at most 18446744073709551615",
		"int":     "a whole number such as 7, at most 9223372036854775807",
		"float32": "a number such as 50 or 0.5", "bool": "true or false",
	}[flag.Value.Type()]
	if expected == "" {
		return err
	}
	return fmt.Errorf("--%s %q is not %s", flag.Name, wrong.GetValue(), expected)
}

// absentFlag begins an annotation of a command: of a flag that one may look for in it and that it does not have, what to do instead.
const absentFlag = "instead of --"

// suggestFlag suggests the flag nearest to name, by its long name, or says what there is instead of it.
func suggestFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	for key := range cmd.Annotations {
		if absent, ok := strings.CutPrefix(key, absentFlag); ok {
			names = append(names, "--"+absent)
		}
	}
	if instead, ok := cmd.Annotations[absentFlag+strings.TrimPrefix(cmp.Or(prose.Nearest("--"+name, names), name), "--")]; ok {
		return " (" + instead + ")"
	}
	return prose.DidYouMean("--"+name, names)
}
