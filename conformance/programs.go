package conformance

import (
	"slices"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/trace"
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
		running := r.cluster.Engine().Actors()
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

// program does one thing with one actor. A process that is paused stands still (SIGSTOP).
func (r *replay) program(actor, action string) error {
	ended := r.ended[actor]
	delete(r.ended, actor)
	r.started[actor] = r.cluster.Engine().Trace().Len()
	switch {
	case action == "start" && ended, action == "restart":
		return r.cluster.Crash(actor)
	case action == "stop":
		return r.cluster.Stop(actor)
	case action == "start":
		return r.cluster.Start(actor)
	case action == "pause":
		return r.cluster.Engine().Pause(actor)
	}
	return r.cluster.Engine().Resume(actor)
}

// endedByItself reports whether an actor that starts has ended by itself since a step last started it.
func (r *replay) endedByItself(actor string) bool {
	for _, entry := range r.cluster.Engine().Trace().Since(r.started[actor]) {
		if ended(entry) && entry.Actor == actor {
			r.ended[actor] = true
		}
	}
	return r.ended[actor]
}

// ended reports whether a record says that a process ended by itself.
func ended(entry trace.Entry) bool {
	switch entry.Record.(type) {
	case trace.Exited, trace.Panicked:
		return true
	}
	return false
}

// endedIn returns the programs that have ended by themselves since so many records, each as "prov-plain".
func (r *replay) endedIn(since int) (list []string) {
	for _, entry := range r.cluster.Engine().Trace().Since(since) {
		if ended(entry) {
			list = append(list, programName(entry.Actor))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// programName returns the name in recordings of the program of a sidecar's actor, "prov-plain".
func programName(actor string) string {
	for short, name := range sidecarNames {
		for _, driver := range testDrivers() {
			if name(driver) == actor {
				which, _, _ := strings.Cut(driver, ".")
				return short + "-" + which
			}
		}
	}
	return actor
}

// compareEnded compares the programs that ended by themselves.
func compareEnded(recorded []Ended, got []string) []Difference {
	var want []string
	for _, e := range recorded {
		want = append(want, e.Name)
	}
	slices.Sort(want)
	if slices.Equal(want, got) {
		return nil
	}
	return []Difference{{Object: "programs that ended", Wanted: listed(want), Got: listed(got)}}
}
