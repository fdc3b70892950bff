// Package shell carries out the commands of containers: a POSIX shell and the
// programs that scripts of storage tools use, on a node's files and on a virtual
// clock.
//
// A Program is one command of one container. Run carries it out until it sleeps or
// ends; its runtime calls Run again when the time has come. There is no
// goroutine and no clock of the machine in it.
//
//	program.go    Program: start, run, stop, what it printed
//	background.go background commands, and how time passes
//	limits.go     how much a program may do
//	process.go    Process: what one command is given; options
//	files.go      a container's paths: volumes, and the directories above them
//	streams.go    input and output
//	script.go     reads a script; refuse.go says what of the grammar is missing
//	shell.go      carries out statements; compound.go those with a body;
//	              call.go simple commands; redirect.go redirections
//	expand.go     words: param.go, fields.go, glob.go, arithmetic.go
//	builtin*.go   the shell's own commands; getopts.go, readline.go and test.go
//	*cmd.go       the programs
//
// The grammar is read by mvdan.cc/sh/v3/syntax.
//
// # Boundary
//
// A container has no files but its volumes (Mount). Every path is looked up in one
// of them, through package disk, and links cannot lead out of it. Directories above a
// volume can be listed and entered; nothing can be made in them. /dev/null,
// /dev/stdin, /dev/stdout and /dev/stderr exist, without a file.
//
// # Limits
//
// A program may take 10,000 steps (statements, rounds of a loop, files) until it
// sleeps. Then it is stopped for a second of virtual time, and each further time in
// a row for twice as long, up to ten minutes: a loop without a sleep goes on for ever
// and costs little. Values, captured output and scripts are bounded (limits.go);
// beyond that the program ends with an error and exit code 2.
//
// # Deviations from a real shell
//
//   - The parts of a pipe run one after the other, each with all of the output of
//     the one before it.
//   - A background command (&) runs at once until it sleeps, and then whenever its time
//     has come while the program's main command sleeps or waits ("wait", "$!"). It ends
//     with the main command. A command substitution does not wait for it.
//   - Arrays, process substitution, "select" and coprocesses are refused before anything
//     of the script is run, with the line.
//   - Signals are not delivered: only a trap for EXIT is run.
//   - A file is known by its path while it is open: what is written after it was
//     removed is lost, and after it was renamed goes nowhere.
//   - Times of files are the node's disk's, which are not virtual. So nothing shows
//     them: "ls -l" shows the time of the call, and tests by time are refused.
//   - Changing an owner without privilege is noted and is no failure.
//   - "sh", "ash" and "dash" read POSIX; "bash" also [[ ]], (( )), ${x//a/b} and
//     ${x:1:2}. RANDOM is there in all of them.
//   - "tar" packs, unpacks and lists files, directories and symbolic links, up to 64 MiB,
//     without compression; times and owners are not kept.
//   - "tail -f" prints what is there and then waits for ever. "sleep" takes at least
//     10 ms unless it is 0.
package shell
