package view

import (
	"math"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/trace"
)

// builder makes the steps of a page.
type builder struct {
	page    Page
	start   time.Time
	shorten func(string) string
	actors  actors
	objects *objects
	// waiting are the deliveries that have no step yet, and writes has the index of the step of each version.
	waiting []trace.Delivery
	writes  map[uint64]int
	// noRoom is set if deliveries were left out.
	noRoom bool
}

// add adds the step of a record, whose number in the log is n, after those of the deliveries before it.
func (b *builder) add(n int, e trace.Entry) {
	b.deliver(n)
	b.objects.read(e, true)
	b.page.Steps = append(b.page.Steps, b.step(n, e))
}

// complete adds what is left: the deliveries after the last record, and what there was of the objects before the first.
func (b *builder) complete() {
	b.deliver(math.MaxInt)
	b.page.Base = append(b.page.Base, b.objects.base()...)
	b.page.Objects = slices.Clone(b.objects.list) // an object may get its UID later, while a reader has this list
}

// deliver adds the steps of the deliveries that came before the record of number n. What is known of no write, or of no lane, is left out: the page
// would have nothing to draw it to.
func (b *builder) deliver(n int) {
	for len(b.waiting) > 0 && b.waiting[0].After <= n {
		d := b.waiting[0]
		b.waiting = b.waiting[1:]
		of, shown := b.writes[d.RV]
		lane, ok := b.actors.index[d.Actor]
		if !shown || !ok {
			continue
		}
		b.page.Steps = append(b.page.Steps, Step{
			N: d.After - 1, T: d.Time.Sub(b.start).Milliseconds(), Lane: lane, Kind: "delivery", Detail: true,
			Delivery: &Delivery{RV: d.RV, Resource: printable(d.Resource), Of: &of},
		})
	}
}

// step returns the step of a record, whose number in the log is n.
func (b *builder) step(n int, e trace.Entry) Step {
	s := Step{
		N: n, T: e.Time.Sub(b.start).Milliseconds(), Lane: b.lane(e.Actor), Kind: "other",
		Text:   printable(b.shorten(e.Record.String())),
		Detail: trace.IsDetail(e.Record.Topic()),
	}
	switch r := e.Record.(type) {
	case trace.Write:
		b.write(&s, r)
	case trace.Event:
		s.Kind, s.Detail = "event", r.Repeated
		s.Event = &Event{Type: printable(r.Type), Reason: printable(r.Reason), Message: printable(b.shorten(r.Message)), Repeated: r.Repeated}
		b.about(&s, r.About)
	case trace.Decision:
		s.Kind, s.Decision = "decision", b.decision(r.Choice)
		b.about(&s, r.About)
	case trace.Retry:
		s.Kind, s.For, s.About = "retry", r.Delay.Milliseconds(), b.objects.named(r.About)
	case trace.GaveUp:
		s.Kind, s.About = "retry", b.objects.named(r.About)
	case trace.RPC, trace.Call:
		b.call(&s, e.Actor, r)
	case trace.Mount, trace.Asset, trace.Command:
		b.onMachine(&s, e.Actor, r)
	case trace.Gap:
		s.Kind = "gap"
		b.about(&s, r.About)
	case trace.Deviates:
		s.Kind = "gap"
		b.about(&s, r.About)
	case trace.StandIn:
		s.Kind = "gap"
	default:
		b.trouble(&s, r)
	}
	return s
}

// lane returns the index of an actor's lane. Each actor of a record has one.
func (b *builder) lane(actor string) int { return b.actors.index[actor] }

// decision returns the values of a decision, as far as the record has them.
func (b *builder) decision(c *trace.Choice) *Decision {
	if c == nil {
		return &Decision{}
	}
	d := &Decision{Rule: printable(c.Rule), Function: c.Function, Chosen: printable(c.Chosen), More: c.More, For: printable(c.For)}
	if c.File != "" {
		d.Source = "https://github.com/kubernetes/kubernetes/blob/" + b.page.Release + "/" + c.File
	}
	for _, candidate := range c.Candidates {
		shown := Candidate{Name: printable(candidate.Name), OK: candidate.OK, Filter: printable(candidate.Filter),
			Reason: printable(b.shorten(candidate.Reason)), Scores: candidate.Scores}
		if candidate.Scores != nil {
			shown.Score = new(candidate.Score)
		}
		d.Candidates = append(d.Candidates, shown)
	}
	for i := range c.Volumes {
		d.Volumes = append(d.Volumes, *b.decision(&c.Volumes[i]))
	}
	return d
}

func (b *builder) about(s *Step, r trace.Ref) {
	if r.Kind != "" {
		s.About = new(b.objects.number(r))
	}
}

// also adds objects that a step concerns, each once.
func (b *builder) also(s *Step, refs ...trace.Ref) {
	for _, r := range refs {
		if i := b.objects.number(r); (s.About == nil || *s.About != i) && !slices.Contains(s.Also, i) {
			s.Also = append(s.Also, i)
		}
	}
}

func (b *builder) write(s *Step, w trace.Write) {
	s.Kind = "write"
	b.about(s, w.About())
	s.Write = &Write{Verb: w.Verb, Sub: w.Subresource, RV: w.RV, Changes: changesOf(w)}
	if w.Err != nil {
		s.Write.Refused = &Refusal{Code: w.Code, Reason: string(apierrors.ReasonForError(w.Err)), Message: printable(b.shorten(w.Err.Error()))}
		return
	}
	if w.Old != w.New {
		b.writes[w.RV] = len(b.page.Steps)
	}
	s.Write.Created, s.Write.Gone = w.Old == nil, w.New == nil
	for _, obj := range []runtime.Object{w.New, w.Old} {
		b.also(s, related(obj)...)
	}
	s.Detail = s.Write.isDetail(w.Kind, w.Old != nil && w.Old == w.New)
}

// isDetail reports whether the rest of the story implies a write: it changed nothing, or of a pod's status not its phase.
func (w Write) isDetail(kind string, unchanged bool) bool {
	changed := func(c Change) bool { return c.Path == "/status/phase" }
	return unchanged || kind == "Pod" && w.Sub == "status" && !w.Gone && !slices.ContainsFunc(w.Changes, changed)
}

func (b *builder) call(s *Step, actor string, record trace.Record) {
	s.Kind = "call"
	switch r := record.(type) {
	case trace.RPC:
		s.Call = &Call{
			To: new(b.lane(laneOf(driverActor(r), nil).ID)), Driver: printable(r.Driver), Machine: printable(r.Machine), Service: printable(r.Service),
			Method: printable(r.Method),
			Code:   printable(r.Code), Err: printable(r.Err), Fault: printable(r.Fault), TookMs: r.Took.Milliseconds(),
		}
		if r.Request != nil {
			s.Call.Request = cut(r.Request, 0)
		}
		if r.Answer != nil {
			s.Call.Answer = cut(r.Answer, 0)
		}
		s.Detail = s.Detail || r.Repeated
	case trace.Call:
		s.Call = &Call{Driver: printable(actor), Method: r.Method, Code: printable(r.Class), Err: printable(r.Err), TookMs: r.Took.Milliseconds()}
		if r.Err == "" {
			s.Call.Code = "OK"
		}
		b.about(s, r.About)
		b.alsoVolume(s, r.Volume)
	}
}

// alsoVolume adds a PersistentVolume by its name, which may not be there yet.
func (b *builder) alsoVolume(s *Step, name string) {
	if name != "" {
		b.also(s, trace.Ref{Kind: "PersistentVolume", Name: name})
	}
}

func (b *builder) onMachine(s *Step, actor string, record trace.Record) {
	switch r := record.(type) {
	case trace.Mount:
		s.Kind = "mount"
		s.Mount = &Mount{Op: r.Op, Machine: printable(machineOf(actor)), Source: printable(r.Source), Target: printable(r.Target),
			Volume: printable(r.Volume), Err: printable(r.Err)}
		b.about(s, r.About)
		if r := (trace.Ref{Kind: "PersistentVolume", Name: r.Volume}); b.objects.knows(r) { // others are volumes of the pod alone
			b.also(s, r)
		}
	case trace.Asset:
		s.Kind = "file"
		s.File = &File{Op: string(r.Op), Machine: printable(r.Machine), Path: printable(r.Path), Volume: printable(r.Volume)}
		b.about(s, r.About)
		b.alsoVolume(s, r.Volume)
	case trace.Command:
		s.Kind, s.Command = "command", &Command{Argv: []string{}, Err: printable(r.Err)}
		if r.Node != "" {
			s.Command.Machine = printable("node/" + r.Node)
		}
		for _, arg := range r.Argv {
			s.Command.Argv = append(s.Command.Argv, printable(arg))
		}
		b.about(s, r.About)
	}
}

// machineOf returns the machine of a kubelet: only kubelets record mounts.
func machineOf(actor string) string {
	if node, ok := strings.CutPrefix(actor, "kubelet/"); ok {
		return "node/" + node
	}
	return actor
}

// trouble completes the step of a fault, or of a process that ended or began.
func (b *builder) trouble(s *Step, record trace.Record) {
	switch r := record.(type) {
	case trace.Crashed:
		s.Kind, s.For = "down", r.Downtime.Milliseconds()
	case trace.Stopped:
		s.Kind, s.Off = "down", r.Off
	case trace.Panicked:
		s.Kind, s.For = "down", r.Restart.Milliseconds()
		b.about(s, r.About)
	case trace.Exited:
		s.Kind, s.For = "down", r.Restart.Milliseconds()
	case trace.Restarted:
		s.Kind = "up"
	case trace.Struck:
		s.Kind, s.For = "fault", r.Delay.Milliseconds()
	case trace.PointStruck:
		s.Kind, s.For = "fault", r.Delay.Milliseconds()
	case trace.MachineStruck, trace.Lingers:
		s.Kind = "fault"
	case trace.Held:
		s.Kind, s.For = "fault", r.For.Milliseconds()
	case trace.Blocks:
		s.Kind, s.For = "fault", r.Took.Milliseconds()
		b.about(s, r.About)
	}
}
