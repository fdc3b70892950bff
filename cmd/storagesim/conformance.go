package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/storagesim/storagesim/conformance"
)

func newConformance() *cobra.Command {
	return &cobra.Command{
		Use:   "conformance DIR",
		Short: "Compare the simulation with recordings of a real control plane",
		Long: `conformance replays every recording in a directory (NAME.json: the steps, and each
write and event of a real control plane) against a simulation that has the same
actors and no others, and prints a line a case: pass, or the first difference.

Exit codes: 0 all agree; 1 one differs or cannot be read; 2 the command line is
wrong; 130 interrupted.`,
		Example: `  storagesim conformance conformance/testdata`,
		Args:    args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			failed, err := conformance.Run(args[0], cmd.OutOrStdout())
			if err == nil && failed > 0 {
				err = quietError{fmt.Errorf("%d differ", failed)}
			}
			return err
		},
	}
}
