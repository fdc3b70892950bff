package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/storagesim/storagesim/internal/release"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs("version"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version())
			return err
		},
	}
}

// version says what runs here.
func version() string {
	own, goVersion, libraries := "(unknown)", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		own, goVersion = info.Main.Version, info.GoVersion
		for _, dep := range info.Deps {
			if dep.Path == "k8s.io/client-go" {
				libraries = dep.Version
			}
		}
	}
	return fmt.Sprintf("storagesim %s, behaves as Kubernetes %s (client-go %s, %s)", own, release.Kubernetes, libraries, goVersion)
}
