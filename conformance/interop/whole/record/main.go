// Command record records the whole stack: see package whole.
package main

import (
	"bytes"
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
	"strings"
	"time"

	"github.com/storagesim/storagesim/conformance"
	"github.com/storagesim/storagesim/internal/release"
)

func main() {
	programs := flag.String("programs", "", "the folders of the programs, with commas")
	out := flag.String("out", ".", "the folder for the recordings")
	cases := flag.String("cases", "", "the folder of the cases: recordings, of which only the steps count")
	match := flag.String("match", "", "of those only the ones whose names match this regular expression")
	logs := flag.String("logs", "", "a folder for what the programs say; default none")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, strings.Split(*programs, ","), *cases, *match, *out, *logs); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// run records the cases of a folder. One that cannot be played is named and left out.
func run(ctx context.Context, folders []string, dir, match, out, logs string) error {
	name, err := regexp.Compile(match)
	if err != nil {
		return err
	}
	cases, err := conformance.LoadDir(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for _, c := range cases {
		if !name.MatchString(c.Case) {
			continue
		}
		began := time.Now()
		got, err := recordOne(ctx, folders, logs, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Println("left out:", err)
			continue
		}
		if err := write(filepath.Join(out, c.Case+".json"), got); err != nil {
			return err
		}
		fmt.Println("recorded", c.Case, "in", time.Since(began).Round(time.Second))
	}
	return nil
}

// recordOne records one case with a stack of its own.
func recordOne(ctx context.Context, folders []string, logs string, c *conformance.Recording) (_ *conformance.Recording, err error) {
	if logs != "" {
		logs = filepath.Join(logs, c.Case)
	}
	s, err := start(ctx, folders, logs)
	if s != nil {
		defer func() { err = errors.Join(err, s.Close()) }()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Case, err)
	}
	r := conformance.Recorder{API: s.server.URL, Client: &http.Client{Transport: s.server.Transport()}, Audit: s.server.AuditLog(),
		Version: release.Kubernetes, Stack: s}
	return r.Record(ctx, c)
}

// write writes a recording, whose placeholders have angle brackets.
func write(path string, rec *conformance.Recording) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(rec); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}
