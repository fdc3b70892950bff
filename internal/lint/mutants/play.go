package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// test is a test with the mutants that it reaches.
type test struct {
	binary, folder, name string
	takes                time.Duration
	reaches              map[int]bool
}

// testsOf builds the tests of each folder once, and plays each of them by itself, the quickest first.
func testsOf(folders []string, into, overlay, only string) ([]test, error) {
	matching, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	var list []test
	for i, folder := range folders {
		binary := filepath.Join(into, fmt.Sprintf("%d.test", i))
		build := exec.Command("go", "test", "-overlay", overlay, "-vet=off", "-ldflags=-s -w", "-c", "-o", binary, ".")
		build.Dir = folder
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", folder, err, out)
		}
		names, err := command(context.Background(), binary, folder, "-test.list", "^(Test|Fuzz|Example)").Output()
		if err != nil {
			return nil, err
		}
		for _, name := range strings.Fields(string(names)) {
			if !matching.MatchString(name) {
				continue
			}
			t := test{binary: binary, folder: folder, name: name, reaches: map[int]bool{}}
			if err := t.look(filepath.Join(into, "reached")); err != nil {
				return nil, err
			}
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b test) int { return cmp.Compare(a.takes, b.takes) })
	return list, nil
}

// look plays a test without a mutant, and keeps which mutants it reaches and how long it takes.
func (t *test) look(file string) error {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	start := time.Now()
	cmd := command(context.Background(), t.binary, t.folder, "-test.short", "-test.run", "^"+t.name+"$")
	cmd.Env = append(os.Environ(), reached+"="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s fails without a mutant: %w\n%s", t.name, err, out)
	}
	t.takes = time.Since(start)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, field := range strings.Fields(string(text)) {
		number, err := strconv.Atoi(field)
		if err != nil {
			return err
		}
		t.reaches[number] = true
	}
	return nil
}

// reaching returns the tests that reach a mutant.
func reaching(list []test, number int) []test {
	return slices.DeleteFunc(slices.Clone(list), func(t test) bool { return !t.reaches[number] })
}

// noticed reports whether one of some tests fails while a mutant is on: first all that are quick, then one after the other. One that takes
// ten times as long as without it has noticed as well.
func noticed(list []test, number int) bool {
	quick := slices.IndexFunc(list, func(t test) bool { return t.takes > time.Second })
	if quick < 0 {
		quick = len(list)
	}
	groups := map[string][]test{}
	for _, t := range list[:quick] {
		groups[t.binary] = append(groups[t.binary], t)
	}
	for _, binary := range slices.Compact(slices.Sorted(slices.Values(binaries(list[:quick])))) {
		if fails(groups[binary], number) {
			return true
		}
	}
	return slices.ContainsFunc(list[quick:], func(t test) bool { return fails([]test{t}, number) })
}

func binaries(list []test) []string {
	var names []string
	for _, t := range list {
		names = append(names, t.binary)
	}
	return names
}

// fails reports whether one of some tests of a binary fails while a mutant is on.
func fails(list []test, number int) bool {
	var names []string
	allowed := 10 * time.Second
	for _, t := range list {
		names = append(names, t.name)
		allowed += 10 * t.takes
	}
	ctx, cancel := context.WithTimeout(context.Background(), allowed)
	defer cancel()
	cmd := command(ctx, list[0].binary, list[0].folder, "-test.short", "-test.failfast", "-test.run", "^("+strings.Join(names, "|")+")$")
	cmd.Env = append(os.Environ(), isOn+"="+strconv.Itoa(number))
	return cmd.Run() != nil
}

// command returns a call of a test binary in its folder. It may take 6 GB: a mutant without an end may take all there is.
func command(ctx context.Context, binary, folder string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", `ulimit -v 6000000; exec "$0" "$@"`, binary}, args...)...)
	cmd.Dir, cmd.WaitDelay = folder, time.Second
	return cmd
}
