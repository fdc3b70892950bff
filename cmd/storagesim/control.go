package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/internal/terminal"
	"github.com/storagesim/storagesim/live/serve"
)

// noArgs refuses arguments.
func noArgs(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageError{fmt.Errorf("%s takes no arguments, but %q is given", name, args[0])}
		}
		return nil
	}
}

// manifestsByFlag refuses arguments of a command that reads manifests.
func manifestsByFlag(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no arguments: write -f %s", cmd.Name(), args[0])}
	}
	return nil
}

// newStep, newSettle and newRunFor tell a server that runs to let something happen.
func newStep() *cobra.Command {
	cmd := &cobra.Command{Use: "step", Short: "Let a cluster that is served take one step", Args: noArgs("step")}
	return toServer(cmd, func(ctx context.Context, c *serve.Client, _ []string) (serve.Moved, error) { return c.Step(ctx) })
}

func newSettle() *cobra.Command {
	cmd := &cobra.Command{Use: "settle", Short: "Let a cluster that is served come to rest", Args: noArgs("settle")}
	return toServer(cmd, func(ctx context.Context, c *serve.Client, _ []string) (serve.Moved, error) { return c.Settle(ctx) })
}

func newRunFor() *cobra.Command {
	cmd := &cobra.Command{
		Use: "run-for TIME", Short: "Let virtual time pass at once in a cluster that is served",
		Example: "  storagesim run-for 10m",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("run-for takes one time such as 90s, 6m or 1h30m, but %d are given", len(args))}
			}
			switch d, err := time.ParseDuration(args[0]); {
			case err != nil:
				return usageError{fmt.Errorf("%q is not a time such as 90s, 6m or 1h30m, at most 2562047h", args[0])}
			case d < 0:
				return usageError{negative(args[0])}
			}
			return nil
		},
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
			if text := unknown.GetSpecifiedShortnames(); text != "" && unicode.IsDigit(rune(text[0])) {
				return usageError{negative("-" + text)}
			}
		}
		return cmd.Parent().FlagErrorFunc()(cmd, err)
	})
	return toServer(cmd, func(ctx context.Context, c *serve.Client, args []string) (serve.Moved, error) {
		d, err := time.ParseDuration(args[0])
		if err != nil {
			return serve.Moved{}, err
		}
		return c.RunFor(ctx, d)
	})
}

func negative(text string) error {
	return fmt.Errorf("%q is negative; expected a time of at least 0s", text)
}

// newExplain asks a server that runs why an object is as it is.
func newExplain() *cobra.Command {
	var file, output string
	var manifests []string
	var width int
	cmd := &cobra.Command{
		Use: "explain KIND/[NAMESPACE/]NAME", Short: "Say why an object of a cluster that is served is as it is",
		Long: `Say why an object of a cluster that storagesim serve offers is as it is: in one line its
state, the cause and what to do, then the chain that leads there, then its events.
kubectl get --raw /storagesim/explain/pvc/default/data prints the same.`,
		Example: "  storagesim explain pvc/data\n  storagesim explain deployment/shop/web -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(manifests) > 0 {
				return usageError{fmt.Errorf("-f %s: explain asks a cluster that storagesim serve offers; storagesim run -f %[1]s explains what does not run there, and "+
					"in storagesim shell -f %[1]s explain is a command", manifests[0])}
			}
			if len(args) != 1 {
				return usageError{fmt.Errorf("explain takes one object such as pvc/data or pod/default/web, but %d are given", len(args))}
			}
			if output != "" && output != "json" {
				return usageError{fmt.Errorf("-o %q: expected json, or nothing for words", output)}
			}
			if width != 0 && width < terminal.LeastWidth {
				return usageError{badWidth(width)}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&file, "kubeconfig", "", "`FILE` that serve has written (default: $KUBECONFIG, as for kubectl)")
	cmd.Flags().StringArrayVarP(&manifests, "filename", "f", nil, "is refused, with the commands that take manifests")
	_ = cmd.Flags().MarkHidden("filename")
	cmd.Flags().StringVarP(&output, "output", "o", "", "json prints the explanation as a value, of the form that \"schema\" names")
	cmd.Flags().IntVar(&width, "width", 0, widthHelp)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := serve.NewClient(file)
		if err != nil {
			return err
		}
		why, err := client.Explain(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if !cmd.Flags().Changed("width") {
			width = terminal.Width(cmd.OutOrStdout())
		}
		text := prose.Wrap(why.Text, width, 4)
		if output == "json" {
			values, err := json.MarshalIndent(why, "", "  ")
			if err != nil {
				return err
			}
			text = string(values) + "\n"
		}
		_, err = io.WriteString(cmd.OutOrStdout(), text)
		return err
	}
	return cmd
}

// toServer has a command tell the server that a kubeconfig names.
func toServer(cmd *cobra.Command, do func(context.Context, *serve.Client, []string) (serve.Moved, error)) *cobra.Command {
	var file string
	cmd.Long = cmd.Short + ` by storagesim serve, in another terminal.
The kubeconfig that serve has written says where that is.`
	cmd.Flags().StringVar(&file, "kubeconfig", "", "`FILE` that serve has written (default: $KUBECONFIG, as for kubectl)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		client, err := serve.NewClient(file)
		if err != nil {
			return err
		}
		moved, err := do(cmd.Context(), client, args)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d steps; it is %s\n", moved.Steps, moved.Now.UTC().Format(time.RFC3339))
		return err
	}
	return cmd
}
