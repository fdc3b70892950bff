// Package trace owns the records of what happened in a cluster, and their sentences. It is
// the only log there is.
//
// A record is a plain value: a write at the API server (Write), an event that a controller
// recorded (Event), what of an object is not modelled (Gap), where the simulation does otherwise than upstream (Deviates), a
// decision and its reason (Decision), a key that failed (Retry, GaveUp), a process that ended and began again (Crashed, Stopped,
// Restarted, Panicked, Exited, Lingers), a fault that struck (Struck, MachineStruck), a mount (Mount), a command in a container
// (Command), what programs and provisioners made (Asset), the calls of a provisioner (Call). Its String is a sentence without its
// subject; an Entry adds the time and the actor, a Log keeps entries, and Tell writes them as a transcript. Code that shows what
// happened takes the records from here and does not word them again.
package trace
