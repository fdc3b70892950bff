// Package runtime runs a node's pods, behind Service, a small interface in
// the manner of the CRI: sandboxes, containers, exec, logs, images. The kubelet, which
// knows of volumes and decides what is to be started, uses the interface only.
//
// Containers is the one implementation. It keeps what it knows in memory and outlives the
// kubelet's crashes: what runs goes on in the next life.
//
//	service.go     Service and what it takes and gives
//	containers.go  Containers: sandboxes and containers; network.go their addresses,
//	               images.go their images; kind.go which runtime it is like
//	run.go         runs the command of a container; exec.go one beside it; stop.go stops it
//	entrypoint.go  which programs images are known to start with; absent.go those taken for theirs
//
// # What a container runs
//
// Package machine/shell carries out commands on the node's files, through the
// container's volumes and nowhere else: scripts for sh and bash, and the programs that
// such scripts use. A sleep is one on the virtual clock, and in the background: settling
// does not wait for it, as it does not for periodic work. That of a container which is
// to come to an end is awaited for a minute from the container's start.
//
// What becomes of a container is decided by these rules, the first that applies:
//
//   - With FakeRuntime it just is running, whatever its command, and a command of Exec succeeds.
//   - Without a command it runs the one that Config.Entrypoints has for its image, with its arguments.
//   - Without a command, and with arguments that do not begin with a program of package
//     shell, it runs what its image starts with, of which nothing is known: it just is
//     running.
//   - A program of package shell, or a script in one of its volumes, is carried out.
//   - A program that the image is known to start with goes on for ever: one that has the
//     image's name (nginx, postgres, pause, rancher/local-path-provisioner), and those of
//     the images that are used most (mysqld of mysql, redis-server of redis,
//     docker-entrypoint.sh, and so on: imagePrograms). In a script it does so too.
//   - With ContainerConfig.Absent any other program is taken for one of the image, where its exit
//     code 127 would end the container's command or the script of that: it runs from there on, or
//     it has succeeded. The trace has a record of it (trace.ProgramTaken). In images of BusyBox
//     only BusyBox's programs are taken. Nothing is taken for a command of Exec.
//   - A container with any other command is not started: it has the reason StartError and the exit code 128, as with
//     containerd; the container's message says which programs there are.
//
// An init container whose program just would be running ends at once, with 0, and so does a container of a Job where programs are taken
// (shell.Succeeds); not so with FakeRuntime.
//
// # How a container ends
//
// A container that is stopped gets SIGTERM, and runs on until its program ends, on the virtual clock: when the
// trap is over, or because it has done its work. At the end of its grace period it is killed, with 137. The first process
// of a container ignores SIGTERM unless it handles it, so that sleep and a shell without a trap take all of the time.
// Settling waits for the end, in the first hour of a grace period. With FakeRuntime a container ends at once.
//
// # Deviations from the CRI
//
//   - A pod has one sandbox, which is known by the pod's UID and is not made again.
//   - Client stands for the runtime's own clock and processes: what sleeps goes on when a
//     kubelet is attached, so a container sleeps longer while its kubelet is down for
//     longer.
//   - A program of an image, of which nothing is known, is taken for a server that handles SIGTERM: it ends at once, with 0. In
//     pods with restartPolicy Never or OnFailure, where the exit code decides whether the pod has succeeded, it is taken for one that
//     does not, and is killed at the end of its grace period.
//   - There are no registries: an image is empty, and there as soon as it is pulled.
package runtime
