package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Class says whether an object is as it should be.
type Class string

const (
	// Well: it is as its spec asks.
	Well Class = "well"
	// UnderWay: it is not there yet, and nothing is known that keeps it. At rest, when all actors have nothing more to do, such an object is
	// stuck all the same.
	UnderWay Class = "under way"
	// Waits: it waits by design, for something that its author may bring or not: the first pod of a claim, a scheduling gate, the last user of
	// a claim that is being deleted.
	Waits Class = "waits"
	// Ill: it stays as it is until a user or a program mends something.
	Ill Class = "ill"
)

// Verdict says in what state an object is, why, and what to do about it.
type Verdict struct {
	// Class is the verdict in a word.
	Class Class `json:"class"`
	// Code names the cause, one of the constants below.
	Code Code `json:"code"`
	// About is the object that the verdict is about, such as "pod/default/web", and State its state in a word or two: a phase, "2 of 3 ready",
	// "being deleted".
	About string `json:"about"`
	State string `json:"state"`
	// Object has the cause: another object, such as "storageclass/gold", or an actor, such as "actor/kubelet/node-1".
	Object string `json:"object,omitempty"`
	// Field is the field of Object that is at fault, Value what it holds, and Want what is wanted. They are empty where no field is.
	Field string `json:"field,omitempty"`
	Value string `json:"value,omitempty"`
	Want  string `json:"want,omitempty"`
	// Cause is the cause in words, and Do what to do about it. Both may be empty. Subject is the object that "it" in Cause stands for, where that
	// is not About: a claim of the pod, for example.
	Cause   string `json:"cause,omitempty"`
	Do      string `json:"do,omitempty"`
	Subject string `json:"subject,omitempty"`
}

// Code names a cause.
type Code string

// The codes, in the order of a claim's way to its pod. Those of one group are told apart by Verdict.Object and Field.
const (
	// Fine is the code of what is well, and Unknown of what is not there yet for no reason that is known.
	Fine    Code = "Fine"
	Unknown Code = "Unknown"

	// ActorDown: a process on the way is down. ActorMissing: it does not run in this cluster at all. ActorIdle: it runs, and works on nothing.
	// CacheHeld: one of its caches is held back, so it gets no changes.
	ActorDown    Code = "ActorDown"
	ActorMissing Code = "ActorMissing"
	ActorIdle    Code = "ActorIdle"
	CacheHeld    Code = "CacheHeld"

	// ClassMissing: the claim's class does not exist. PluginMissing: its provisioner is no program, but an in-tree plugin that v1.37 lacks.
	ClassMissing  Code = "ClassMissing"
	PluginMissing Code = "PluginMissing"
	// NoVolumeFits: no volume fits, and no provisioner makes one.
	NoVolumeFits Code = "NoVolumeFits"
	// VolumeMissing, VolumeTaken, VolumeMismatch: the volume that spec.volumeName asks for does not exist, belongs to another claim, does not fit.
	VolumeMissing  Code = "VolumeMissing"
	VolumeTaken    Code = "VolumeTaken"
	VolumeMismatch Code = "VolumeMismatch"
	// NoDefaultClass: the claim names no class, and no class is the default.
	NoDefaultClass Code = "NoDefaultClass"
	// VolumeLost: the claim was bound to a volume that is gone or belongs to another claim.
	VolumeLost Code = "VolumeLost"
	// NoConsumer: the class waits for a pod, and there is none. ConsumerWithoutPods: a workload would be the first consumer, and has no pods.
	// NodeNameSet: the pod has a node already, so the scheduler selects none for the claim. NoNodeYet: the pod that would be the first consumer has
	// no node.
	NoConsumer          Code = "NoConsumer"
	ConsumerWithoutPods Code = "ConsumerWithoutPods"
	NodeNameSet         Code = "NodeNameSet"
	// Declined, Panicked, ProvisioningFailed: the provisioner does not want the claim, panicked, failed or does not return.
	Declined           Code = "Declined"
	Panicked           Code = "Panicked"
	ProvisioningFailed Code = "ProvisioningFailed"
	// HelperPodFailed: a pod that the provisioner started for the volume does not come to its end.
	HelperPodFailed Code = "HelperPodFailed"
	// SourceLarger: the claim asks for less than the snapshot or claim has that its volume is to be a copy of.
	SourceLarger Code = "SourceLarger"
	// NoPopulator: the volume is to be filled from an object that a provisioner leaves to a volume populator, and none runs.
	NoPopulator Code = "NoPopulator"
	// SourceDropped: the API server dropped a data source in another namespace, so the volume is empty.
	SourceDropped Code = "SourceDropped"

	// NoResizer, ResizeFailed, ResizeInfeasible: the claim asks for more than its volume has. ResizeWaits: the rest is done when a pod mounts it.
	NoResizer        Code = "NoResizer"
	ResizeFailed     Code = "ResizeFailed"
	ResizeInfeasible Code = "ResizeInfeasible"
	ResizeWaits      Code = "ResizeWaits"

	// InUse: what is being deleted is used. Finalizer: it waits for a finalizer to be removed. Attached: it is attached to a node.
	InUse     Code = "InUse"
	Finalizer Code = "Finalizer"
	Attached  Code = "Attached"
	// Retained: a released volume stays, as its policy says. ReclaimFailed: it could not be deleted or scrubbed.
	Retained      Code = "Retained"
	ReclaimFailed Code = "ReclaimFailed"

	// Gated: the pod has scheduling gates. ClaimMissing: it names a claim that does not exist. ClaimDeleted: one that is being deleted.
	Gated        Code = "Gated"
	ClaimMissing Code = "ClaimMissing"
	ClaimDeleted Code = "ClaimDeleted"
	// NoNodes: there are none. NodeGone: a volume is on a node that is gone. NoNodeFits: each node is turned down. SchedulingFailed: an attempt
	// ends with an error. VolumesNotBound: the scheduler has chosen a node, and waits for the pod's volumes to be bound before it binds the pod.
	NoNodes    Code = "NoNodes"
	NodeGone   Code = "NodeGone"
	NoNodeFits Code = "NoNodeFits"
	// VolumesApart: no node reaches all volumes of the pod.
	VolumesApart     Code = "VolumesApart"
	SchedulingFailed Code = "SchedulingFailed"
	VolumesNotBound  Code = "VolumesNotBound"

	// NodeUnreachable: the pod's node does not answer. DriverMissing: the volume's CSI driver does not run on it.
	NodeUnreachable Code = "NodeUnreachable"
	DriverMissing   Code = "DriverMissing"
	Cordoned        Code = "Cordoned"
	// VolumeMode: a pod wants a volume in another mode than its claim. NotAttached, AttachFailed: the volume is not at the node.
	VolumeMode   Code = "VolumeMode"
	NotAttached  Code = "NotAttached"
	AttachFailed Code = "AttachFailed"
	DetachFailed Code = "DetachFailed"
	// DirectoryMissing, ExportMissing, NoPlugin, MountFailed, UnmountFailed: the kubelet cannot set the volume up, or take it down.
	DirectoryMissing Code = "DirectoryMissing"
	ExportMissing    Code = "ExportMissing"
	NoPlugin         Code = "NoPlugin"
	MountFailed      Code = "MountFailed"
	UnmountFailed    Code = "UnmountFailed"
	// ContainerFailed: a container waits or has ended with an error. ProbeFailed: the kubelet stopped one, since its liveness or startup
	// probe failed, or its readiness probe fails. PodFailed: the pod has failed.
	ContainerFailed Code = "ContainerFailed"
	ProbeFailed     Code = "ProbeFailed"
	PodFailed       Code = "PodFailed"
	// HookRuns: a container waits for its postStart hook. Stopping: containers are being stopped, and have time to end.
	HookRuns Code = "HookRuns"
	Stopping Code = "Stopping"
	// WriteRefused: the API server refuses what the kubelet writes of the pod's status, so that it shows what was before.
	WriteRefused Code = "WriteRefused"

	// FailedCreate: a workload cannot make a pod. Paused: a rollout is paused. PodNotReady: one of its pods is not ready.
	FailedCreate Code = "FailedCreate"
	Paused       Code = "Paused"
	PodNotReady  Code = "PodNotReady"
	// JobFailed: a Job has failed for good. JobRuns: its pods run and have not ended. JobBackoff: it waits before it makes the next pod.
	JobFailed  Code = "JobFailed"
	JobRuns    Code = "JobRuns"
	JobBackoff Code = "JobBackoff"

	// SnapshotFailed: the driver or a controller failed. SourceMissing, SourceNotBound: the claim or content that the snapshot is of, or what the
	// volume of a claim is to be a copy of, does not exist, or is not bound or ready.
	SnapshotFailed Code = "SnapshotFailed"
	SourceMissing  Code = "SourceMissing"
	SourceNotBound Code = "SourceNotBound"
)

// String returns the verdict as a line: "pvc default/data is Pending: its class "gold" does not exist. Create it.".
func (v Verdict) String() string {
	line := shown(v.About) + " is " + v.State
	switch v.Class {
	case Well:
		return line
	case Waits:
		line += ", by design"
	}
	cause := v.Cause
	switch {
	case cause == "":
		cause = "nothing is known that keeps it"
	case v.Subject != "":
		cause = shown(v.Subject) + ": " + cause
	}
	if !strings.HasSuffix(cause, ".") {
		cause += "."
	}
	line += ": " + cause
	if v.Do != "" {
		line += " To do: " + v.Do + "."
	}
	return line
}

// shown returns a reference as a story names the object: "pvc/default/data" is "pvc default/data". An actor goes by its name alone.
func shown(ref string) string {
	kind, name, ok := strings.Cut(ref, "/")
	switch {
	case !ok:
		return ref
	case kind == "actor":
		return name
	}
	return kind + " " + name
}

// weight orders causes of one class: what makes another cause come about is told rather than the other.
func weight(c Code) int {
	switch c {
	case ActorDown, ActorMissing, ActorIdle:
		return 3
	case NodeUnreachable:
		return 2
	case FailedCreate, DriverMissing, Attached, Panicked:
		return 1
	case NoNodeFits, VolumesNotBound, CacheHeld, MountFailed, ContainerFailed, ProbeFailed, PodNotReady, Finalizer, NotAttached:
		return -1
	case HelperPodFailed, PodFailed, ProvisioningFailed:
		return -2
	}
	return 0
}

// worst returns the finding that says most: of the worst class, and of those the one that explains others.
func worst(findings []Verdict) (Verdict, bool) {
	if len(findings) == 0 {
		return Verdict{}, false
	}
	return slices.MinFunc(findings, func(a, b Verdict) int { // the first of equals
		return cmp.Or(cmp.Compare(severity(b.Class), severity(a.Class)), cmp.Compare(weight(b.Code), weight(a.Code)))
	}), true
}

func severity(c Class) int { return slices.Index([]Class{Well, UnderWay, Waits, Ill}, c) }

// blame adds a cause to the findings, and a line about it to the text. Unless v says otherwise, its Object is the subject of
// the current lines.
func (x *explainer) blame(v Verdict) {
	if x.subject != x.about {
		v.Subject = x.subject
	}
	if v.Object == "" {
		v.Object = x.subject
	}
	x.findings = append(x.findings, v)
	x.say("  %s", v.Cause)
}

// ill notes what a user has to mend, by a cause in words; object is "" if the cause is in the object at hand.
func (x *explainer) ill(code Code, object, do, cause string, args ...any) {
	x.blame(Verdict{Class: Ill, Code: code, Object: object, Do: do, Cause: fmt.Sprintf(cause, args...)})
}

// waits notes that something waits by design.
func (x *explainer) waits(code Code, object, do, cause string, args ...any) {
	x.blame(Verdict{Class: Waits, Code: code, Object: object, Do: do, Cause: fmt.Sprintf(cause, args...)})
}

// underWay notes what is to come by itself.
func (x *explainer) underWay(code Code, object, cause string, args ...any) {
	x.blame(Verdict{Class: UnderWay, Code: code, Object: object, Cause: fmt.Sprintf(cause, args...)})
}

// within explains another object as part of this one.
func (x *explainer) within(subject string, explain func() error) error {
	was := x.subject
	x.subject = subject
	if x.about == "" {
		x.about = subject
	}
	defer func() { x.subject = was }()
	return explain()
}

// needs blames an actor that is needed for what comes next, and is down or does not run here. does says what it is for: "binds claims".
// It returns false if it blamed it.
func (x *explainer) needs(actor, does string) bool {
	restart, down := x.Down[actor]
	switch {
	case !slices.Contains(x.Actors, actor) && x.Programs && strings.HasPrefix(actor, "csi-"):
		return true // a program may do it
	case !slices.Contains(x.Actors, actor):
		x.ill(ActorMissing, "actor/"+actor, "run "+actor, "%s, which %s, does not run here", actor, does)
	case down && restart.IsZero():
		x.ill(ActorDown, "actor/"+actor, x.starting(actor), "%s, which %s, is stopped", actor, does)
	case down:
		x.underWay(ActorDown, "actor/"+actor, "%s, which %s, is down until %s", actor, does, x.offset(restart))
	default:
		if held := x.Held[actor]; len(held) > 0 {
			x.ill(CacheHeld, "actor/"+actor, "release it", "%s, which %s, gets no changes of %s: its cache is held", actor, does, strings.Join(held, ", "))
		}
		return true
	}
	return false
}
