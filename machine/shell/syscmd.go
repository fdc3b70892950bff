package shell

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Default returns the programs that containers have: shells, and what the scripts of
// storage tools use.
func Default() map[string]Command {
	return map[string]Command{
		"sh": sh, "ash": sh, "dash": sh, "bash": sh, "busybox": busybox, "env": env, "xargs": xargs,
		"mkdir": mkdir, "rm": rm, "rmdir": rmdir, "touch": touch, "cp": cp, "mv": mv, "ln": ln, "readlink": readlink, "realpath": realpath,
		"chmod": chmod, "chown": chown, "chgrp": chgrp, "ls": ls, "stat": stat, "df": df, "du": du, "dd": dd, "find": find, "tar": tarCommand,
		"cut": cut, "tr": tr, "uniq": uniq, "sed": sed, "mktemp": mktemp,
		"cat": cat, "tee": tee, "echo": echo, "printf": printf, "head": head, "tail": tailOf, "wc": wc, "grep": grep, "sort": sorted, "seq": seq,
		"base64": base64Of, "md5sum": md5sum, "sha1sum": sha1sum, "sha256sum": sha256sum, "sha512sum": sha512sum,
		"basename": basename, "dirname": dirname, "test": test, "[": test,
		"true": succeed, "false": fails, "sleep": sleep, "sync": succeed, "date": date, "hostname": hostname,
		"id": id, "kill": killProgram, "whoami": whoami, "pwd": pwd, "mount": mount,
		"nsenter": nsenter, "blockdev": blockdev, "xfs_quota": xfsQuota, "chattr": chattr, "setquota": setquota,
	}
}

func succeed(*Process) error { return nil }

func fails(*Process) error { return &ExitError{Code: 1} }

// busybox runs "busybox PROGRAM [ARG...]".
func busybox(p *Process) error {
	if len(p.Argv) < 2 {
		return errors.New("busybox: a program is missing")
	}
	return p.become(p.Argv[1:], p.Env)
}

// become runs another command in place of this one.
func (p *Process) become(argv []string, env map[string]string) error {
	child := p.another(argv)
	child.Env, child.first = env, p.first
	return child.call()
}

// call runs a command.
func (p *Process) call() error {
	if code := p.program.exec(p); code != 0 {
		return &ExitError{Code: code}
	}
	return nil
}

// env prints the environment, or runs a command with more of it.
func env(p *Process) error {
	args := p.Argv[1:]
	with := maps.Clone(p.Env)
	if with == nil || len(args) > 0 && (args[0] == "-i" || args[0] == "-") {
		with = map[string]string{}
	}
	for len(args) > 0 {
		name, value, ok := strings.Cut(args[0], "=")
		if ok {
			with[name] = value
		} else if !strings.HasPrefix(args[0], "-") {
			return p.become(args, with)
		}
		args = args[1:]
	}
	for _, name := range slices.Sorted(maps.Keys(with)) {
		if err := p.printf("%s=%s\n", name, with[name]); err != nil {
			return err
		}
	}
	return nil
}

// xargs runs a command with the words of its input, or with -I once for each line.
func xargs(p *Process) error {
	flags, args, err := leadingOptions(p.Argv, "0r", "nI")
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"echo"}
	}
	size := 1000
	if text, ok := flags["n"]; ok {
		if size, err = strconv.Atoi(text); err != nil || size < 1 {
			return fmt.Errorf("xargs: '%s': the number of arguments must be 1 or more", text)
		}
	}
	placeholder, each := flags["I"]
	if each && placeholder == "" {
		return errors.New("xargs: the text that -I replaces is empty")
	}
	split := strings.Fields
	if each {
		split = filledLines
	}
	if has(flags, "0") {
		split = func(text string) []string { return strings.FieldsFunc(text, func(c rune) bool { return c == 0 }) }
	}
	words := split(p.Stdin.text())
	if len(words) == 0 && !each && !has(flags, "r") {
		return p.another(args).call()
	}
	var failed error
	run := func(argv []string) {
		if p.another(argv).call() != nil {
			failed = &ExitError{Code: 123}
		}
	}
	if each {
		for _, word := range words {
			argv := make([]string, len(args))
			for i, arg := range args {
				argv[i] = strings.ReplaceAll(arg, placeholder, word)
			}
			run(argv)
		}
		return failed
	}
	for batch := range slices.Chunk(words, size) {
		run(slices.Concat(args, batch))
	}
	return failed
}

// filledLines returns the lines of a text that are not blank, without the blanks before them.
func filledLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimLeft(strings.TrimSuffix(line, "\n"), " \t"); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// sleep waits on the virtual clock.
func sleep(p *Process) error {
	total := time.Duration(0)
	if len(p.Argv) < 2 {
		return errors.New("sleep: missing operand")
	}
	for _, text := range p.Argv[1:] {
		d, err := sleepTime(text)
		if err != nil {
			return err
		}
		total = min(total+d, Forever)
	}
	p.Sleep(total)
	for total == Forever {
		p.Sleep(total)
	}
	return nil
}

// sleepTime parses "5", "0.5", "10m" and "infinity".
func sleepTime(text string) (time.Duration, error) {
	if text == "infinity" || text == "inf" {
		return Forever, nil
	}
	unit := time.Second
	number := text
	for suffix, d := range map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour} {
		if before, ok := strings.CutSuffix(text, suffix); ok {
			number, unit = before, d
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 || strings.Trim(number, "0123456789.") != "" {
		return 0, fmt.Errorf("sleep: invalid time interval '%s'", text)
	}
	if n >= float64(Forever/unit) {
		return Forever, nil
	}
	return time.Duration(n * float64(unit)), nil
}

// date prints the virtual time, in UTC.
func date(p *Process) error {
	now, format := p.Now(), "%a %b %e %H:%M:%S UTC %Y"
	for _, arg := range p.Argv[1:] {
		switch {
		case arg == "-u" || arg == "--utc":
		case strings.HasPrefix(arg, "+"):
			format = arg[1:]
		case arg == "-Iseconds" || arg == "--iso-8601=seconds":
			format = "%Y-%m-%dT%H:%M:%S+00:00"
		case arg == "-I":
			format = "%Y-%m-%d"
		case arg == "-R":
			format = "%a, %d %b %Y %H:%M:%S +0000"
		default:
			return fmt.Errorf("date: option %s is not supported; the options are -u, -I, -Iseconds, -R, +FORMAT", arg)
		}
	}
	text, err := timeText(format, now)
	if err != nil {
		return err
	}
	return p.printf("%s\n", text)
}

// timeText formats a time as strftime does. A "-" before the letter leaves out zeros and blanks before the value.
func timeText(format string, now time.Time) (string, error) {
	layouts := map[string]string{
		"a": "Mon", "A": "Monday", "b": "Jan", "h": "Jan", "B": "January", "d": "02", "e": "_2", "m": "01", "y": "06", "Y": "2006",
		"H": "15", "I": "03", "M": "04", "S": "05", "p": "PM", "j": "002", "F": "2006-01-02", "T": "15:04:05", "R": "15:04", "D": "01/02/06",
		"c": "Mon Jan _2 15:04:05 2006", "x": "01/02/06", "X": "15:04:05", "r": "03:04:05 PM",
	}
	texts := map[string]string{
		"s": fmt.Sprint(now.Unix()), "N": fmt.Sprintf("%09d", now.Nanosecond()), "Z": "UTC", "z": "+0000",
		"u": fmt.Sprint((int(now.Weekday())+6)%7 + 1), "n": "\n", "t": "\t",
	}
	return expandFormat(format, func(directive string) (string, error) {
		letter, unpadded := strings.CutPrefix(directive, "-")
		text, ok := texts[letter]
		if layout, is := layouts[letter]; is {
			text, ok = now.Format(layout), true
		}
		switch {
		case !ok:
			return "", fmt.Errorf("date: format %%%s is not supported", directive)
		case unpadded:
			return cmp.Or(strings.TrimLeft(text, "0 "), "0"), nil
		}
		return text, nil
	})
}

// hostname prints the pod's name on its network.
func hostname(p *Process) error {
	name := p.program.cfg.Hostname
	if len(p.Argv) > 1 && p.Argv[1] == "-s" {
		name, _, _ = strings.Cut(name, ".")
	}
	return p.printf("%s\n", name)
}

// id prints the program's user and groups. Of the names in an image only root is known.
func id(p *Process) error {
	flags, _, err := options(p.Argv, "ugGnr", "")
	if err != nil {
		return err
	}
	user := p.program.cfg.User
	groups := slices.Compact(slices.Concat([]int{user.GID}, user.Groups))
	text := func(id int) string {
		switch name := userName(id); {
		case has(flags, "n"):
			return name
		case has(flags, "u", "g", "G") || name != "root":
			return strconv.Itoa(id)
		}
		return "0(root)"
	}
	var list []string
	for _, gid := range groups {
		list = append(list, text(gid))
	}
	switch {
	case has(flags, "u"):
		return p.printf("%s\n", text(user.UID))
	case has(flags, "g"):
		return p.printf("%s\n", text(user.GID))
	case has(flags, "G"):
		return p.printf("%s\n", strings.Join(list, " "))
	}
	return p.printf("uid=%s gid=%s groups=%s\n", text(user.UID), text(user.GID), strings.Join(list, ","))
}

// whoami prints the name of the program's user.
func whoami(p *Process) error {
	if uid := p.program.cfg.User.UID; uid != 0 {
		return fmt.Errorf("whoami: unknown uid %d", uid)
	}
	return p.printf("root\n")
}

func pwd(p *Process) error { return p.printf("%s\n", p.Dir) }

// mount lists what is mounted in the container.
func mount(p *Process) error {
	if len(p.Argv) > 1 {
		return &ExitError{32, "mount: permission denied: a container mounts nothing here"}
	}
	var errs []error
	p.program.files.root.list(func(m Mount, source, fsType, mode string) {
		errs = append(errs, p.printf("%s on %s type %s (%s,relatime)\n", source, path.Clean(m.ContainerPath), fsType, mode))
	})
	return errors.Join(errs...)
}
