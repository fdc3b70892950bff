// Command mutants changes one thing in the code at a time and runs tests, which should fail: a change that no test notices, a
// survivor, is a rule without a test, unless equal.txt says why no input can tell it.
//
//	go run -C internal/lint ./mutants -seed 1 -n 60 -func shouldProvision ../../provisioner ../../provisioner
//
// The first argument is the folder that is changed, the others are the folders whose tests run. The files stay as they are: the code with all
// mutants, each with a switch, is an overlay of go test, so that a folder's tests are built once. A mutant meets only the tests that reach it.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

func main() {
	seed := flag.Uint64("seed", 1, "which mutants are chosen")
	n := flag.Int("n", 0, "how many of them; 0 for all")
	function := flag.String("func", "", "a regular expression: only functions of such a name")
	only := flag.String("run", "", "a regular expression: only tests of such a name")
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
func try(folder string, tests []string, function, only string, seed uint64, n int) (survivors int, err error) {
	matching, err := regexp.Compile(function)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	s, err := prepare(folder, dir, matching)
	if err != nil {
		return 0, err
	}
	list, err := testsOf(tests, dir, s.overlay, only)
	if err != nil {
		return 0, err
	}
	numbers := slices.Sorted(maps.Keys(s.mutants))
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(numbers), func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	if n > 0 {
		numbers = numbers[:min(n, len(numbers))]
	}
	slices.Sort(numbers)
	killed, equal, unreached := 0, 0, 0
	for i, dies := range inParallel(numbers, list) {
		m := s.mutants[numbers[i]]
		why, listed := reasons()[m.change()]
		switch {
		case dies:
			killed++
		case listed:
			equal++
			fmt.Printf("equal: %v -- %s\n", m, why)
		case len(reaching(list, numbers[i])) == 0:
			unreached++
			survivors++
			fmt.Println("survives, no test comes there:", m)
		default:
			survivors++
			fmt.Println("survives:", m)
		}
	}
	fmt.Printf("%s: %d mutants, %d killed, %d equal, %d survive (no test comes to %d of them); %d of %d chosen (seed %d), and %d more are no Go\n",
		folder, len(numbers), killed, equal, survivors, unreached, len(numbers), len(s.mutants), seed, s.left)
	return survivors, nil
}

// inParallel reports of each mutant whether a test notices it.
func inParallel(numbers []int, list []test) []bool {
	dies, next := make([]bool, len(numbers)), make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				dies[i] = noticed(reaching(list, numbers[i]), numbers[i])
			}
		})
	}
	for i := range numbers {
		next <- i
	}
	close(next)
	workers.Wait()
	return dies
}

// equals lists the mutants that no input can tell from the code, a line each: the change without its line number (see mutant.change), then why.
//
//go:embed equal.txt
var equals string

// reasons returns why each mutant of that list is equal.
var reasons = sync.OnceValue(func() map[string]string {
	list := map[string]string{}
	for line := range strings.Lines(equals) {
		if change, why, ok := strings.Cut(strings.TrimSpace(line), " -- "); ok {
			list[change] = why
		}
	}
	return list
})
