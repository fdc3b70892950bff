// Command mutants changes one thing in the code at a time and runs tests, which should fail: a change that no test notices, a
// survivor, is a rule without a test, unless equal.txt says why no input can tell it. The files stay as they are: go test gets the changed one as an overlay.
//
//	go run -C internal/lint ./mutants -seed 1 -n 60 -func shouldProvision ../../provisioner ../../provisioner
//
// The first argument is the folder that is changed, the others are the folders whose tests run.
package main

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	seed := flag.Uint64("seed", 1, "which mutants are chosen")
	n := flag.Int("n", 0, "how many of them; 0 for all")
	function := flag.String("func", "", "a regular expression: only functions of such a name")
	only := flag.String("run", "", "the tests to run, as in go test")
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: mutants [flags] FOLDER TESTS...")
		os.Exit(2)
	}
	survivors, err := try(flag.Arg(0), flag.Args()[1:], *function, *only, *seed, *n)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

// try tries the mutants of a folder, and returns how many survive.
func try(dir string, tests []string, function, only string, seed uint64, n int) (survivors int, err error) {
	matching, err := regexp.Compile(function)
	if err != nil {
		return 0, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return 0, err
	}
	var all []mutant
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		found, err := mutantsOf(file, source, matching)
		if err != nil {
			return 0, err
		}
		all = append(all, found...)
	}
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	if n > 0 {
		all = all[:min(n, len(all))]
	}
	killed, unbuilt, equal := 0, 0, 0
	for _, m := range all {
		switch outcome, err := play(m, tests, only); {
		case err != nil:
			return survivors, err
		case outcome == survives && m.isEqual():
			equal++
		case outcome == survives:
			survivors++
			fmt.Println("survives:", m)
		case outcome == doesNotBuild:
			unbuilt++
		default:
			killed++
		}
	}
	fmt.Printf("%s: %d mutants, %d killed, %d equal, %d survive, %d do not build (seed %d)\n", dir, len(all), killed, equal, survivors, unbuilt, seed)
	return survivors, nil
}

// equals lists the mutants that no input can tell from the code, a line each: the change without its line number, then why.
//
//go:embed equal.txt
var equals string

// isEqual reports whether a mutant is in that list.
func (m mutant) isEqual() bool {
	for line := range strings.Lines(equals) {
		if change, _, ok := strings.Cut(line, " -- "); ok && strings.HasSuffix(filepath.ToSlash(m.file)+": "+m.what, change) {
			return true
		}
	}
	return false
}

// outcome says what became of a mutant.
type outcome int

const (
	dies outcome = iota
	survives
	doesNotBuild
)

// play runs the tests with a mutant.
func play(m mutant, tests []string, only string) (outcome, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return dies, err
	}
	defer os.RemoveAll(dir)
	file, err := filepath.Abs(m.file)
	if err != nil {
		return dies, err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		return dies, err
	}
	if err := os.WriteFile(changed, m.source, 0o600); err != nil {
		return dies, err
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return dies, err
	}
	for _, folder := range tests {
		if out, err := goIn(folder, "test", "-overlay", overlay, "-vet=off", "-timeout", "5m", "-short", "-run", only, "."); err != nil {
			if strings.Contains(out, "[build failed]") {
				return doesNotBuild, nil
			}
			return dies, nil
		}
	}
	return survives, nil
}

// goIn runs the go command in a folder.
func goIn(folder string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	return string(out), err
}
