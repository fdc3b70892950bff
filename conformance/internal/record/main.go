// Command record records what a real control plane does in cases that it makes up: it starts etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler, plays each case and writes it as a recording, with which package conformance compares the simulation.
// `bash .ci/nightly recorder` builds the programs, records, and compares.
//
//	go run ./conformance/internal/record -out /tmp/made -seed 1 -n 20
//	storagesim conformance /tmp/made
//
// With -ours PROGRAM, a storagesim, our controllers and scheduler work on the real API server in place of upstream's: `storagesim control`.
// So what they do there can be compared with what they do in the simulation.
//
// A case takes about a minute: between two steps the recorder waits until nothing was written for some seconds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/conformance"
	"github.com/storagesim/storagesim/internal/release"
)

func main() {
	programs := flag.String("programs", "", "the folders of the programs, with commas; default those into which .ci/nightly builds")
	out := flag.String("out", ".", "the folder for the recordings")
	seed := flag.Uint64("seed", 1, "the first seed, of one case each")
	n := flag.Uint64("n", 20, "how many cases")
	again := flag.String("again", "", "play the cases of the recordings in this folder instead")
	match := flag.String("match", "", "of those only the ones whose names match this regular expression")
	ours := flag.String("ours", "", "the file of storagesim, whose controllers and scheduler are to take the place of upstream's")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	cases, err := choose(*again, *match, *seed, *n)
	if err == nil {
		err = record(ctx, folders(*programs), *ours, *out, cases)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// folders returns the folders in which the programs are searched.
func folders(list string) []string {
	if list != "" {
		return strings.Split(list, ",")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	return []string{filepath.Join(cache, "storagesim", "apiserver"), filepath.Join(cache, "storagesim", "managers")}
}

// choose returns the cases that are to be recorded.
func choose(again, match string, seed, n uint64) (cases []*conformance.Recording, err error) {
	if again != "" {
		name, err := regexp.Compile(match)
		if err == nil {
			cases, err = conformance.LoadDir(again)
		}
		cases = slices.DeleteFunc(cases, func(c *conformance.Recording) bool { return !name.MatchString(c.Case) })
		if err == nil && len(cases) == 0 {
			err = fmt.Errorf("no recording in %s has a name that matches %q", again, match)
		}
		return cases, err
	}
	for i := range n {
		cases = append(cases, makeUp(seed+i))
	}
	return cases, nil
}

// record records cases. One that cannot be played, because the control plane never rests, is named and left out.
func record(ctx context.Context, folders []string, ours, out string, cases []*conformance.Recording) (err error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	s, err := start(ctx, folders, ours)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r := conformance.Recorder{API: s.URL, Client: &http.Client{Transport: s.Transport()}, Audit: s.AuditLog(), Version: release.Kubernetes}
	for _, c := range cases {
		got, err := r.Record(ctx, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Println("left out:", err)
			continue
		}
		data, err := json.MarshalIndent(got, "", " ")
		if err == nil {
			err = os.WriteFile(filepath.Join(out, c.Case+".json"), append(data, '\n'), 0o644)
		}
		if err != nil {
			return err
		}
		fmt.Println("recorded", c.Case)
	}
	return nil
}
