package story

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
)

func fileCommands() []*command {
	return []*command{
		{
			name: "export", usage: "export nfs/SERVER:PATH", run: export,
			help: "have an NFS server export a directory; server and directory are made if they are not there\n" +
				"Nodes can mount what is exported and nothing else.",
		},
		{
			name: "write", usage: "write pod/NAME:PATH|node/NAME:PATH|nfs/SERVER:PATH TEXT...", run: write, input: true,
			help: "write a file, through a pod's mounts or on a machine; the text is the words, or the input",
		},
		{
			name: "mkdir", usage: "mkdir pod/NAME:PATH|node/NAME:PATH|nfs/SERVER:PATH [-m MODE]", run: mkdir,
			flags: func(f *pflag.FlagSet) { f.StringP("mode", "m", "0755", "") },
			help: "make a directory and its parents, through a pod's mounts or on a machine\n" +
				"MODE is octal, default 0755, and is that of the last element; a directory that exists keeps its own.",
		},
		{name: "read", usage: "read pod/NAME:PATH|node/NAME:PATH|nfs/SERVER:PATH",
			help: "print a file, through a pod's mounts or on a machine; * stands for what is there", run: read, reads: true},
		{name: "ls", usage: "ls pod/NAME:PATH|node/NAME:PATH|nfs/SERVER:PATH",
			help: "list a directory, through a pod's mounts or on a machine; * stands for what is there", run: ls, reads: true},
	}
}

// place reads WHERE:PATH.
func (c *call) place() (where, path string, err error) {
	at := strings.Index(c.args[0], ":")
	if strings.HasPrefix(c.args[0], "nfs/") { // whose name may be an IPv6 address
		at = strings.Index(c.args[0], ":/")
	}
	where, path = c.args[0][:max(at, 0)], c.args[0][at+1:]
	kind, name, slash := strings.Cut(where, "/")
	resource, _ := manifest.FindResource(c.kinds(), kind)
	if !slash || name == "" || resource.Kind != "Pod" && kind != "node" && kind != "nfs" {
		return "", "", c.misuse("%q is not a place%s; expected pod/NAME:PATH, node/NAME:PATH or nfs/SERVER:PATH", c.args[0], c.didYouMean(where, path))
	}
	if !strings.HasPrefix(path, "/") {
		return "", "", c.misuse("%q is not an absolute path", path)
	}
	return where, path, nil
}

// didYouMean suggests the machine that is nearest to where, with the path.
func (c *call) didYouMean(where, path string) string {
	if machine := prose.Nearest(where, c.cluster.Lab().Machines()); machine != "" {
		return prose.Suggest(machine + ":" + path)
	}
	return ""
}

// found returns the place with the stars in its path replaced. It leaves a path with ".." to
// the node, which refuses it.
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
			names, err := c.cluster.Machine(where).ListDir(dir)
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
			return c.misuse("both words and input are given; expected one of them")
		}
		lines = []string{strings.Join(c.args[1:], " ")}
	}
	if lines == nil {
		return c.misuse("no text is given; expected words after the path, or input")
	}
	return missing("write", path, c.cluster.Machine(where).WriteFile(path, strings.Join(lines, "\n")+"\n"))
}

// export makes the server with its first export.
func export(c *call) error {
	if err := c.want(1, 1); err != nil {
		return err
	}
	where, path, err := c.place()
	if err != nil {
		return err
	}
	name, ok := strings.CutPrefix(where, "nfs/")
	if !ok {
		return c.misuse("%q is not an NFS server; expected nfs/SERVER:PATH", c.args[0])
	}
	if server := c.cluster.Machine("nfs/" + name).NFSServer(); server != nil {
		return server.Export(path)
	}
	_, err = c.cluster.AddNFSServer(name, path)
	return err
}

func mkdir(c *call) error {
	if err := c.want(1, 1); err != nil {
		return err
	}
	where, path, err := c.place()
	if err != nil {
		return err
	}
	mode, err := strconv.ParseUint(c.flag("mode"), 8, 9)
	if err != nil {
		return c.misuse("mode: %q is not an octal mode from 0 to 0777, such as 0755", c.flag("mode"))
	}
	return c.cluster.Machine(where).MakeDir(path, fs.FileMode(mode))
}

func read(c *call) error {
	if err := c.want(1, 1); err != nil {
		return err
	}
	where, path, err := c.found()
	if err != nil {
		return err
	}
	text, err := c.cluster.Machine(where).ReadFile(path)
	c.WriteString(text)
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
	names, err := c.cluster.Machine(where).ListDir(path)
	for _, name := range names {
		c.say("%s", name)
	}
	return missing("ls", path, err)
}
