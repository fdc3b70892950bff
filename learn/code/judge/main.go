// Judge plays an exercise in Go, with faults and in many orders, and prints what came of it as JSON, for storagesim learn.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/explore"
)

// goal is a line of the goal of an exercise.
type goal struct {
	Met bool   `json:"met"`
	Got string `json:"got,omitempty"`
}

// runs is the number of runs of an exploration: crashes and other faults take turns, those of calls of a kind that was not struck before first.
const runs = 150

func main() {
	if len(os.Args) != 3 && len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: judge EXERCISE start|answer|wrong [wait]")
		os.Exit(2)
	}
	goals, err := judge(context.Background(), os.Args[1], os.Args[2], len(os.Args) == 4)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(goals)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// judge plays a variant of an exercise. With wait an hour passes before the run is judged.
func judge(ctx context.Context, exercise, variant string, wait bool) ([]goal, error) {
	scenario, ok := scenarios[exercise][variant]
	if !ok {
		return nil, fmt.Errorf("there is no exercise %q with a variant %q", exercise, variant)
	}
	played := explore.Scenario(func(c *explore.Cluster) { scenario(c, wait) })
	cluster := storagesim.Config{Nodes: storagesim.Nodes("node-1")}
	plain, err := look(ctx, explore.Config{Runs: 1, Cluster: cluster}, played)
	if err != nil {
		return nil, err
	}
	found := goal{Got: "not tried while the run without faults fails"}
	if plain.Met {
		if found, err = look(ctx, explore.Config{Runs: runs, ShrinkRuns: 100, Cluster: cluster, Strategies: []string{explore.Crashes, explore.Faults}},
			played); err != nil {
			return nil, err
		}
	}
	return []goal{plain, found}, nil
}

// look explores, and returns whether nothing was found, or what.
func look(ctx context.Context, cfg explore.Config, scenario func(*storagesim.Cluster) error) (goal, error) {
	_, err := explore.Run(ctx, cfg, scenario)
	if f, ok := errors.AsType[*explore.Failure](err); ok {
		return goal{Got: strings.TrimSpace(f.Text(reportWidth))}, nil
	}
	return goal{Met: err == nil}, err
}

// reportWidth is the number of columns of a failure.
const reportWidth = 94
