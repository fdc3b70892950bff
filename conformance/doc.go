// Package conformance judges the simulation by recordings of a real Kubernetes
// control plane (testdata/README.md says what they are and what must agree).
//
// Each recording is replayed against a cluster that has the recorded actors and no
// others: no provisioner, and only the nodes that the recording makes. The same
// requests are made, the cluster runs until nothing has been written for as
// long as the recorder waited (a new event is a write, too), and what was written, said
// and refused in that step is compared; at the end, every object. A recording of the
// whole stack (testdata/full) has kubelets as well, and the files that it looked at are
// compared with the nodes' disks. Of one in testdata/unkind, what is left on the nodes and in the
// storage is compared after each step, too (left.go).
//
// # One run of a concurrent system
//
// A recording is one run of programs that ran at the same time. Where the rules
// leave open what comes first, it shows one of the possible outcomes, and the
// simulation is right if it can do the same. So a case agrees if some schedule
// of the simulation gives exactly what was recorded, all of it in one run.
// Schedules are tried in this order, and the line a case prints names the first
// that agreed:
//
//   - in order, the way a reader expects (nothing is printed);
//   - in order, but with the periodic work of controllers already under way when
//     the recording begins: the recorder started at an arbitrary moment between
//     two of the PV controller's resyncs, which are 15 s apart ("resync phase
//     7s": 7 s had passed);
//   - seeded: a bounded number of random interleavings, in which others also run
//     between the requests of one step, and the recorder is up to half a second slow, or
//     just too fast for what is due when a step ends.
//     Where one agrees longer than the others, the search goes on from there, step by
//     step and write by write, with other seeds and other phases of the resync. A controller
//     may begin with a key anew before or after its cache has what it just wrote, and the scheduler take a moment
//     between the choice of volumes and Reserve. A third
//     of them go along with the recording: they prefer the actor that made its next request,
//     so that races are lost where they were lost ("seed 7 along the recording");
//   - in as many schedules again, steps before the one that differs are varied, too.
//
// A rule that the simulation breaks is broken in every schedule. A search ends early
// when a difference stays the same whatever is tried. testdata/known has a file for
// each case that is known to differ, with the reason; the tests fail when such a case
// agrees.
//
// What is left out, on both sides, are three rules, each in one place: fields that were lost when
// the recorder cut a long message (isCut), what a machine and its container runtime choose (chosen,
// machines), and what two recorded runs of a case did not agree about (optionalEvents,
// optionalWrites, optionalAtEnd). In a case with kubelets, what no actor here writes (sidecars) and the
// nodes' status writes are left out, too: see compare. Signs of life of nodes count nowhere, nor does a kubelet's event that
// the recorder's container runtime tells nothing of its images (expectations).
//
// Only cases with kubelets have the controllers that act on what becomes of nodes: node
// lifecycle, taint eviction and the pod garbage collector. A case that begins without nodes
// starts its kubelets itself, and they are given the CSI drivers that register with them, as
// the recorded answers to NodeGetInfo describe them.
//
// Of a StatefulSet only its claims and pods are compared, without the pods' controller-revision-hash; package
// controllers/statefulset has a test of the recorded ControllerRevision.
//
// If no schedule agrees, the difference printed is that of the run in order; Verbose
// prints all differences, and those of the schedule that agreed longest.
package conformance
