// Package story plays scripts: text files of commands, each followed by what it
// printed. A script is a golden test, an example and a lesson at once.
//
//	# The claim waits: its class binds when a pod needs it.
//	apply -f claim.yaml
//	----
//	persistentvolumeclaim/data created
//
//	settle
//	----
//	  0:00:00  persistent-volume-binder  says of pvc default/data: Normal WaitForFirstConsumer: ...
//
// Run plays a script on a cluster of its own and returns it with the outputs
// that it gave this time; a script whose outputs are right comes back as it is.
//
// A Shell plays commands one at a time, as they come, and can go back.
//
// # Grammar
//
// A script is a sequence of lines. Outside a command, a line that is empty or
// begins with # is kept as it is. Any other line begins a command:
//
//   - The line itself is the command and its arguments, words separated by
//     blanks. Quotes, single or double, keep blanks in a word. A # that begins a
//     word ends the line.
//
//   - The lines up to one that is exactly ---- are the command's input, for
//     example the YAML of apply. Most commands take none. A command without output yet needs no
//     ----: its input ends before an empty line and the next command, and playing the script adds it.
//
//   - The lines after ---- up to an empty line, or the end, are the output. A command there would be dropped with it, and is an error.
//     An output with empty lines, or one that begins or ends as a command does, stands between two pairs of fences instead:
//
//     describe pvc data
//     ----
//     ----
//     Name: data
//
//     Events: <none>
//     ----
//     ----
//
// "expect TEXT in COMMAND" ends the story if the output of that command lacks a text.
//
// Only outputs are ever rewritten. A command that the cluster refuses prints the
// error, as kubectl would, and the story goes on. "! command" is for one that must fail: if it
// does not, the story ends with an *Error. A command that does not exist
// or is not written as its usage says ends the story with an *Error that names
// file, line and what is allowed; after "!" a command that there is prints that, so that a story can show a typo.
//
// # Commands
//
// "help" lists them. They read like kubectl's, and then there is time (settle,
// step, run-for), nodes that fail (stop, start, drain) and faults (crash, fail, fail-csi, fail-point, hold, lag, break). Nothing moves by itself:
// kubectl's commands only talk to the API server, and the cluster acts on it at
// the next settle, step or run-for, which print what happened meanwhile: when,
// who, what. Words behind those commands, as behind trace, keep actors or topics:
// "settle kube-scheduler event" tells what the scheduler said; "settle quiet"
// tells nothing.
//
// The cluster has nodes node-1 and node-2 and OpenEBS unless the first command,
// "cluster", says otherwise. Its nodes are Ready before the story begins.
//
// # Short names and long lines
//
// Outputs shorten identifiers to their first eight digits, or to as many as it
// takes to tell two apart: pvc-56a9ebfe for
// pvc-56a9ebfe-9c0b-4d98-8d97-ddaeff0e466a. A command or its input can use the short
// form as well. Only YAML, JSON, names (-o) and files (read) are printed as they are.
//
// Lines that are wider than Options.Width continue on the next line, indented.
// Tables are not wrapped, except the messages of events.
//
// # Where the commands differ from kubectl's
//
//   - delete and drain do not wait for objects to be gone, since time passes only where the script
//     says so: settle, step, run-for, or drain's --timeout. Without that drain does not say
//     that a node is drained.
//   - There is one stream of output; errors and notices are part of it.
package story
