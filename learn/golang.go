package learn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Exercises in Go are in a module of their own, in a checkout of the library: the learner's file takes the place of the one of
// the start, and the program judge plays it with faults.
const (
	codeFolder = "learn/code"
	moduleLine = "module github.com/storagesim/storagesim"
	// goGoals is the number of goals of each of them: the run without faults, and the runs with faults.
	goGoals = 2
	// goTime is the time in the real world that one of them may take.
	goTime = 3 * time.Minute
)

// FindCheckout returns the checkout of the library that a folder is in. The error says what is missing for exercises in Go.
func FindCheckout(folder string) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", errors.New("it is in Go, and there is no command go here: install Go 1.26 or newer")
	}
	at, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	for {
		data, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if first, _, _ := strings.Cut(string(normal(data)), "\n"); err == nil && first == moduleLine {
			if _, err := os.Stat(filepath.Join(at, filepath.FromSlash(codeFolder), "go.mod")); err == nil {
				return at, nil
			}
		}
		up := filepath.Dir(at)
		if up == at {
			return "", errors.New("it is in Go, and needs a checkout of storagesim: clone the repository and begin in its folder")
		}
		at = up
	}
}

// Attach reads the files of exercises in Go from a checkout. lacking, if it is not nil, says why there is none: then these exercises cannot be played.
func Attach(exercises []*Exercise, checkout string, lacking error) error {
	for _, e := range exercises {
		if e.golang == "" {
			continue
		}
		if e.lacking = lacking; lacking != nil {
			continue
		}
		e.code = filepath.Join(checkout, filepath.FromSlash(codeFolder))
		for folder, to := range map[string]*map[string]string{"start": &e.given, "answer": &e.answer, "wrong": &e.wrong} {
			files, err := readFolder(os.DirFS(e.code), e.golang+"/"+folder)
			if err != nil {
				return fmt.Errorf("exercise %s: %w", e.Name, err)
			}
			*to = files
		}
	}
	return nil
}

// Lacking says what is missing to play the exercise here; nil if nothing is.
func (e *Exercise) Lacking() error { return e.lacking }

// variant returns the name under which the judge knows the files; known is false if they are the learner's own.
func (e *Exercise) variant(own map[string]string) (name string, known bool) {
	given := only{e.given}
	for name, files := range map[string]map[string]string{"start": e.given, "answer": given.with(e.answer).files, "wrong": given.with(e.wrong).files} {
		if maps.Equal(own, files) {
			return name, true
		}
	}
	return "start", false
}

// playGo plays an exercise in Go.
func (e *Exercise) playGo(ctx context.Context, files fs.FS, wait time.Duration) (o Outcome, err error) {
	if e.lacking != nil {
		return Outcome{Problems: []string{e.lacking.Error()}}, nil
	}
	own, problems := e.read(files)
	if o.Problems = problems; len(problems) > 0 {
		return o, nil
	}
	name, known := e.variant(own)
	args := []string{e.golang, name}
	if wait > 0 {
		args = append(args, "wait")
	}
	limited, cancel := context.WithTimeout(ctx, goTime)
	defer cancel()
	var printed []byte
	if known {
		printed, err = e.run(limited, "go", append([]string{"run", "./judge"}, args...)...)
	} else {
		printed, err = e.judge(limited, own, args)
	}
	failed := failure("")
	switch {
	case ctx.Err() != nil:
		return o, ctx.Err()
	case limited.Err() != nil:
		o.Problems = append(o.Problems, fmt.Sprintf("the program did not end within %s", goTime))
		return o, nil
	case errors.As(err, &failed):
		o.Problems = append(o.Problems, e.plainPaths(string(failed)))
		return o, nil
	case err != nil:
		return o, err
	}
	var goals []struct {
		Met bool
		Got string
	}
	if err := json.Unmarshal(printed, &goals); err != nil {
		return o, e.broken(fmt.Errorf("the judge printed %q: %w", printed, err))
	}
	for _, g := range goals {
		o.Goals = append(o.Goals, Goal{Met: g.Met, Got: strings.ReplaceAll(e.plainPaths(g.Got), "at start/", "at ")})
	}
	if len(o.Goals) != goGoals {
		return o, e.broken(fmt.Errorf("the judge has %d goals; expected %d", len(o.Goals), goGoals))
	}
	return o, nil
}

// judge builds the judge with the learner's files in place of the start's, and runs it. It is built and then run, since a program
// that go run has started goes on if that is ended.
func (e *Exercise) judge(ctx context.Context, own map[string]string, args []string) (printed []byte, err error) {
	dir, err := os.MkdirTemp("", "storagesim-learn-")
	if err != nil {
		return nil, err
	}
	made := []string{dir}
	defer func() {
		for i := range made { // what is in the directory comes first
			if gone := os.Remove(made[len(made)-1-i]); !errors.Is(gone, fs.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	}()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range own {
		file := filepath.Join(dir, name)
		made = append(made, file)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
		overlay.Replace[filepath.Join(e.code, e.golang, "start", name)] = file
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		return nil, err
	}
	list, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "judge.exe")
	made = append(made, list, program)
	if err := os.WriteFile(list, data, 0o600); err != nil {
		return nil, err
	}
	_, err = e.run(ctx, "go", "build", "-overlay", list, "-o", program, "./judge")
	if failed := failure(""); errors.As(err, &failed) {
		return nil, failure(strings.ReplaceAll(string(failed), dir+string(filepath.Separator), "")) // the compiler names the files in dir
	}
	if err != nil {
		return nil, err
	}
	return e.run(ctx, program, args...)
}

// failure is the output of a program that has ended with an error.
type failure string

func (f failure) Error() string { return string(f) }

// run runs a program in the folder of the code and returns its output. If it ends with an error, that is a failure.
func (e *Exercise) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.WaitDelay = e.code, time.Second
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return nil, failure(cut(strings.TrimSpace(errOut.String())))
	}
	return out.Bytes(), err
}

// plainPaths returns errors of the compiler with the learner's files by their names, and without the name of the package.
func (e *Exercise) plainPaths(text string) string {
	if strings.HasPrefix(text, "# ") {
		_, text, _ = strings.Cut(text, "\n")
	}
	start := e.golang + "/start/"
	text = strings.ReplaceAll(filepath.ToSlash(text), filepath.ToSlash(e.code)+"/"+start, "")
	return strings.ReplaceAll(text, start, "")
}
