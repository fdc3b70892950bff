package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// models is the Kubernetes release whose behaviour is modelled.
const models = "v1.36"

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			version, goVersion, libraries := "(unknown)", "", ""
			if info, ok := debug.ReadBuildInfo(); ok {
				version, goVersion = info.Main.Version, info.GoVersion
				for _, dep := range info.Deps {
					if dep.Path == "k8s.io/client-go" {
						libraries = dep.Version
					}
				}
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "storagesim %s, behaves as Kubernetes %s (client-go %s, %s)\n", version, models, libraries, goVersion)
			return err
		},
	}
}
