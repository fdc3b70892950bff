package shell

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// tailPause is the time between two looks of "tail -f", as busybox'.
const tailPause = time.Second

// tailOf implements "tail": it prints the end of files. With -f it goes on to print what is added to them, with -F also to one that comes later.
func tailOf(p *Process) error {
	n, inBytes, from, flags, names, err := headCount(p, "fFq")
	if err != nil {
		return err
	}
	n = max(n, -n)
	t := followed{Process: p, quiet: has(flags, "q"), late: has(flags, "F")}
	err = p.parts(names, t.quiet, func(data []byte) []byte {
		if inBytes && from {
			return data[min(max(0, n-1), len(data)):]
		}
		if inBytes {
			return data[max(0, len(data)-n):]
		}
		if from {
			return data[lineStart(data, n-1):]
		}
		lines := bytes.Count(data, []byte{'\n'})
		if len(data) > 0 && data[len(data)-1] != '\n' {
			lines++
		}
		return data[lineStart(data, lines-n):]
	})
	if !has(flags, "f", "F") {
		return err
	}
	p.complain(err)
	for _, name := range names {
		t.add(name)
	}
	if len(names) > 0 && len(t.files) == 0 && !t.unchanging {
		return &ExitError{Code: 1}
	}
	return t.run()
}

// followed are the files whose ends "tail -f" prints.
type followed struct {
	*Process
	quiet, late bool // -q and -F
	files       []followedFile
	last        int  // the file of which something was printed last
	unchanging  bool // there is a device or the standard input among them, to which nothing is added
}

// followedFile is one of them.
type followedFile struct {
	name  string
	there bool
	seen  int64 // how much of it was printed
}

// add follows a file if there is one, or it may come.
func (t *followed) add(name string) {
	full := t.Path(name)
	if name == "-" || isDevice(t.program.files.follow(full, true)) {
		t.unchanging = true
		return
	}
	f := followedFile{name: name}
	if info, err := t.program.files.stat(full); err == nil {
		f.there, f.seen = true, info.Size()
		if info.IsDir() {
			return
		}
	}
	if f.there || t.late {
		t.last = len(t.files)
		t.files = append(t.files, f)
	}
}

// run prints what is added to the files, for ever.
func (t *followed) run() error {
	for len(t.files) == 0 {
		t.Sleep(Forever)
	}
	for {
		t.Sleep(tailPause)
		for i := range t.files {
			if err := t.look(i); err != nil {
				return err
			}
		}
	}
}

// look prints what is new in a file.
func (t *followed) look(i int) error {
	t.program.step(1)
	f := &t.files[i]
	size, missing := t.size(f.name)
	switch {
	case missing != "" && t.late && f.there:
		t.complain(fmt.Errorf("tail: %s has become inaccessible: %s", f.name, missing))
		f.there, f.seen = false, 0
		return nil
	case missing != "" || size == f.seen && f.there:
		return nil
	case !f.there:
		t.complain(fmt.Errorf("tail: %s has appeared; following new file", f.name))
		f.there = true
	case size < f.seen:
		t.complain(fmt.Errorf("tail: %s: file truncated", f.name))
		f.seen = 0
	}
	data, err := t.input(f.name)
	if err != nil {
		return fmt.Errorf("tail: %s: %w", f.name, reason(err))
	}
	added := data[min(f.seen, int64(len(data))):]
	if f.seen = int64(len(data)); len(added) == 0 {
		return nil
	}
	if len(t.files) > 1 && !t.quiet && i != t.last {
		added = slices.Concat(fmt.Appendf(nil, "\n==> %s <==\n", f.name), added)
	}
	t.last = i
	return t.write(added)
}

// size returns how long a file is, or why it is not there.
func (t *followed) size(name string) (n int64, missing string) {
	info, err := t.program.files.stat(t.Path(name))
	switch {
	case err != nil:
		return 0, reason(err).Error()
	case info.IsDir():
		return 0, errIsDirectory.Error()
	}
	return info.Size(), ""
}
