package learn

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/storagesim/storagesim/story"
)

//go:embed exercises
var embedded embed.FS

// The files of an exercise.
const (
	exerciseFile = "exercise.yaml"
	startStory   = "start.story"
	checkStory   = "check.story"
	// MendStory has the commands of the learner, which are played when the cluster is broken.
	MendStory = "mend.story"
	// GuessFile holds guesses of the learner, which are compared with the run.
	GuessFile = "guess.yaml"
)

// Exercise is a cluster that is broken, and how to find out whether a learner has mended it.
type Exercise struct {
	// Name is the name of its folder, such as "03-which-volume".
	Name string
	// Chapter is the number of the chapter that explains it.
	Chapter int
	// Rule names the lesson: a rule of docs/semantics.md, such as "1.3 (15)" or "1 must 8", or a code of package explain, such as
	// "ClassMissing". No two exercises have the same.
	Rule string
	// Mends is the number of things to mend.
	Mends int
	// InTime says that the order of the learner's commands matters.
	InTime bool
	// Commands are the commands of stories that the learner's mend.story may have, besides those that only look.
	Commands []string

	// Yours are the files that the text leaves to the learner; empty if it leaves all. MendStory is always the learner's.
	Yours []string

	// golang is the name of the folder of an exercise in Go, code the folder that it is in, and lacking says why it cannot be played.
	golang  string
	code    string
	lacking error

	about    []string
	explain  string
	symptom  string
	mistake  string
	texts    map[string]Text
	start    string
	check    string
	expects  []line
	given    map[string]string
	answer   map[string]string
	wrong    map[string]string
	language []string
}

// description is exercise.yaml.
type description struct {
	Chapter  int      `yaml:"chapter"`
	Rule     string   `yaml:"rule"`
	Mends    int      `yaml:"mends"`
	InTime   bool     `yaml:"inTime"`
	Commands []string `yaml:"commands"`
	// Yours are the files to be mended. An answer that changes another one is refused.
	Yours []string `yaml:"yours"`
	// Go is the folder of an exercise in Go, which has no stories.
	Go string `yaml:"go"`
	// About are the objects that the report shows. If the rule is a code of explain, it is the verdict on the first of them after the start.
	About []string `yaml:"about"`
	// Explain is the object that the report explains, where events say too little. It may be empty.
	Explain string `yaml:"explain"`
	// Symptom holds words that the text and the report on the start have.
	Symptom string `yaml:"symptom"`
	// Mistake is in the report on the wrong answer, and not in that on the start.
	Mistake string `yaml:"mistake"`
}

// line is a line of check.story that expects something.
type line struct {
	number int
	// guesses are the names that it takes from guess.yaml.
	guesses []string
}

// All returns the exercises that come with the library, in order.
func All() ([]*Exercise, error) {
	root, err := fs.Sub(embedded, "exercises")
	if err != nil {
		return nil, err
	}
	return Load(root)
}

// Load reads exercises: each folder of root is one. An error names file, line and field.
func Load(root fs.FS) ([]*Exercise, error) {
	folders, err := fs.ReadDir(root, ".")
	if err != nil {
		return nil, err
	}
	var all []*Exercise
	rules := map[string]string{}
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		e, err := load(root, folder.Name())
		if err != nil {
			return nil, err
		}
		if other, twice := rules[e.Rule]; twice {
			return nil, fmt.Errorf("%s/%s: rule: %q is the rule of %s already; each exercise has one of its own", e.Name, exerciseFile, e.Rule, other)
		}
		rules[e.Rule] = e.Name
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no exercise: expected a folder for each")
	}
	return all, nil
}

// exerciseName matches the names of folders of exercises.
var exerciseName = regexp.MustCompile(`^[0-9]{2}-[a-z0-9-]+$`)

func load(root fs.FS, name string) (*Exercise, error) {
	if !exerciseName.MatchString(name) {
		return nil, fmt.Errorf("%s: the folder of an exercise has a name such as 03-which-volume", name)
	}
	e := &Exercise{Name: name, texts: map[string]Text{}}
	at := func(file string) string { return path.Join(name, file) }
	if err := e.describe(root, at(exerciseFile)); err != nil {
		return nil, err
	}
	if e.golang != "" {
		e.lacking = errors.New("it is in Go, and no checkout was looked for")
		e.expects = make([]line, goGoals)
		return e, e.readTexts(root)
	}
	for file, to := range map[string]*string{startStory: &e.start, checkStory: &e.check} {
		data, err := fs.ReadFile(root, at(file))
		if err != nil {
			return nil, missing(at(file), err)
		}
		*to = string(data)
	}
	for folder, to := range map[string]*map[string]string{"start": &e.given, "answer": &e.answer, "wrong": &e.wrong} {
		files, err := readFolder(root, at(folder))
		if err != nil {
			return nil, err
		}
		*to = files
	}
	for folder, files := range map[string]map[string]string{"answer": e.answer, "wrong": e.wrong} {
		for file := range files {
			if _, ok := e.given[file]; !ok {
				return nil, fmt.Errorf("%s: the learner has no such file; expected one of %s", path.Join(name, folder, file), strings.Join(e.Files(), ", "))
			}
		}
	}
	for _, file := range e.Yours {
		if _, ok := e.given[file]; !ok {
			return nil, fmt.Errorf("%s: yours: the learner has no file %q; expected one of %s", at(exerciseFile), file, strings.Join(e.Files(), ", "))
		}
	}
	if err := e.readExpects(at(checkStory)); err != nil {
		return nil, err
	}
	return e, e.readTexts(root)
}

// describe reads exercise.yaml.
func (e *Exercise) describe(root fs.FS, file string) error {
	data, err := fs.ReadFile(root, file)
	if err != nil {
		return missing(file, err)
	}
	var d description
	if err := decode(file, data, &d); err != nil {
		return err
	}
	for _, field := range []struct {
		name string
		bad  bool
		want string
	}{
		{"chapter", d.Chapter < 1, "the number of a chapter"},
		{"rule", d.Rule == "", "a rule of docs/semantics.md or a code of package explain"},
		{"mends", d.Mends < 1, "the number of things to mend, at least 1"},
		{"about", len(d.About) == 0 && d.Go == "", "the objects to explain, such as pvc/data"},
		{"symptom", d.Symptom == "", "words of the report on the start"},
		{"mistake", d.Mistake == "", "words of the report on the wrong answer"},
	} {
		if field.bad {
			return fmt.Errorf("%s: %s: expected %s", file, field.name, field.want)
		}
	}
	for _, c := range d.Commands {
		if !slices.Contains(story.Commands(), c) {
			return fmt.Errorf("%s: commands: stories have no command %q", file, c)
		}
	}
	e.Chapter, e.Rule, e.Mends, e.InTime, e.Commands = d.Chapter, d.Rule, d.Mends, d.InTime, d.Commands
	e.golang, e.Yours = d.Go, d.Yours
	e.about, e.explain, e.symptom, e.mistake = d.About, d.Explain, d.Symptom, d.Mistake
	return nil
}

// unknownField matches the error of the YAML library for a field that a struct does not have.
var unknownField = regexp.MustCompile(`line (\d+): field (\S+) not found in type \S+`)

// decode reads YAML into a struct that has all its fields. CRLF is read as LF. Errors name file and line.
func decode(file string, data []byte, into any) error {
	dec := yaml.NewDecoder(bytes.NewReader(normal(data)))
	dec.KnownFields(true)
	err := dec.Decode(into)
	switch wrong := (*yaml.TypeError)(nil); {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s: the file is empty", file)
	case errors.As(err, &wrong):
		text := unknownField.ReplaceAllString(wrong.Errors[0], `line $1: unknown field "$2"`)
		return fmt.Errorf("%s:%s", file, strings.TrimPrefix(text, "line "))
	case err != nil:
		return fmt.Errorf("%s:%s", file, strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "line "))
	}
	return nil
}

// normal returns a file's text as editors on other systems write it.
func normal(data []byte) []byte {
	return bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
}

// missing returns the error of a file that cannot be read.
func missing(file string, err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// readFolder returns the files of a folder by name.
func readFolder(root fs.FS, folder string) (map[string]string, error) {
	entries, err := fs.ReadDir(root, folder)
	if err != nil {
		return nil, missing(folder, err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		data, err := fs.ReadFile(root, path.Join(folder, entry.Name()))
		if err != nil {
			return nil, missing(path.Join(folder, entry.Name()), err)
		}
		files[entry.Name()] = string(data)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: the folder is empty", folder)
	}
	return files, nil
}

// guess matches a word that stands for a guess.
var guess = regexp.MustCompile(`\$([a-z][a-zA-Z]*)`)

// readExpects finds the lines of check.story that expect something.
func (e *Exercise) readExpects(file string) error {
	for i, text := range strings.Split(e.check, "\n") {
		if strings.HasPrefix(text, "#") || !strings.HasPrefix(text, "expect ") {
			continue
		}
		l := line{number: i + 1}
		for _, m := range guess.FindAllStringSubmatch(text, -1) {
			l.guesses = append(l.guesses, m[1])
		}
		if _, ok := e.given[GuessFile]; !ok && len(l.guesses) > 0 {
			return fmt.Errorf("%s:%d: $%s stands for a guess, and start/ has no %s", file, i+1, l.guesses[0], GuessFile)
		}
		e.expects = append(e.expects, l)
	}
	if len(e.expects) == 0 {
		return fmt.Errorf("%s: expected at least one command expect", file)
	}
	return nil
}

// Files returns the names of the files that the learner gets, sorted.
func (e *Exercise) Files() []string { return slices.Sorted(maps.Keys(e.given)) }

// Answer returns the files of the official answer that differ from those the learner has got, by name.
func (e *Exercise) Answer() map[string]string { return maps.Clone(e.answer) }

// Version names what the learner has got: it changes with the files of the exercise.
func (e *Exercise) Version() string {
	h := sha256.New()
	for _, file := range e.Files() {
		fmt.Fprintf(h, "%s\n%d\n%s", file, len(e.given[file]), e.given[file])
	}
	fmt.Fprintf(h, "%s\n%s", e.start, e.check)
	return hex.EncodeToString(h.Sum(nil))[:8]
}
