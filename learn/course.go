package learn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/storagesim/storagesim/internal/prose"
)

// The files of a learner's folder beside those of exercises.
const (
	// ProgressFile lists the exercises that were passed, and the number of hints told.
	ProgressFile = "progress.yaml"
	// TaskFile is the task of an exercise, to read.
	TaskFile = "TASK.md"
	// markFile says of which exercise a folder is, and of which version.
	markFile = "exercise.yaml"
)

// format is the format of the learner's folder.
const format = 1

// Course is a learner's folder: a folder for each exercise that was begun, and the progress. It never overwrites a file of the learner's.
type Course struct {
	// Dir is the folder.
	Dir string
	// Exercises are all exercises, in order.
	Exercises []*Exercise

	progress progress
}

// progress is progress.yaml.
type progress struct {
	Format int `yaml:"format"`
	// Passed are the names of exercises that were passed.
	Passed []string `yaml:"passed"`
	// Hints is the number of hints that were told, by exercise.
	Hints map[string]int `yaml:"hints,omitempty"`
}

// mark is the file that says of which exercise a folder is.
type mark struct {
	Exercise string `yaml:"exercise"`
	Version  string `yaml:"version"`
}

// Open opens a learner's folder, which is made when the first exercise is begun. note is not empty if the progress could not be
// read: then that file is moved aside, and what was passed is found out by playing.
func Open(ctx context.Context, dir string, exercises []*Exercise) (c *Course, note string, err error) {
	c = &Course{Dir: dir, Exercises: exercises, progress: progress{Format: format}}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, "", fmt.Errorf("%s is a file; expected the folder to learn in", dir)
	}
	file := filepath.Join(dir, ProgressFile)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return c, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	var read progress
	err = decode(ProgressFile, data, &read)
	if err == nil && read.Format != format {
		err = fmt.Errorf("%s: format: %d; this version of storagesim writes %d", ProgressFile, read.Format, format)
	}
	if err == nil {
		c.progress = read
		return c, "", nil
	}
	aside, moved := moveAside(file)
	if moved != nil {
		return nil, "", errors.Join(err, moved)
	}
	note = fmt.Sprintf("%v. It is called %s now; what you have passed is found out by playing what is in the folder.", err, filepath.Base(aside))
	return c, note, c.recover(ctx)
}

// asides is the number of names that are tried for a file that is moved aside.
const asides = 100

// moveAside renames a file to a name that is free.
func moveAside(file string) (string, error) {
	for i := range asides {
		aside := file + ".broken"
		if i > 0 {
			aside = fmt.Sprintf("%s.%d", aside, i+1)
		}
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return aside, os.Rename(file, aside)
		}
	}
	return "", fmt.Errorf("%s: there are %d broken ones beside it already", file, asides)
}

// recover plays each exercise that was begun, and notes which ones pass.
func (c *Course) recover(ctx context.Context) error {
	for _, e := range c.Exercises {
		if !c.Begun(e) {
			continue
		}
		if _, err := c.Check(ctx, e); err != nil {
			return err
		}
	}
	return c.save()
}

// Folder returns the folder of an exercise.
func (c *Course) Folder(e *Exercise) string { return filepath.Join(c.Dir, e.Name) }

// Begun reports whether the exercise has a folder.
func (c *Course) Begun(e *Exercise) bool {
	info, err := os.Stat(c.Folder(e))
	return err == nil && info.IsDir()
}

// Passed reports whether the exercise was passed.
func (c *Course) Passed(e *Exercise) bool { return slices.Contains(c.progress.Passed, e.Name) }

// Begin writes the files of an exercise that its folder lacks, and never another. It returns their names, and what is to be said about the folder.
func (c *Course) Begin(e *Exercise, language string) (written, notes []string, err error) {
	if e.Lacking() != nil {
		return nil, nil, e.Lacking()
	}
	dir := c.Folder(e)
	old := c.Begun(e)
	if old {
		_, notes, err = Identify(dir, c.Exercises)
		if err != nil {
			return nil, nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	files := map[string]string{TaskFile: e.Task(language),
		markFile: fmt.Sprintf("# Which exercise this is; leave it as it is.\nexercise: %s\nversion: %s\n", e.Name, e.Version())}
	if e.golang == "" {
		files[startStory] = e.start
	}
	maps.Copy(files, e.given)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		made, err := writeNew(filepath.Join(dir, name), files[name])
		if err != nil {
			return written, notes, err
		}
		if made {
			written = append(written, name)
		}
	}
	return written, notes, nil
}

// writeNew writes a file if there is none of that name.
func writeNew(file, text string) (bool, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = f.WriteString(text)
	return true, errors.Join(err, f.Close())
}

// Identify returns the exercise that a folder is of, and what is to be said about the folder.
func Identify(dir string, all []*Exercise) (e *Exercise, notes []string, err error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, fmt.Errorf("there is no folder %s", dir)
	case err != nil:
		return nil, nil, err
	case !info.IsDir():
		return nil, nil, fmt.Errorf("%s is a file; expected the folder of an exercise", dir)
	}
	name, version := filepath.Base(filepath.Clean(dir)), ""
	data, err := os.ReadFile(filepath.Join(dir, markFile))
	if err == nil {
		var m mark
		if err := decode(markFile, data, &m); err != nil {
			return nil, nil, fmt.Errorf("%s: %w; expected the lines exercise: NAME and version: VERSION", dir, err)
		}
		name, version = m.Exercise, m.Version
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	names := make([]string, len(all))
	for i, x := range all {
		names[i] = x.Name
		if x.Name == name {
			e = x
		}
	}
	if e == nil {
		return nil, nil, fmt.Errorf("%s: %q is not an exercise of this version of storagesim%s", dir, name, prose.OneOf(name, names))
	}
	if version != "" && version != e.Version() {
		notes = append(notes,
			fmt.Sprintf("%s was begun with another version of the exercise (%s; this is %s). It is checked as the exercise is now. To begin anew, rename the folder.",
				dir, version, e.Version()))
	}
	if data, err := os.ReadFile(filepath.Join(dir, startStory)); err == nil && e.golang == "" && string(normal(data)) != e.start {
		notes = append(notes, fmt.Sprintf("%s is there to be read, and differs from the exercise's own, which is played.", filepath.Join(dir, startStory)))
	}
	return e, notes, nil
}

// Check plays the exercise with the files of a folder. No link leads out of the folder.
func (e *Exercise) Check(ctx context.Context, dir string) (o Outcome, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Outcome{}, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return e.Play(ctx, root.FS())
}

// Check plays an exercise with the learner's files, and notes it if it passes.
func (c *Course) Check(ctx context.Context, e *Exercise) (Outcome, error) {
	o, err := e.Check(ctx, c.Folder(e))
	if err != nil || !o.Passed() || c.Passed(e) {
		return o, err
	}
	c.progress.Passed = append(c.progress.Passed, e.Name)
	return o, c.save()
}

// Hint returns the next hint of an exercise; after the last one it begins again with the first. number counts from 1.
func (c *Course) Hint(e *Exercise, language string) (hint string, number, of int, err error) {
	hints := e.Text(language).Hints
	told := c.progress.Hints[e.Name] % len(hints)
	if c.progress.Hints == nil {
		c.progress.Hints = map[string]int{}
	}
	c.progress.Hints[e.Name] = told + 1
	return hints[told], told + 1, len(hints), c.save()
}

// Next returns the first exercise after one, which may be nil, that can be played here and is not passed, and begins again at the
// first. It returns nil if there is none.
func (c *Course) Next(after *Exercise) *Exercise {
	from := slices.Index(c.Exercises, after) + 1
	for i := range c.Exercises {
		if e := c.Exercises[(from+i)%len(c.Exercises)]; !c.Passed(e) && e.Lacking() == nil {
			return e
		}
	}
	return nil
}

// save writes the progress: a new file that takes the place of the old one, so that a crash leaves one of them whole.
func (c *Course) save() error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	slices.Sort(c.progress.Passed)
	data, err := yaml.Marshal(c.progress)
	if err != nil {
		return err
	}
	file := filepath.Join(c.Dir, ProgressFile)
	if err := os.WriteFile(file+".new", data, 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// Stamp returns a text that changes when a file of the exercise is saved.
func (c *Course) Stamp(e *Exercise) string {
	var b strings.Builder
	for _, name := range e.Files() {
		info, err := os.Stat(filepath.Join(c.Folder(e), name))
		if err != nil {
			fmt.Fprintf(&b, "%s: none\n", name)
			continue
		}
		fmt.Fprintf(&b, "%s: %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
	return b.String()
}
