package shell

import (
	"bytes"
	"io"
	"time"
)

// Input is the input of a process. Processes that share one continue where the last one
// stopped.
type Input struct {
	data []byte
	from io.Reader           // what follows data, read at the first read
	wait func(time.Duration) // lets time pass while from is Pending
	err  error               // returned by every read: it is a directory
	size int                 // bytes that it was opened with
	pipe *pipe               // what follows data comes through it
}

// Pending is a standard input that is not complete yet, such as a connection. A program
// that reads it waits, for Forever, until it is run again.
type Pending interface {
	io.Reader
	// Pending reports whether the input is incomplete.
	Pending() bool
}

// fill reads the standard input, at most limit bytes.
func (in *Input) fill(limit int) {
	if in.pipe != nil {
		in.pipe.await(func() bool { return false })
		in.data = append(in.data, in.pipe.take()...)
		in.pipe = nil
		return
	}
	if in.from == nil {
		return
	}
	for from, ok := in.from.(Pending); ok && from.Pending(); {
		in.wait(Forever)
	}
	var more []byte
	more, in.err = io.ReadAll(io.LimitReader(in.from, int64(limit)+1))
	if in.from = nil; len(more) > limit {
		tooMuch("a standard input of more than %d bytes", limit)
	}
	in.data = append(in.data, more...)
}

// all returns the rest.
func (in *Input) all() ([]byte, error) { return in.allOf(maxValue) }

// allOf returns the rest, at most limit bytes of a standard input.
func (in *Input) allOf(limit int) ([]byte, error) {
	in.fill(limit)
	data := in.data
	in.data = nil
	return data, in.err
}

// some returns what there is of an input that a program writes meanwhile, whole lines if it may, or else all of it. It waits until there is something;
// more is false at the end.
func (in *Input) some(lines bool) (data []byte, more bool, err error) {
	if in.pipe == nil {
		data, err = in.all()
		return data, false, err
	}
	end := func(data []byte) int {
		if lines {
			return bytes.LastIndexByte(data, '\n') + 1
		}
		return len(data)
	}
	if end(in.data) == 0 {
		in.pipe.await(func() bool { return end(in.pipe.data) > 0 })
		in.data = append(in.data, in.pipe.take()...)
	}
	n := end(in.data)
	if in.pipe.closed {
		n = len(in.data)
	}
	data, in.data = in.data[:n:n], in.data[n:]
	return data, !in.pipe.closed, nil
}

// text returns the rest; nothing after an error.
func (in *Input) text() string {
	data, err := in.all()
	if err != nil {
		return ""
	}
	return string(data)
}

// line returns the next line without its end; ok is false if the input ends in it.
func (in *Input) line() (line []byte, ok bool) {
	if in.pipe == nil {
		in.fill(maxValue)
	} else if !bytes.Contains(in.data, []byte{'\n'}) {
		in.pipe.await(func() bool { return bytes.Contains(in.pipe.data, []byte{'\n'}) })
		in.data = append(in.data, in.pipe.take()...)
	}
	line, rest, ok := bytes.Cut(in.data, []byte{'\n'})
	in.data = rest
	return line, ok
}

// captured keeps the output of a substitution, or of the left part of a pipe.
type captured struct {
	program *Program
	data    []byte
}

func (c *captured) Write(data []byte) (int, error) {
	if len(c.data)+len(data) > maxValue {
		tooMuch("a pipe or a substitution of more than %d bytes", maxValue)
	}
	c.program.hold(len(data))
	c.data = append(c.data, data...)
	return len(data), nil
}

// release stops to charge the program for the output.
func (c *captured) release() { c.program.hold(-len(c.data)) }

// streamBlock is the number of bytes that a program which uses the C library's streams collects before it writes them to what is no terminal.
const streamBlock = 4096

// blocks writes in blocks to the standard output, as the C library does.
type blocks struct {
	*Process
	data []byte
	told bool
}

// Write implements io.Writer.
func (b *blocks) Write(data []byte) (int, error) {
	b.data = append(b.data, data...)
	if full := len(b.data) / streamBlock * streamBlock; full > 0 {
		out := b.data[:full:full]
		b.data = b.data[full:]
		return len(data), b.write(out)
	}
	if !b.told && len(b.data) > 0 {
		b.told = true
		b.program.note("%s keeps what it prints until it has %d bytes or ends, since that goes to no terminal", b.Argv[0], streamBlock)
	}
	return len(data), nil
}

// flush writes the rest.
func (b *blocks) flush() error {
	data := b.data
	b.data = nil
	return b.write(data)
}

// tail keeps the end of what is written to it.
type tail struct {
	data []byte
	all  int64 // bytes that were written
}

func (t *tail) Write(data []byte) (int, error) {
	t.all += int64(len(data))
	t.data = append(t.data, data...)
	if over := len(t.data) - maxLog; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(data), nil
}

// fileOutput appends to a file that was opened.
type fileOutput struct {
	files *files
	name  string
}

func (f *fileOutput) Write(data []byte) (int, error) {
	if err := f.files.write(f.name, data); err != nil {
		return 0, err
	}
	return len(data), nil
}

// closedOutput is an output that is not open.
type closedOutput struct{}

func (closedOutput) Write([]byte) (int, error) { return 0, errBadDescriptor }
