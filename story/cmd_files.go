package story

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

func fileCommands() []*command {
	return []*command{
		{
			name: "write", usage: "write pod/NAME:PATH|node/NAME:PATH TEXT...", run: write, input: true,
			help: "write a file, through a pod's mounts or on a node; the text is the words, or the input",
		},
		{name: "read", usage: "read pod/NAME:PATH|node/NAME:PATH", help: "print a file, through a pod's mounts or on a node; * stands for what is there", run: read},
		{name: "ls", usage: "ls pod/NAME:PATH|node/NAME:PATH", help: "list a directory, through a pod's mounts or on a node; * stands for what is there", run: ls},
	}
}

// place reads WHERE:PATH.
func (c *call) place() (where, path string, err error) {
	where, path, ok := strings.Cut(c.args[0], ":")
	kind, name, slash := strings.Cut(where, "/")
	if !ok || !slash || name == "" || kind != "pod" && kind != "node" {
		return "", "", c.misuse("%q is no place; expected pod/NAME:PATH or node/NAME:PATH", c.args[0])
	}
	if !strings.HasPrefix(path, "/") {
		return "", "", c.misuse("%q is not an absolute path", path)
	}
	return where, path, nil
}

// found is place with the stars in the path replaced. A path that goes up is
// left to the node to refuse.
func (c *call) found() (where, path string, err error) {
	where, path, err = c.place()
	if err == nil && strings.Contains(path, "*") && !strings.Contains(path, "..") {
		path, err = c.glob(where, path)
	}
	return where, path, err
}

// plainError is printed as it is, as a shell's commands print theirs.
type plainError string

func (e plainError) Error() string { return string(e) }

// missing says in the words of the shell that there is no such file.
func missing(command, path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return plainError(fmt.Sprintf("%s: %s: No such file or directory", command, path))
	}
	return err
}

// glob replaces each * in a path by the names it stands for, as a shell does,
// and wants one path in the end.
func (c *call) glob(where, pattern string) (string, error) {
	paths := []string{"/"}
	for element := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, dir := range paths {
			if !strings.Contains(element, "*") {
				next = append(next, path.Join(dir, element))
				continue
			}
			names, err := c.cluster.ListDir(where, dir)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
			for _, name := range names {
				name = strings.TrimSuffix(name, "/")
				if matched, err := path.Match(element, name); err != nil {
					return "", misuse{err}
				} else if matched {
					next = append(next, path.Join(dir, name))
				}
			}
		}
		paths = next
	}
	switch len(paths) {
	case 0:
		return pattern, nil // as a shell leaves what matches nothing
	case 1:
		return paths[0], nil
	}
	return "", fmt.Errorf("%s is any of %s", pattern, strings.Join(paths, ", "))
}

func write(c *call) error {
	if err := c.want(1, -1); err != nil {
		return err
	}
	where, path, err := c.place()
	if err != nil {
		return err
	}
	lines := c.input
	if len(c.args) > 1 {
		if c.input != nil {
			return c.misuse("the text is in the command and in the input; expected one of them")
		}
		lines = []string{strings.Join(c.args[1:], " ")}
	}
	if lines == nil {
		return c.misuse("there is no text to write")
	}
	return missing("write", path, c.cluster.WriteFile(where, path, []byte(strings.Join(lines, "\n")+"\n")))
}

func read(c *call) error {
	if err := c.want(1, 1); err != nil {
		return err
	}
	where, path, err := c.found()
	if err != nil {
		return err
	}
	data, err := c.cluster.ReadFile(where, path)
	c.Write(data)
	return missing("read", path, err)
}

func ls(c *call) error {
	if err := c.want(1, 1); err != nil {
		return err
	}
	where, path, err := c.found()
	if err != nil {
		return err
	}
	names, err := c.cluster.ListDir(where, path)
	for _, name := range names {
		c.say("%s", name)
	}
	return missing("ls", path, err)
}
