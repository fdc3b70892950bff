package conformance

import (
	"slices"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
)

// programActions returns the verbs of a step with programs.
func programActions() []string { return []string{"pause", "restart", "resume", "start", "stop"} }

// sidecarNames returns the names of sidecars' actors by the first half of their names in recordings.
var sidecarNames = map[string]func(driver string) string{
	"prov": csi.ProvisionerActor, "att": csi.AttacherActor, "res": csi.ResizerActor, "snap": csi.SnapshotterActor,
}

// actorsOf returns the actors that a program of the recordings consists of: "kcm", "sched", "snapc",
// or a sidecar with the first word of its driver's name, "prov-plain". None means that there is no such program.
func (r *replay) actorsOf(program string) []string {
	switch program {
	case "sched":
		return []string{storagesim.Scheduler}
	case "snapc":
		return []string{storagesim.SnapshotController}
	case "kcm":
		return slices.DeleteFunc(withKubelets(), func(actor string) bool {
			return actor == storagesim.Scheduler || actor == storagesim.SnapshotController
		})
	}
	what, which, _ := strings.Cut(program, "-")
	for _, driver := range testDrivers() {
		if name := sidecarNames[what]; name != nil && strings.HasPrefix(driver, which+".") {
			return []string{name(driver)}
		}
	}
	return nil
}

// programs stops, starts, restarts, pauses and resumes programs.
func (r *replay) programs(what map[string]string) error {
	for _, program := range sortedKeys(what) {
		running := r.cluster.Actors()
		actors := slices.DeleteFunc(r.actorsOf(program), func(actor string) bool { return !slices.Contains(running, actor) })
		if len(actors) == 0 {
			return bad("program: there is no program %q", program)
		}
		for _, actor := range actors {
			if err := r.program(actor, what[program]); err != nil {
				return bad("program: %s: %w", program, err)
			}
		}
		if err := r.meanwhile(); err != nil {
			return err
		}
	}
	return nil
}

// program does one thing with one actor. A process that stands still (SIGSTOP) is one whose caches
// receive nothing: between two steps the recorded programs were at rest.
func (r *replay) program(actor, action string) error {
	switch action {
	case "stop":
		return r.cluster.Stop(actor)
	case "start":
		return r.cluster.Start(actor)
	case "restart":
		return r.cluster.Crash(actor)
	}
	resources, err := r.cluster.Engine().Follows(actor)
	if err != nil {
		return err
	}
	do := r.cluster.Hold
	if action == "resume" {
		do = r.cluster.Release
	}
	for _, resource := range resources {
		if err := do(actor, resource); err != nil {
			return err
		}
	}
	return nil
}
