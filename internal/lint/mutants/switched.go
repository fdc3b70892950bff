package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/tools/go/packages"
)

// helper is a file that is put into the package beside the changed ones. The package's tests say in the environment which mutant is on,
// and where to write which ones were reached.
const helper = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantThatIsOn, _ = strconv.Atoi(os.Getenv(%q))
	mutantsReached    = func() *os.File { f, _ := os.OpenFile(os.Getenv(%q), os.O_APPEND|os.O_WRONLY, 0); return f }()
	mutantsSeen       [%d]atomic.Bool
)

func mutantIsOn(number int) bool {
	if mutantsReached != nil && !mutantsSeen[number].Swap(true) {
		_, _ = mutantsReached.WriteString(strconv.Itoa(number) + "\n")
	}
	return number == mutantThatIsOn
}

func mutantNumber[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64](
	number, more int, value T) T {
	if mutantIsOn(number) {
		return value + T(more)
	}
	return value
}
`

const (
	isOn    = "STORAGESIM_MUTANT"
	reached = "STORAGESIM_MUTANTS_REACHED"
)

// switched is a package with all its mutants in it.
type switched struct {
	mutants map[int]*mutant
	left    int    // mutants that are no Go
	overlay string // the file for go build's -overlay
}

// load reads the package of a folder, with other texts for some of its files.
func load(folder string, texts map[string][]byte) (*packages.Package, error) {
	list, err := packages.Load(&packages.Config{
		Mode:    packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir:     folder,
		Overlay: texts,
	}, ".")
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("%s: %d packages", folder, len(list))
	}
	return list[0], nil
}

// all returns the mutants of a folder's package, numbered from 1, and the sources of its files. The mutants' files are named as the folder is.
func all(folder string, matching *regexp.Regexp) (name string, mutants map[int]*mutant, sources map[string][]byte, err error) {
	p, err := load(folder, nil)
	if err != nil {
		return "", nil, nil, err
	}
	for _, e := range p.Errors {
		return "", nil, nil, e
	}
	sources = map[string][]byte{}
	for _, file := range p.CompiledGoFiles {
		if sources[file], err = os.ReadFile(file); err != nil {
			return "", nil, nil, err
		}
	}
	mutants = map[int]*mutant{}
	for i, m := range mutantsOf(p, sources, matching) {
		mutants[i+1] = m
	}
	return p.Name, mutants, sources, nil
}

// prepare writes the overlay with a package's mutants into a folder, without those that are no Go.
func prepare(folder, into string, matching *regexp.Regexp) (*switched, error) {
	name, mutants, sources, err := all(folder, matching)
	if err != nil {
		return nil, err
	}
	s := &switched{mutants: mutants, overlay: filepath.Join(into, "overlay.json")}
	dir, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	total := len(mutants)
	var texts map[string][]byte
	for {
		texts = map[string][]byte{filepath.Join(dir, "mutants_that_are_switched.go"): fmt.Appendf(nil, helper, name, isOn, reached, total+1)}
		places := map[string]map[int]piece{}
		for file, source := range sources {
			texts[file], places[file] = withAll(source, of(mutants, file))
		}
		p, err := load(folder, texts)
		if err != nil {
			return nil, err
		}
		if len(p.Errors) == 0 {
			break
		}
		before := len(mutants)
		for _, e := range p.TypeErrors {
			at := e.Fset.Position(e.Pos)
			delete(mutants, innermost(places[at.Filename], at.Offset))
		}
		if len(mutants) == before {
			return nil, errors.Join(p.Errors[0], errors.New("no mutant is there"))
		}
		s.left += before - len(mutants)
	}
	replace := map[string]string{}
	for file, text := range texts {
		replace[file] = filepath.Join(into, filepath.Base(file))
		if err := os.WriteFile(replace[file], text, 0o600); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return nil, err
	}
	for _, m := range mutants {
		m.file = filepath.Join(folder, filepath.Base(m.file))
	}
	return s, os.WriteFile(s.overlay, text, 0o600)
}

// of returns the mutants of one file.
func of(mutants map[int]*mutant, file string) map[int]*mutant {
	list := maps.Clone(mutants)
	maps.DeleteFunc(list, func(_ int, m *mutant) bool { return m.file != file })
	return list
}

// innermost returns the number of the smallest mutant around an offset, 0 for none.
func innermost(places map[int]piece, offset int) int {
	best := 0
	for number, p := range places {
		if p.from <= offset && offset < p.to &&
			(best == 0 || p.to-p.from < places[best].to-places[best].from || p.to-p.from == places[best].to-places[best].from && number < best) {
			best = number
		}
	}
	return best
}
