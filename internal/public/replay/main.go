// Command replay runs the rows of docs/public-manifests.txt and compares their ends with those written there. The
// manifests are read from copies of their repositories: FOLDER/OWNER+NAME/repo or FOLDER/OWNER+NAME, each a git directory or a checkout, or plain
// files of one commit. Without the copies it prints NOT RUN. It is started in the root of the repository:
//
//	go build -o /tmp/storagesim ./cmd/storagesim && go run ./internal/public/replay -copies FOLDER -storagesim /tmp/storagesim [ROW...]
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/storagesim/storagesim/internal/public"
)

func main() {
	copies := flag.String("copies", os.Getenv("STORAGESIM_COPIES"), "the `FOLDER` with the repositories; default: the environment variable STORAGESIM_COPIES")
	binary := flag.String("storagesim", "storagesim", "the `PROGRAM` storagesim")
	dir := flag.String("rows", "", "the `FOLDER` into which the files of each row are written, and where they stay; default: a new one")
	flag.Parse()
	if err := run(*copies, *binary, *dir, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(copies, binary, dir string, names []string) error {
	text, err := os.ReadFile(public.List)
	if err != nil {
		return err
	}
	rows, err := public.Parse(string(text))
	if err != nil {
		return err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "public-manifests"); err != nil {
			return err
		}
	}
	fmt.Println("the files of each row:", dir)
	count := map[string]int{}
	for _, row := range rows {
		if len(names) > 0 && !slices.Contains(names, row.Name) {
			continue
		}
		problems, err := play(row, copies, binary, filepath.Join(dir, row.Name))
		word := "ok"
		switch {
		case errors.Is(err, errNoCopy):
			word = "NOT RUN"
		case err != nil:
			return fmt.Errorf("row %s: %w", row.Name, err)
		case len(problems) > 0:
			word = "differs"
		}
		count[word]++
		fmt.Printf("%s: %s\n", word, row.Name)
		for _, p := range problems {
			fmt.Println("   ", p)
		}
	}
	fmt.Printf("%d as written, %d differ, %d not run\n", count["ok"], count["differs"], count["NOT RUN"])
	if count["differs"] > 0 {
		return errors.New("some rows differ")
	}
	return nil
}

// play runs a row, once for the objects and once for the records.
func play(row *public.Row, copies, binary, dir string) ([]string, error) {
	args, err := write(row, copies, dir)
	if err != nil {
		return nil, err
	}
	o := &public.Outcome{}
	var list struct {
		Items []unstructured.Unstructured `json:"items"`
	}
	out, err := start(o, binary, append(args, "--output", "json"))
	if err == nil && len(bytes.TrimSpace(out)) > 0 {
		err = json.Unmarshal(out, &list)
	}
	if err != nil {
		return nil, err
	}
	o.Objects = list.Items
	if out, err = start(&public.Outcome{}, binary, append(args, "--output", "trace")); err != nil {
		return nil, err
	}
	if err := o.ReadTrace(out); err != nil {
		return nil, err
	}
	return row.Check(o), nil
}

// start runs the program and returns its standard output.
func start(o *public.Outcome, binary string, args []string) ([]byte, error) {
	cmd := exec.Command(binary, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = nil
	}
	o.Exit, o.Output = cmd.ProcessState.ExitCode(), errs.String()
	return out.Bytes(), err
}

// write copies the files of a row into a folder and returns the command line that has them.
func write(row *public.Row, copies, dir string) ([]string, error) {
	args := []string{"run", "--width", "0"}
	if text := row.Objects(); text != "" {
		name := filepath.Join(dir, "with.yaml")
		if err := put(name, text); err != nil {
			return nil, err
		}
		args = append(args, "-f", name)
	}
	for _, file := range row.Files {
		if err := writeFile(row, copies, file, dir); err != nil {
			return nil, err
		}
		plain, _, _ := strings.Cut(file, "@")
		args = append(args, "-f", filepath.Join(dir, plain))
	}
	return append(args, row.Flags...), nil
}

func writeFile(row *public.Row, copies, file, dir string) error {
	path, commit, own := strings.Cut(file, "@")
	if !own {
		commit = row.Commit
	}
	paths := []string{path}
	if strings.HasSuffix(path, "/") {
		var err error
		if paths, err = listing(copies, row.Repo, commit, path); err != nil {
			return err
		}
	}
	for _, p := range paths {
		text, err := read(copies, row.Repo, commit, p)
		if err != nil {
			return err
		}
		if file == row.Edit.File {
			if !strings.Contains(text, row.Edit.Old) {
				return fmt.Errorf("edit: %s does not contain %q", p, row.Edit.Old)
			}
			text = strings.Replace(text, row.Edit.Old, row.Edit.New, 1)
		}
		if err := put(filepath.Join(dir, p), text); err != nil {
			return err
		}
	}
	return nil
}

func put(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

var errNoCopy = errors.New("no copy of the repository has this file")

// read returns a file of a repository, out of git or a folder of plain files.
func read(copies, repo, commit, path string) (string, error) {
	dir, err := find(copies, repo)
	if err != nil {
		return "", err
	}
	if text, err := os.ReadFile(filepath.Join(dir, path)); err == nil && commit == "-" {
		return string(text), nil
	}
	if text, err := exec.Command("git", "-C", dir, "show", commit+":"+path).Output(); err == nil {
		return string(text), nil
	}
	text, err := os.ReadFile(filepath.Join(dir, path))
	if err != nil {
		return "", fmt.Errorf("%w: %s", errNoCopy, path)
	}
	return string(text), nil
}

// listing returns the manifests in a folder of a repository.
func listing(copies, repo, commit, folder string) (paths []string, err error) {
	dir, err := find(copies, repo)
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("git", "-C", dir, "ls-tree", "--name-only", commit, folder).Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errNoCopy, folder)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) {
			paths = append(paths, name)
		}
	}
	return paths, nil
}

// find returns the folder of a repository's copy.
func find(copies, repo string) (string, error) {
	base := filepath.Join(copies, strings.ReplaceAll(repo, "/", "+"))
	for _, dir := range []string{filepath.Join(base, "repo"), base} {
		if info, err := os.Stat(dir); copies != "" && err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%w: %s", errNoCopy, repo)
}
