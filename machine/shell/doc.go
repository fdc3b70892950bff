// Package shell runs the commands of containers: a POSIX shell and the programs that
// scripts of storage tools use, on a node's files and on a virtual clock.
//
// A Program is one command of one container. Run runs it until it sleeps or ends; its
// runtime calls Run again when the time has come. A program is a coroutine: a command
// substitution or a pattern may sleep or be paused anywhere. It starts no goroutine and
// reads no real clock.
//
// Begin with program.go, which starts and resumes a program, and shell.go, which runs the
// statements of a script.
//
//	program.go    Program: start, run, stop, what it printed and reported
//	signal.go     SIGTERM: trap and kill
//	background.go background commands, and how time passes; pipe.go pipes
//	limits.go     how much a program may do and hold
//	process.go    Process: what one command gets; options
//	files.go      a container's paths: volumes (mounts.go), and all others (root.go)
//	streams.go    input and output
//	script.go     reads a script; refuse.go names the syntax that is not supported
//	shell.go      runs statements; compound.go those with a body;
//	              call.go simple commands; redirect.go redirections
//	variables.go  variables, arguments and their size
//	expand.go     expands words: param.go ${...}, glob.go file names,
//	              arithmetic.go $((...)); pattern.go matches patterns
//	builtin.go    the builtins; builtinvars.go those for variables and options,
//	              getopts.go, read.go, test.go, printf.go, umask.go
//	expression.go regular expressions
//	*cmd.go       the programs; entrypoint.go stands for those of images
//
// Scripts are parsed by mvdan.cc/sh/v3/syntax, and braces are expanded by
// mvdan.cc/sh/v3/expand. Everything else is expanded here, although package expand does
// that, too: it evaluates the word of ${x:-$(rm f)} when x is set, loses the quotes in
// ${x#'*'}, ${x:-"a b"} and ${1+"$@"}, drops the empty field of a::b with IFS=:, takes
// 12x for 0 in $((x)), splits paths at backslashes on Windows, and cannot be interrupted:
// ${x//a/$x} is one call that makes a terabyte of a value of one megabyte. The tests
// compare such scripts with dash, and run hostile ones. Package interp starts goroutines.
//
// # Boundary
//
// A container has its volumes (Mount) and a root file system (Root), which is in memory and holds
// 64 MiB. Every path is looked up in one of them, through package disk. Links of a volume cannot
// lead out of it. Those of the root file system may lead into volumes: follow.go takes them for what
// they mean in the container, and the disks never see it. Nothing that is
// written outside of the volumes reaches the node. Of an image there are the usual
// directories, without the programs, and the files that a runtime and a kubelet make.
//
// # Limits
//
// A program may take 10,000 steps (statements, rounds of a loop, files, each 1,000 bytes
// that are copied or compared) until it sleeps. Then it is paused for a second of virtual
// time, and each further time in a row for twice as long, up to ten minutes: a loop without
// a sleep runs for ever and costs little. One call of Run takes a fraction of a second,
// whatever the script. Values, commands, captured output, scripts, open files and all of
// them together are bounded (limits.go); a program that exceeds a bound ends with an error
// and exit code 2.
//
// # Deviations from a real shell
//
//   - The right part of a pipe begins when the left part has ended, or waits, with what that has written by then. "cat", "tee", "grep", "head -n", "sed",
//     "cut", "tr", "uniq" and "read" take what comes as it comes; all others read to the end first. "grep" and "sed" print blocks of 4096 bytes then, unless
//     --line-buffered or -u is given.
//   - A background command (&) runs at once until it sleeps, and then whenever its time has
//     come while the main command sleeps or waits ("wait", "$!"). It ends with the main
//     command. A command substitution does not wait for it.
//   - Arrays, process substitution, "select" and coprocesses are refused, with the line,
//     before anything of the script is run.
//   - Of signals only SIGTERM is delivered, and only to the first process of the container: a shell runs its trap between
//     two commands, or when it ends a "wait" (signal.go). "kill" ends background commands, whatever traps they have, and a program
//     beside the container's own sends the first process its SIGTERM with "kill 1". Only traps for TERM and EXIT are kept.
//   - An open file is known by its path: what is written to it after it was removed or
//     renamed is lost.
//   - Times of files come from the node's disk and are not virtual. So "ls -l" shows
//     the time of the call, and tests of times are refused.
//   - A command runs as Config.User, and package disk decides what he may do. Where this
//     process may not change owners he may do all, and chown by root leaves a note and
//     succeeds. Only root has a name, and no capability is missing (but see nsenter).
//   - "sh", "ash" and "dash" read POSIX, and have "let"; "bash" also [[ ]], (( )), ${x//a/b} and ${x:1:2}.
//     All of them have RANDOM.
//   - "tar" packs, unpacks and lists files, directories and symbolic links, up to 64 MiB,
//     without compression and sparse files. It does not keep times and owners.
//   - "nsenter --mount=DIR/proc/1/ns/mnt" is the command of a container or of an exec, not one in a script, and gives the node's files to a privileged
//     container that has the node's / at DIR. The other options and namespaces are refused.
//   - "sed" knows the commands in sedCommands and the options and addresses that scripts use most. It refuses all others, and syntax of expressions
//     that has another meaning here, before it reads a line. "sed -i" writes into the file, which stays the same. There is no awk: it is a language of its own.
//   - "tail -f" looks once a second whether the file, or another of its name, is longer or shorter. "sleep" takes at least 10 ms unless it is 0.
package shell
