package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/explore/museum"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/terminal"
)

func newMuseum() *cobra.Command {
	var fixed, find bool
	var runs int
	var output string
	var filter filterOptions
	cmd := &cobra.Command{
		Use:   "museum [NUMBER]",
		Short: "Show bugs of the past, with their fixes taken out",
		Long: `museum lists the bugs that it can show. With the number of one it plays the shortest
run that the bug breaks, with the fix taken out, and prints its story.

Exit codes: 0 nothing was broken; 1 a rule was broken; 2 the command line is wrong;
130 interrupted.`,
		Example: `  storagesim museum
  storagesim museum 3
  storagesim museum 3 --fixed
  storagesim museum 3 -o html > page.html
  storagesim museum 3 --find --runs 1000`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags := changed(cmd); len(args) == 0 && len(flags) > 0 {
				return usageError{fmt.Errorf("--%s: it is about an exhibit; name the NUMBER of one", flags[0])}
			}
			if len(args) == 0 {
				return listMuseum(cmd.OutOrStdout())
			}
			e, err := exhibit(args[0])
			switch {
			case err != nil:
				return usageError{err}
			case cmd.Flags().Changed("runs") && !find:
				return usageError{errors.New("--runs: it says how many runs --find makes; add --find")}
			case runs < 1:
				return usageError{fmt.Errorf("--runs %d: it must be 1 or more", runs)}
			}
			if output == "" {
				return show(cmd.Context(), cmd.OutOrStdout(), e, fixed, find, runs, filter)
			}
			if err := errors.Join(checkView(output, cmd.OutOrStdout()), checkMuseumView(output, fixed, find), filter.checkOutput(output)); err != nil {
				return usageError{err}
			}
			return viewExhibit(cmd.OutOrStdout(), e, output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FORMAT` of the output: "+strings.Join(viewFormats(), ", ")+" (default: text)")
	filter.add(cmd.Flags())
	cmd.Flags().BoolVar(&fixed, "fixed", false, "leave the fix in")
	cmd.Flags().BoolVar(&find, "find", false, "let the explorer look for the bug")
	cmd.Flags().IntVar(&runs, "runs", museum.DefaultRuns, "how many runs --find makes at most")
	return cmd
}

// changed returns the names of the flags that are given, in order.
func changed(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().Visit(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

func exhibit(number string) (museum.Exhibit, error) {
	all := museum.Exhibits()
	i := slices.IndexFunc(all, func(e museum.Exhibit) bool { return strconv.Itoa(e.Number) == number })
	if i < 0 {
		var numbers []string
		for _, e := range all {
			numbers = append(numbers, strconv.Itoa(e.Number))
		}
		return museum.Exhibit{}, fmt.Errorf("there is no exhibit %q; there are %s", number, strings.Join(numbers, ", "))
	}
	return all[i], nil
}

func listMuseum(out io.Writer) error {
	for _, e := range museum.Exhibits() {
		text := fmt.Sprintf("%2d  %s%s\n    %s\n", e.Number, e.Name, open(e), e.Upstream)
		if _, err := io.WriteString(out, prose.Wrap(text, terminal.Width(out), 4)); err != nil {
			return err
		}
	}
	return nil
}

// open returns the list's remark on a bug that upstream still has.
func open(e museum.Exhibit) string {
	if e.Open {
		return " (open upstream)"
	}
	return ""
}

// show plays or looks for an exhibit and prints what came of it.
func show(ctx context.Context, out io.Writer, e museum.Exhibit, fixed, find bool, runs int, filter filterOptions) error {
	only, err := filter.seen()
	if err != nil {
		return usageError{err}
	}
	var report explore.Report
	if find {
		report, err = e.Find(ctx, runs, fixed)
	} else {
		err = e.Play(fixed)
	}
	f, failed := errors.AsType[*explore.Failure](err)
	if err != nil && !failed {
		return err
	}
	text := fmt.Sprintf("Bug %d: %s\n%s\nFix: %s.\n%s\n\n", e.Number, e.Name, e.Mechanism, e.Fix, e.Upstream)
	if _, werr := io.WriteString(out, prose.Wrap(text, terminal.Width(out), 0)); werr != nil {
		return werr
	}
	if failed {
		_, werr := fmt.Fprintln(out, strings.TrimRight(f.TextOf(terminal.Width(out), only.chosen()), "\n"))
		if err := errors.Join(werr, only.check()); err != nil {
			return err
		}
		return quietError{err}
	}
	return printFound(out, report, nil, !find, false, nil)
}
