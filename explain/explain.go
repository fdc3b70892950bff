package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/kubernetes"

	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/internal/gaps"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/pvcontroller"
	"github.com/storagesim/storagesim/scheduler"
	"github.com/storagesim/storagesim/trace"
)

// Schema is the value of Explanation.Schema: the form of its JSON.
const Schema = "storagesim.io/explanation/v1"

// Explanation is an explanation: the verdict, the chain that leads to it, and what was said of the objects in it. As JSON
// `storagesim explain -o json` prints it.
type Explanation struct {
	// Schema names the form, and changes with it.
	Schema string `json:"schema"`
	// Verdict says in what state the object is, why, and what to do.
	Verdict Verdict `json:"verdict"`
	// Findings are all causes that were found, in the order of the chain. Verdict has the one of them that says most.
	Findings []Verdict `json:"findings"`
	// Objects lists the explained objects, such as "pod/default/web": the requested one, and
	// the claims of a pod.
	Objects []string `json:"objects"`
	// Chain holds the lines that lead from the object to the cause.
	Chain []string `json:"chain"`
	// Events are the events of the explained objects, oldest first.
	Events []Event `json:"events"`
	// Provisioners are the names of provisioners that should make a volume and do not
	// run in this cluster.
	Provisioners []string `json:"provisioners,omitempty"`
	// Directories lists directories that a volume of a pod needs and that its node lacks.
	Directories []NodeDirectory `json:"directories,omitempty"`
	// Exports are the NFS exports, such as "nas:/srv", that a volume of a pod needs and
	// that no server of this cluster has.
	Exports []string `json:"exports,omitempty"`
	// Deviations lists the situations of the run in which the simulation does otherwise than upstream.
	Deviations []string `json:"deviations,omitempty"`
	// Text is all of it in words: the verdict in one line, the chain, the events with their ages.
	Text string `json:"text"`
}

// NodeDirectory is a directory of a node.
type NodeDirectory struct {
	Node string `json:"node"`
	Path string `json:"path"`
}

// Event is an event of the API, and how often it was said.
type Event struct {
	// Object is the object that it is about, and By who said it.
	Object string `json:"object"`
	By     string `json:"by"`
	// Type is Normal or Warning.
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Count   int32  `json:"count"`
	// Last is when it was said last, and Age how long ago that is, as kubectl prints it.
	Last time.Time `json:"last"`
	Age  string    `json:"age"`
}

// World is the cluster as an explanation sees it.
type World struct {
	// Client reads the API's objects. Nothing is written.
	Client kubernetes.Interface
	// Objects are all objects of the API. They are shared and not changed.
	Objects func() []runtime.Object
	// Log is the trace, and Start the time of the start.
	Log   *trace.Log
	Start time.Time
	// Now is the time by which ages are told.
	Now time.Time
	// Actors are the names of all that run here, Down included.
	Actors []string
	// Programs says whether programs with clients of their own run beside the actors. They may be anything, sidecars too.
	Programs bool
	// Down are the actors whose process is down, with when each starts again.
	Down map[string]time.Time
	// Off says of an actor which machine, node/NAME, it runs on if that is switched off; "" for others. Nil means none is.
	Off func(actor string) (machine string)
	// Held are the resources whose caches are held back, by actor.
	Held map[string][]string
	// HasExport says whether an NFS server exports a directory.
	HasExport func(server, path string) bool
	// IsMounted says whether something is mounted at a path of a node. If it is nil, nothing is known of mounts.
	IsMounted func(node, path string) bool
	// LastWords returns the end of what a container has printed, by its id in a status; "" if nothing is known. If it is nil, the messages of statuses
	// are all that is known.
	LastWords func(containerID string) string
	// Taken says whether a container, by its id in a status, is taken to run a program of its image that is not here. If it is nil, none is.
	Taken func(containerID string) bool
	// Schedulers and Provisioners are the configurations of those that run, Kubelets by
	// node. PVController is nil where no PV controller runs.
	Schedulers []scheduler.Config
	// SchedulerActors are the actors of Schedulers.
	SchedulerActors []string
	Provisioners    []provisioner.Config
	// Waits says why a CSI driver's provisioner works on nothing at all, or "", by the
	// driver's name. What it configures the library with is in Provisioners.
	Waits map[string]func(log *trace.Log) string
	// AttacherWaits says the same of a driver's attacher.
	AttacherWaits map[string]func(log *trace.Log) string
	Kubelets      map[string]kubelet.Config
	PVController  *pvcontroller.Config
	// AttachDetach is nil where no attach/detach controller runs.
	AttachDetach *attachdetach.Config
	// SnapshotController says whether one runs, and Snapshotters are the drivers that have a
	// csi-snapshotter.
	SnapshotController bool
	Snapshotters       []string
}

// ErrKind is the error for objects of any other kind.
var ErrKind = errors.New("objects of this kind have no explanation; see what describe prints of it, or explain an object beside it: pods, claims (pvc), " +
	"volumes (pv), storage classes (sc), nodes, namespaces, " +
	"volumeattachments, StatefulSets, Deployments, ReplicaSets, ReplicationControllers, DaemonSets, Jobs, CronJobs, volumesnapshots, " +
	"their contents and volumegroupsnapshots")

// Object says why an object is as it is. kind is the API's kind; namespace is "" for objects without one. It returns ErrKind for
// kinds that have no verdict, and the API's NotFound for an object that is not there.
func Object(ctx context.Context, w World, kind, namespace, name string) (Explanation, error) {
	x := &explainer{World: w, ctx: ctx}
	err := x.object(kind, namespace, name)
	return x.explanation(), err
}

func (x *explainer) object(kind, namespace, name string) error {
	switch kind {
	case "PersistentVolumeClaim":
		return x.claim(namespace, name)
	case "PersistentVolume":
		return x.volume(name)
	case "StorageClass":
		return x.storageClass(name)
	case "Pod":
		return x.pod(namespace, name)
	case "StatefulSet", "Deployment", "ReplicaSet", "ReplicationController", "DaemonSet":
		return x.workload(kind, namespace, name)
	case "Job":
		return x.job(namespace, name)
	case "CronJob":
		return x.cronJob(namespace, name)
	case "Node":
		return x.node(name)
	case "Namespace":
		return x.namespace(name)
	case "VolumeAttachment":
		return x.attachment(name)
	case "VolumeSnapshot":
		return x.snapshot(namespace, name)
	case snapshots.GroupKind:
		return x.groupSnapshot(namespace, name)
	case "VolumeSnapshotContent":
		return x.snapshotContent(name)
	}
	return ErrKind
}

// explainer collects the lines of an explanation.
type explainer struct {
	World
	ctx   context.Context
	lines []string
	of    string // the pod that is explained, if it is one

	about    string // the object that is explained, "pod/default/web"
	state    string // its state in a word
	well     bool   // it is as it should be
	subject  string // the object that the lines are about now
	findings []Verdict

	asides int // how deep this is an aside of another explanation

	indent string // before each line
	found  Explanation
}

// setState sets the state of the explanation, if the object at hand is the one that was asked for.
func (x *explainer) setState(well bool, state string, args ...any) {
	if x.subject == x.about && x.state == "" {
		x.state, x.well = fmt.Sprintf(state, args...), well
	}
}

// verdict chooses the cause that says most.
func (x *explainer) verdict() Verdict {
	v, found := worst(x.findings)
	switch {
	case x.well && v.Class != Ill:
		v = Verdict{Class: Well, Code: Fine}
	case !found:
		v = Verdict{Class: UnderWay, Code: Unknown}
	}
	v.About, v.State = x.about, x.state
	return v
}

// explanation puts together what was found.
func (x *explainer) explanation() Explanation {
	if x.about == "" {
		return Explanation{} // it is not there
	}
	found := x.found
	found.Schema, found.Verdict, found.Chain = Schema, x.verdict(), x.lines
	for _, v := range x.findings {
		v.About, v.State = x.about, x.state
		found.Findings = append(found.Findings, v)
	}
	slices.SortStableFunc(found.Events, func(a, b Event) int { return a.Last.Compare(b.Last) })
	lines := x.lines
	if verdict := found.Verdict.String(); len(lines) == 0 || found.Verdict.Class != Well || !says(lines[0], verdict) {
		lines = append([]string{verdict}, lines...)
	}
	for i, e := range found.Events {
		if i == 0 {
			lines = append(lines, "events")
		}
		lines = append(lines, "  "+e.String())
	}
	found.Text = strings.Join(append(lines, ""), "\n")
	return found
}

// says reports whether a line says a sentence, and perhaps more: "pod default/web is Running on node node-1" says that it is Running.
func says(line, sentence string) bool {
	more, ok := strings.CutPrefix(line, sentence)
	return ok && (more == "" || strings.ContainsAny(more[:1], " :,;("))
}

// notModelled says which fields of an object a cluster acts on and the simulation does not.
func (x *explainer) notModelled(kind string, obj runtime.Object) {
	for _, use := range gaps.Of(kind, obj) {
		x.say("  not modelled: %s: %s", strings.Join(use.Paths, ", "), use.Sentence())
	}
}

func (x *explainer) say(format string, args ...any) {
	x.lines = append(x.lines, x.indent+fmt.Sprintf(format, args...))
}

// events adds the events of an object, except those with the message that is known already.
func (x *explainer) events(object, kind string, uid types.UID, known string) {
	for _, e := range x.eventsOf(kind, uid) {
		if e.Message == known {
			continue
		}
		e.Object = object
		x.found.Events = append(x.found.Events, e)
	}
}

// eventsOf returns what was said of an object, oldest first.
func (x *explainer) eventsOf(kind string, uid types.UID) (found []Event) {
	events, err := x.Client.CoreV1().Events(metav1.NamespaceAll).List(x.ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	slices.SortStableFunc(events.Items, func(a, b v1.Event) int { return lastSeen(a).Compare(lastSeen(b)) })
	for _, e := range events.Items {
		if e.InvolvedObject.Kind != kind || e.InvolvedObject.UID != uid {
			continue
		}
		count := e.Count
		if e.Series != nil {
			count = e.Series.Count
		}
		found = append(found, Event{
			By: x.sayer(cmp.Or(e.Source.Component, e.ReportingController)), Type: e.Type, Reason: e.Reason, Message: oneLine(e.Message), Count: max(count, 1),
			Last: lastSeen(e), Age: duration.HumanDuration(x.Now.Sub(lastSeen(e))),
		})
	}
	return found
}

// lastWarning returns the last event of an object if it is a warning with one of the reasons; any reason if none is given.
func (x *explainer) lastWarning(kind string, uid types.UID, reasons ...string) (Event, bool) {
	for _, e := range slices.Backward(x.eventsOf(kind, uid)) {
		if e.Type == v1.EventTypeWarning && (len(reasons) == 0 || slices.Contains(reasons, e.Reason)) {
			return e, true
		}
	}
	return Event{}, false
}

// String returns a line: "5s ago, pvc default/data: persistentvolume-controller said Warning ProvisioningFailed (3 times): ...".
func (e Event) String() string {
	times := ""
	if e.Count > 1 {
		times = fmt.Sprintf(" (%d times)", e.Count)
	}
	return fmt.Sprintf("%s ago, %s: %s said %s %s%s: %s", e.Age, shown(e.Object), e.By, e.Type, e.Reason, times, e.Message)
}

// lastSeen returns the second in which an event was last said, as far as it says so itself.
func lastSeen(e v1.Event) time.Time {
	if e.Series != nil {
		return e.Series.LastObservedTime.Truncate(time.Second)
	}
	return cmp.Or(e.LastTimestamp.Time, e.EventTime.Truncate(time.Second))
}

// sayer returns a component without what tells its instances apart: a provisioner says
// "<name>_<host>_<uuid>".
func (w World) sayer(component string) string {
	for _, p := range w.Provisioners {
		if strings.HasPrefix(component, p.Name+"_") {
			return p.Name
		}
	}
	return component
}
