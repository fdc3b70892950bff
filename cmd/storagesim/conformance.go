package main

import (
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/storagesim/storagesim/conformance"
	"github.com/storagesim/storagesim/conformance/requests"
	"github.com/storagesim/storagesim/internal/terminal"
)

func newConformance() *cobra.Command {
	var options conformance.Options
	var match, api string
	cmd := &cobra.Command{
		Use:   "conformance DIR | --api DIR",
		Short: "Compare the simulation with recordings of a real control plane",
		Long: `conformance replays every recording in a directory (NAME.json: the steps, and each
write and event of a real control plane) against a simulation that has the same
actors and no others, and prints a line a case: pass, or the first difference.

A recording agrees if some schedule of the simulation gives exactly what was
recorded. The schedule is printed unless it is the one in order.

With --api, DIR has recordings of requests to an API server and of its answers, and
no controllers run. Code, headers, reason, message and fields of each answer are
compared, except what a server chooses (UIDs, versions), times, ages and managed
fields. Requests that are known to differ are printed with -v, each with the reason.

Exit codes: 0 all agree; 1 one differs or cannot be read; 2 the command line is
wrong; 130 interrupted.`,
		Example: `  storagesim conformance conformance/testdata
  storagesim conformance conformance/testdata --run '^random_1' -v
  storagesim conformance --api recorded`,
		Args: func(cmd *cobra.Command, args []string) error {
			if api != "" {
				return apiAlone(cmd, args)
			}
			if len(args) != 1 {
				return usageError{fmt.Errorf("expected one directory of recordings, got %d arguments", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if api != "" {
				return differing(requests.Run(api, terminal.Lines(cmd.OutOrStdout()), options.Verbose))
			}
			if options.Seeds < 1 {
				return usageError{fmt.Errorf("--seeds %d: there must be at least one", options.Seeds)}
			}
			if match != "" {
				pattern, err := regexp.Compile(match)
				if err != nil {
					return usageError{fmt.Errorf("--run: %w", err)}
				}
				options.Match = pattern
			}
			return differing(conformance.Run(args[0], terminal.Lines(cmd.OutOrStdout()), options))
		},
	}
	cmd.Flags().StringVar(&api, "api", "", "play the recordings of requests in `DIR` against the API server alone")
	cmd.Flags().StringVar(&match, "run", "", "replay only the cases whose `name` matches this regular expression")
	cmd.Flags().IntVar(&options.Seeds, "seeds", conformance.Seeds, "try this many schedules before a case counts as different")
	cmd.Flags().BoolVarP(&options.Verbose, "verbose", "v", false, "print all differences, of the run in order and of the best schedule")
	return cmd
}

// apiAlone refuses what --api does not take.
func apiAlone(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("--api takes its own directory: unexpected argument %q", args[0])}
	}
	for _, name := range []string{"run", "seeds"} {
		if cmd.Flags().Changed(name) {
			return usageError{fmt.Errorf("--%s has no effect with --api", name)}
		}
	}
	return nil
}

// differing returns the error of a comparison in which this many differ.
func differing(failed int, err error) error {
	if err == nil && failed > 0 {
		err = quietError{fmt.Errorf("%d differ", failed)}
	}
	return err
}
