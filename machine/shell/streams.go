package shell

import (
	"bytes"
	"io"
	"time"
)

// Input is what a process reads. Processes that share one go on where the last one
// stopped.
type Input struct {
	data []byte
	from io.Reader           // what follows data, read at the first read
	wait func(time.Duration) // lets time pass while from is Pending
	err  error               // of every read: it is a directory
}

// Pending is a standard input whose end has not come yet, such as a connection: a program
// that reads it waits, for Forever, until it is run again.
type Pending interface {
	io.Reader
	// Pending says whether the end is still to come.
	Pending() bool
}

// fill reads what there is, at most limit bytes.
func (in *Input) fill(limit int) {
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

// all is the rest.
func (in *Input) all() ([]byte, error) { return in.allOf(maxValue) }

// allOf is the rest, for a program that may read more than others at once.
func (in *Input) allOf(limit int) ([]byte, error) {
	in.fill(limit)
	data := in.data
	in.data = nil
	return data, in.err
}

// text is the rest for those who take a failure for the end.
func (in *Input) text() string {
	data, err := in.all()
	if err != nil {
		return ""
	}
	return string(data)
}

// line is the next line without its end; ok is false if the input ends in it.
func (in *Input) line() (line []byte, ok bool) {
	in.fill(maxValue)
	line, rest, ok := bytes.Cut(in.data, []byte{'\n'})
	in.data = rest
	return line, ok
}

// captured is output that is kept for what comes after.
type captured struct{ data []byte }

func (c *captured) Write(data []byte) (int, error) {
	if len(c.data)+len(data) > maxValue {
		tooMuch("a pipe or a substitution of more than %d bytes", maxValue)
	}
	c.data = append(c.data, data...)
	return len(data), nil
}

// tail keeps the end of what is written.
type tail struct{ data []byte }

func (t *tail) Write(data []byte) (int, error) {
	t.data = append(t.data, data...)
	if over := len(t.data) - maxLog; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(data), nil
}

// fileOutput appends to a file that was opened.
type fileOutput struct {
	files *Files
	name  string
}

func (f *fileOutput) Write(data []byte) (int, error) {
	if err := f.files.write(f.name, data); err != nil {
		return 0, err
	}
	return len(data), nil
}

// closedOutput is a descriptor that is not open.
type closedOutput struct{}

func (closedOutput) Write([]byte) (int, error) { return 0, errBadDescriptor }

// isDevice says what a path below /dev stands for.
func isDevice(name string) bool {
	switch name {
	case "/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty":
		return true
	}
	return false
}
