package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/storagesim/storagesim/machine/disk"
)

// found is a file that find visits.
type found struct {
	name  string // as find prints it
	full  string
	info  fs.FileInfo
	prune bool
}

// predicate is a part of find's expression.
type predicate func(f *found) bool

// finder is one run of find.
type finder struct {
	p          *Process
	args       []string
	minDepth   int
	maxDepth   int
	depthFirst bool
	acts       bool // the expression has an action: files that it holds for are not printed
	errs       []error
	err        error
	batches    []*batch
}

// batch collects the names for "-exec COMMAND {} +".
type batch struct {
	argv, names []string
	size        int
}

// find implements "find [PATH...] [EXPRESSION]".
func find(p *Process) error {
	f := &finder{p: p, args: p.Argv[1:], maxDepth: 1 << 20}
	var paths []string
	for len(f.args) > 0 && !strings.HasPrefix(f.args[0], "-") && f.args[0] != "(" && f.args[0] != "!" {
		paths, f.args = append(paths, f.args[0]), f.args[1:]
	}
	if len(paths) == 0 {
		paths = []string{"."}
	}
	holds := predicate(func(*found) bool { return true })
	if len(f.args) > 0 {
		holds = f.or()
	}
	if f.err == nil && len(f.args) > 0 {
		f.err = fmt.Errorf("unexpected '%s'", f.args[0])
	}
	if f.err != nil {
		return fmt.Errorf("find: %w", f.err)
	}
	for _, name := range paths {
		f.visit(name, p.Path(name), 0, holds)
	}
	for _, b := range f.batches {
		f.runBatch(b)
	}
	return errors.Join(f.errs...)
}

// visit evaluates the expression for a file and all below it.
func (f *finder) visit(name, full string, depth int, holds predicate) {
	f.p.program.step(1)
	info, err := f.p.program.files.lstat(full)
	if err != nil {
		f.errs = append(f.errs, cannot("find", "cannot look at", name, err))
		return
	}
	file := &found{name: name, full: full, info: info}
	look := func() {
		if depth >= f.minDepth && holds(file) && !f.acts {
			f.errs = append(f.errs, f.p.printf("%s\n", name))
		}
	}
	if !f.depthFirst {
		look()
	}
	if info.IsDir() && depth < f.maxDepth && !file.prune {
		names, err := f.p.program.files.list(full)
		if err != nil {
			f.errs = append(f.errs, cannot("find", "cannot read", name, err))
		}
		for _, child := range names {
			f.visit(strings.TrimSuffix(name, "/")+"/"+child, path.Join(full, child), depth+1, holds)
		}
	}
	if f.depthFirst {
		look()
	}
}

func (f *finder) next(words ...string) bool {
	for _, word := range words {
		if f.err == nil && len(f.args) > 0 && f.args[0] == word {
			f.args = f.args[1:]
			return true
		}
	}
	return false
}

func (f *finder) or() predicate {
	left := f.and()
	for f.next("-o", "-or") {
		a, b := left, f.and()
		left = func(file *found) bool { return a(file) || b(file) }
	}
	return left
}

func (f *finder) and() predicate {
	left := f.not()
	for f.err == nil && len(f.args) > 0 && f.args[0] != "-o" && f.args[0] != "-or" && f.args[0] != ")" {
		f.next("-a", "-and")
		a, b := left, f.not()
		left = func(file *found) bool { return a(file) && b(file) }
	}
	return left
}

func (f *finder) not() predicate {
	if f.next("!", "-not") {
		inner := f.not()
		return func(file *found) bool { return !inner(file) }
	}
	if f.next("(") {
		inner := f.or()
		if !f.next(")") && f.err == nil {
			f.err = errors.New("')' is missing")
		}
		return inner
	}
	return f.primary()
}

// primary reads one test or action.
func (f *finder) primary() predicate {
	yes := func(*found) bool { return true }
	if f.err != nil || len(f.args) == 0 {
		f.err = errors.Join(f.err, errors.New("an expression is missing"))
		return yes
	}
	word := f.args[0]
	f.args = f.args[1:]
	switch word {
	case "-mindepth":
		f.minDepth = f.depth()
	case "-maxdepth":
		f.maxDepth = f.depth()
	case "-depth":
		f.depthFirst = true
	case "-xdev", "-mount":
	case "-true":
	case "-name", "-path", "-wholename":
		return f.named(word, f.argument(word))
	case "-type":
		return f.ofType(f.argument(word))
	case "-empty":
		return f.empty
	case "-prune":
		return func(file *found) bool {
			file.prune = true
			return true
		}
	case "-print", "-print0":
		f.acts = true
		end := map[string]string{"-print": "\n", "-print0": "\x00"}[word]
		return func(file *found) bool { return f.p.printf("%s%s", file.name, end) == nil }
	case "-delete":
		f.acts, f.depthFirst = true, true
		return f.remove
	case "-exec":
		return f.exec()
	default:
		f.err = fmt.Errorf("%s is not supported; the tests and actions are -name -path -type -empty -mindepth -maxdepth -depth -prune -print -print0 -delete -exec",
			word)
	}
	return yes
}

func (f *finder) argument(word string) string {
	if len(f.args) == 0 {
		f.err = fmt.Errorf("missing argument to '%s'", word)
		return ""
	}
	arg := f.args[0]
	f.args = f.args[1:]
	return arg
}

func (f *finder) depth() int {
	text := f.argument("-mindepth or -maxdepth")
	n, err := strconv.Atoi(text)
	if f.err == nil && (err != nil || n < 0) {
		f.err = fmt.Errorf("'%s': the depth must be a number", text)
	}
	return n
}

func (f *finder) named(word, text string) predicate {
	pattern := f.p.program.compile(text)
	return func(file *found) bool {
		if word == "-name" {
			return f.p.program.match(pattern, path.Base(file.name))
		}
		return f.p.program.match(pattern, file.name)
	}
}

func (f *finder) ofType(kind string) predicate {
	bits, ok := map[string]fs.FileMode{"f": 0, "d": fs.ModeDir, "l": fs.ModeSymlink, "p": fs.ModeNamedPipe, "s": fs.ModeSocket}[kind]
	if !ok && f.err == nil {
		f.err = fmt.Errorf("type '%s' is not supported; the types are f, d, l, p and s", kind)
	}
	return func(file *found) bool { return file.info.Mode().Type() == bits }
}

func (f *finder) empty(file *found) bool {
	if !file.info.IsDir() {
		return file.info.Mode().IsRegular() && file.info.Size() == 0
	}
	names, err := f.p.program.files.list(file.full)
	return err == nil && len(names) == 0
}

func (f *finder) remove(file *found) bool {
	if file.name == "." {
		return true
	}
	err := f.p.doLink(file.full, true, func(dir *disk.Disk, name string) error {
		if name == "/" {
			return errBusy
		}
		return dir.Remove(name)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.errs = append(f.errs, cannot("find", "cannot delete", file.name, err))
		return false
	}
	return true
}

// exec reads "-exec COMMAND {} ;", which holds if the command succeeds, and
// "-exec COMMAND {} +".
func (f *finder) exec() predicate {
	f.acts = true
	var argv []string
	for f.err == nil {
		word := f.argument("-exec")
		if word == ";" {
			break
		}
		if word == "+" && len(argv) > 1 && argv[len(argv)-1] == "{}" {
			b := &batch{argv: argv[:len(argv)-1]}
			f.batches = append(f.batches, b)
			return func(file *found) bool {
				b.names = append(b.names, file.name)
				if b.size += len(file.name) + wordCost; b.size > maxValue {
					f.runBatch(b)
				}
				return true
			}
		}
		argv = append(argv, word)
	}
	if len(argv) == 0 && f.err == nil {
		f.err = errors.New("-exec: a command is missing")
	}
	return func(file *found) bool {
		command, size := make([]string, len(argv)), 0
		for i, word := range argv {
			if size += len(word) + strings.Count(word, "{}")*len(file.name); size > maxCommand {
				tooMuch("find: -exec: a command of more than %d bytes", maxCommand)
			}
			command[i] = strings.ReplaceAll(word, "{}", file.name)
		}
		f.p.program.work(size)
		return f.run(command)
	}
}

// runBatch runs a command with the names that were collected.
func (f *finder) runBatch(b *batch) {
	if len(b.names) > 0 {
		f.run(slices.Concat(b.argv, b.names))
	}
	b.names, b.size = nil, 0
}

func (f *finder) run(argv []string) bool {
	return f.p.program.exec(f.p.another(argv)) == 0
}
