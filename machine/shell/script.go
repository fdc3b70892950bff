package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/machine/disk"
)

// parse reads a script. Messages call it name.
func (s *shell) parse(name, text string) (*syntax.File, error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("the script has %d bytes; at most %d are read", len(text), maxScript)
	}
	s.program.step(1 + len(text)/100)
	if parenthesesIn(text) > maxParentheses {
		return nil, fmt.Errorf("more than %d parentheses in each other", maxParentheses)
	}
	lang := syntax.LangPOSIX
	if s.bash {
		lang = syntax.LangBash
	}
	file, err := syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), name)
	if err == nil {
		err = refuse(file)
	}
	var parse syntax.ParseError
	var lang2 syntax.LangError
	switch {
	case errors.As(err, &parse):
		return nil, fmt.Errorf("line %d: syntax error: %s", parse.Pos.Line(), parse.Text)
	case errors.As(err, &lang2):
		return nil, fmt.Errorf("line %d: syntax error: %s: not in the language of %s", lang2.Pos.Line(), lang2.Feature,
			map[bool]string{false: "sh", true: "bash"}[s.bash])
	}
	return file, err
}

// parenthesesIn returns how deep parentheses are nested, wherever they stand: the parser
// takes seconds for a text of nothing else.
func parenthesesIn(text string) (deepest int) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
			deepest = max(deepest, depth)
		case ')':
			depth = max(0, depth-1)
		}
	}
	return deepest
}

// sh runs "sh [-eufx] FILE [ARG...]" and "sh [-eufx] -c SCRIPT [NAME [ARG...]]"; without
// either it reads the script from its input.
func sh(p *Process) error {
	defer p.program.enter()()
	s := newShell(p)
	defer s.release()
	args, inline, err := s.options(p.Argv[1:])
	s.inline = inline
	if err != nil {
		return &ExitError{2, fmt.Sprintf("%s: %v", p.Argv[0], err)}
	}
	var text string
	switch {
	case inline && len(args) == 0:
		return &ExitError{2, p.Argv[0] + ": -c requires an argument"}
	case inline:
		text, args = args[0], args[1:]
	case len(args) == 0:
		text = p.Stdin.text()
	default:
		if text, err = p.script(args[0]); err != nil {
			return &ExitError{2, fmt.Sprintf("%s: cannot open %s: %v", p.Argv[0], args[0], reason(err))}
		}
	}
	if len(args) > 0 {
		s.name = args[0]
		s.setArgs(args[1:])
	}
	return s.main(text)
}

// script reads a script from a file of the container.
func (p *Process) script(name string) (string, error) {
	if p.program.files.node == nil || p.program.files.isFresh(p.Path(name)) {
		return "", errNoFile
	}
	data, err := p.program.read(p.Path(name))
	return string(data), err
}

// options reads the options of the shell itself.
func (s *shell) options(args []string) (rest []string, inline bool, err error) {
	for len(args) > 0 && len(args[0]) > 1 && strings.ContainsAny(args[0][:1], "-+") {
		word := args[0]
		args = args[1:]
		if word == "--" {
			break
		}
		on := word[0] == '-'
		for _, flag := range word[1:] {
			switch {
			case flag == 'c':
				inline = true
			case flag == 'i' || flag == 'l' || flag == 's':
			case flag == 'o' && len(args) > 0:
				err = s.setOption(args[0], on)
				args = args[1:]
			default:
				err = s.setFlag(flag, on)
			}
			if err != nil {
				return nil, false, err
			}
		}
	}
	return args, inline, nil
}

// executable reports whether a file may be executed.
func (p *Process) executable(name string) bool {
	info, err := p.program.files.stat(p.Path(name))
	return err == nil && !info.IsDir() && p.program.files.may(p.Path(name), info, disk.Execute)
}

// runFile runs a file that is named as a command: a script, with or without "#!".
func (p *Program) runFile(proc *Process) int32 {
	name := proc.Argv[0]
	var info fs.FileInfo
	text, err := "", error(errNoFile)
	if !p.files.isFresh(proc.Path(name)) {
		info, err = p.files.stat(proc.Path(name))
	}
	if err == nil && info.IsDir() {
		err = errors.New("permission denied")
	}
	if err == nil {
		text, err = proc.script(name)
	}
	switch {
	case err != nil && reason(err).Error() == "permission denied":
		proc.complain(&ExitError{126, fmt.Sprintf("sh: %s: %v", name, reason(err))})
		return 126
	case err != nil:
		if code, taken := p.take(proc); taken {
			return code
		}
		proc.complain(&ExitError{127, p.notFound(proc)})
		return 127
	case !p.files.may(proc.Path(name), info, disk.Execute):
		proc.complain(&ExitError{126, fmt.Sprintf("sh: %s: permission denied", name)})
		return 126
	}
	interpreter := []string{"/bin/sh"}
	if line, ok := strings.CutPrefix(text, "#!"); ok {
		line, _, _ = strings.Cut(line, "\n")
		if words := strings.Fields(line); len(words) > 0 {
			interpreter = words
		}
	}
	if path.Base(interpreter[0]) == "env" && len(interpreter) > 1 {
		interpreter = interpreter[1:]
	}
	command, ok := p.lookup(interpreter[0])
	if !ok {
		if code, taken := p.take(&Process{Argv: interpreter, Dir: proc.Dir, program: p, decisive: proc.decisive, first: proc.first}); taken {
			return code
		}
		proc.complain(&ExitError{127, fmt.Sprintf("sh: %s: %s: not found", name, interpreter[0])})
		return 127
	}
	proc.Argv = append(interpreter, proc.Argv...)
	return proc.run(command)
}

// lookup finds a program by its name, or by its path in one of the usual directories.
func (p *Program) lookup(name string) (Command, bool) {
	switch path.Dir(name) {
	case "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin":
		name = path.Base(name)
	}
	command, ok := p.cfg.Commands[name]
	return command, ok
}

// exec runs a command: a program, or a script in a volume.
func (p *Program) exec(proc *Process) int32 {
	defer p.enter()()
	if command, ok := p.lookup(proc.Argv[0]); ok {
		return proc.run(command)
	}
	if strings.Contains(proc.Argv[0], "/") {
		return p.runFile(proc)
	}
	if code, taken := p.take(proc); taken {
		return code
	}
	proc.complain(&ExitError{127, p.notFound(proc)})
	return 127
}

// notFound returns the message about a program that does not exist. For a container's own
// command it lists the programs, since its reader may not know them.
func (p *Program) notFound(proc *Process) string {
	if !proc.top {
		return fmt.Sprintf("sh: %s: not found%s", proc.Argv[0], p.lacking(proc.Argv[0]))
	}
	return fmt.Sprintf("%s: not found; %s", proc.Argv[0], p.unknown(proc.Argv[0]))
}

// applets are programs that busybox has and the simulation does not.
const applets = " arping awk bc blkid bunzip2 bzip2 cal chroot cksum cmp comm cpio dc diff dmesg dnsdomainname ed expand expr fallocate fdisk flock fold " +
	"free fsync fuser gunzip gzip hexdump hostid httpd ifconfig install ionice ip killall less link logger losetup lsof mkfifo mkfs.ext2 " +
	"mkfs.vfat mknod more mountpoint nc netstat nice nl nohup nproc nslookup od paste patch pgrep ping pkill printenv ps rev route setsid " +
	"shuf split strings sum swapon tac taskset telnet timeout top tree truncate tsort tty umount uname unexpand unlink unxz unzip uptime " +
	"users vi watch wget which who xxd xz yes zcat "

// lacking says of a program of busybox that only the simulation lacks it. Of any other it says nothing, nor if Config.Absent does not take
// programs for those of the image.
func (p *Program) lacking(program string) string {
	if p.cfg.Absent != nil && p.cfg.Absent(program) != NotFound && program != "" && strings.Contains(applets, " "+program+" ") {
		return "; busybox has it, and this simulation does not"
	}
	return ""
}

// unknown says of a container's own program that it is not known, and which ones there are.
func (p *Program) unknown(program string) string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(p.cfg.Commands)), func(name string) bool { return strings.Contains(name, "/") })
	return "this simulation has no such program, and its image is not known to start with it" + prose.OneOf(program, names)
}
