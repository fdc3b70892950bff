package programs

import (
	"bytes"
	"io"
)

// Input is what a process reads. Processes that share one go on where the last one
// stopped.
type Input struct {
	data []byte
	from io.Reader // what follows data, read at the first read
	err  error     // of every read: it is a directory
}

// fill reads what there is.
func (in *Input) fill() {
	if in.from == nil {
		return
	}
	var more []byte
	more, in.err = io.ReadAll(io.LimitReader(in.from, maxValue+1))
	if in.from = nil; len(more) > maxValue {
		tooMuch("a standard input of more than %d bytes", maxValue)
	}
	in.data = append(in.data, more...)
}

// all is the rest.
func (in *Input) all() ([]byte, error) {
	in.fill()
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
	in.fill()
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
