package explore

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plan says all that differs between two runs of a scenario: who goes first, and what goes
// wrong. The same plan gives the same run, to the byte, with the same version of this library.
type Plan struct {
	// Seed makes the UIDs and generated names, and the order if that is by chance. A scenario
	// that draws lots takes it from the cluster (storagesim.Lab.Seed).
	Seed uint64
	// Order says how the next step is chosen: "" as a reader expects (engine.InOrder),
	// "random" (engine.Seeded), or "pct" with the depth, for example "pct3".
	Order string
	// Choices are the positions at which the run leaves the plain order. Only without Order.
	Choices []Choice
	// Faults are the faults of the run, in the order of their places.
	Faults []Fault
	// Holds are caches that fall behind.
	Holds []Hold
	// Without are the numbers, from 1, of those of the user's acts that are left out: objects
	// that are not applied, or not deleted.
	Without []int
}

// Choice is that of another alternative than the first.
type Choice struct {
	// At is the position among all choices of the run, from 0.
	At int
	// Take is the number of the alternative, 1 or more.
	Take uint32
}

// Call addresses one call of a run: "the second time that the kubelet creates an event". In a run in another order, or
// of a scenario that was changed, it is mostly the same call; where there are fewer such calls, it is none.
type Call struct {
	// Actor makes the call at the API server, with this Verb at this Resource: "create", "persistentvolumes", or
	// "update", "pods/status". Of a call to a CSI driver Verb is the method, and Resource is empty. A fault at a point of the
	// author's code (package mayfail) has the actor that reaches it, and the name of the point as Verb.
	Actor, Verb, Resource string
	// N is the number of the call among those, from 1. Without Actor all calls count, as in the lines of older
	// versions: those at the API server, or for a fault of a kind that begins with "csi-" those to drivers, or
	// with "point-" all points.
	N int
}

// Fault is one thing that goes wrong.
type Fault struct {
	// Call is the call that it strikes.
	Call Call
	// Kind is the kind of fault, one of FaultKinds.
	Kind string
	// Times is the number of calls in a row that it strikes, from Call on; 0 is one.
	Times int
}

// last returns the number of the last call that it strikes.
func (f Fault) last() int { return f.Call.N + max(1, f.Times) - 1 }

// Hold is a cache that gets no changes for a while.
type Hold struct {
	// Actor and Resource say which, as in Cluster.Hold.
	Actor, Resource string
	// From is the call at the API server with which it begins.
	From Call
	// For is the time that it lasts, in virtual time.
	For time.Duration
	// Past has a process that starts meanwhile list what there was when it began
	// (engine.LagFor). Otherwise it has no list until it is over.
	Past bool
}

// Size returns the number of differences from the plain run in order: choices, faults and holds.
func (p Plan) Size() int {
	n := len(p.Choices) + len(p.Faults) + len(p.Holds)
	if p.Order != "" {
		n++
	}
	return n
}

// isPlain reports whether the plan is that of the plain run, perhaps without some acts.
func (p Plan) isPlain() bool { return p.Size() == 0 && p.Seed == 0 }

// version is the first word of a line; it grows when a line would mean something else.
const version = "x1"

// String returns the plan in one line without spaces, for Parse.
func (p Plan) String() string {
	line := []string{version}
	add := func(name string, values []string) {
		if len(values) > 0 {
			line = append(line, name+"="+strings.Join(values, ","))
		}
	}
	if p.Seed != 0 {
		add("seed", []string{strconv.FormatUint(p.Seed, 10)})
	}
	if p.Order != "" {
		add("order", []string{p.Order})
	}
	add("choices", texts(p.Choices, Choice.text))
	add("faults", texts(p.Faults, Fault.text))
	add("holds", texts(p.Holds, Hold.text))
	add("without", texts(p.Without, strconv.Itoa))
	return strings.Join(line, ";")
}

func (c Choice) text() string { return fmt.Sprintf("%d:%d", c.At, c.Take) }

func (c Call) text() string {
	parts := []string{strconv.Itoa(c.N), c.Actor, c.Verb, c.Resource}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ":")
}

// text writes "1..5:ACTOR:NAME:KIND" of a fault that strikes five times.
func (f Fault) text() string {
	text := f.Call.text() + ":" + f.Kind
	if f.Times > 1 {
		first := strconv.Itoa(f.Call.N)
		text = first + ".." + strconv.Itoa(f.last()) + strings.TrimPrefix(text, first)
	}
	return text
}

func (h Hold) text() string {
	text := fmt.Sprintf("%s:%s:%s:%s", h.From.text(), h.For, h.Actor, h.Resource)
	if h.Past {
		text += ":" + past
	}
	return text
}

// past is the last word of a Hold with Past.
const past = "past"

func texts[T any](values []T, text func(T) string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = text(v)
	}
	return out
}

// Parse reads the line that Plan.String writes. The error names the part that is wrong.
func Parse(line string) (Plan, error) {
	var p Plan
	first, rest, _ := strings.Cut(strings.TrimSpace(line), ";")
	if first != version {
		return p, fmt.Errorf("replay %q: it begins with %q, and this version of storagesim plays lines that begin with %q", line, first, version)
	}
	for part := range strings.SplitSeq(rest, ";") {
		if part == "" {
			continue
		}
		name, values, _ := strings.Cut(part, "=")
		if err := p.set(name, values); err != nil {
			return p, fmt.Errorf("replay %q: %s: %w", line, name, err)
		}
	}
	if p.Order != "" && len(p.Choices) > 0 {
		return p, fmt.Errorf("replay %q: order and choices exclude each other", line)
	}
	return p, nil
}

// set reads one part of a line.
func (p *Plan) set(name, values string) (err error) {
	switch name {
	case "seed":
		p.Seed, err = strconv.ParseUint(values, 10, 64)
	case "order":
		p.Order = values
		_, err = orderOf(*p)
	case "choices":
		p.Choices, err = parsed(values, parseChoice)
	case "faults":
		p.Faults, err = parsed(values, parseFault)
	case "holds":
		p.Holds, err = parsed(values, parseHold)
	case "without":
		p.Without, err = parsed(values, parseAct)
	default:
		err = errors.New("it is not one of seed, order, choices, faults, holds and without")
	}
	return err
}

func parsed[T any](values string, parse func(string) (T, error)) ([]T, error) {
	var all []T
	for text := range strings.SplitSeq(values, ",") {
		v, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		all = append(all, v)
	}
	return all, nil
}

func parseChoice(text string) (Choice, error) {
	at, take, _ := strings.Cut(text, ":")
	position, err := strconv.Atoi(at)
	alternative, err2 := strconv.ParseUint(take, 10, 32)
	if err = errors.Join(err, err2); err != nil || position < 0 {
		return Choice{}, errors.New("it must be POSITION:ALTERNATIVE, such as 12:1")
	}
	return Choice{position, uint32(alternative)}, nil
}

// parseCall reads the parts of N, N:ACTOR:VERB:RESOURCE, or for a call to a driver or a point N:ACTOR:NAME.
func parseCall(parts []string, named bool) (c Call, ok bool) {
	if len(parts) == 0 || slices.Contains(parts, "") {
		return c, false
	}
	n, err := strconv.Atoi(parts[0])
	c.N = n
	switch {
	case err != nil || n < 1:
		return c, false
	case len(parts) == 1:
		return c, true
	case named && len(parts) == 3:
		c.Actor, c.Verb = parts[1], parts[2]
		return c, true
	case !named && len(parts) == 4:
		c.Actor, c.Verb, c.Resource = parts[1], parts[2], parts[3]
		return c, true
	}
	return c, false
}

func parseFault(text string) (Fault, error) {
	parts := strings.Split(text, ":")
	f := Fault{Kind: parts[len(parts)-1]}
	first, last, several := strings.Cut(parts[0], "..")
	parts[0] = first
	call, ok := parseCall(parts[:len(parts)-1], f.target() != apiCalls)
	f.Call = call
	if n, err := strconv.Atoi(last); several {
		ok, f.Times = ok && err == nil && n > call.N, n-call.N+1
	}
	switch {
	case !slices.Contains(FaultKinds(), f.Kind):
		return f, fmt.Errorf("the kind must be one of %s", strings.Join(FaultKinds(), ", "))
	case !ok && f.target() == authorPoints:
		return f, errors.New("it must be N:ACTOR:POINT:KIND, such as 1:example.com/disks:appliance.create:point-lost, or N:KIND; N..M strikes all from N to M")
	case !ok && f.target() == driverCalls:
		return f, errors.New("it must be N:ACTOR:METHOD:KIND, such as 2:kubelet/node-1:NodeStageVolume:csi-lost, or CALL:KIND; N..M strikes all from N to M")
	case !ok:
		return f, errors.New("it must be N:ACTOR:VERB:RESOURCE:KIND, such as 2:kube-scheduler:create:pods/binding:crash, or CALL:KIND; N..M strikes all from N to M")
	}
	return f, nil
}

func parseAct(text string) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return 0, errors.New("it must be the number of an act, from 1 on")
	}
	return number, nil
}

func parseHold(text string) (h Hold, err error) {
	parts := strings.Split(text, ":")
	if h.Past = parts[len(parts)-1] == past; h.Past {
		parts = parts[:len(parts)-1]
	}
	if n := len(parts) - 3; n > 0 {
		from, ok := parseCall(parts[:n], false)
		lasts, err := time.ParseDuration(parts[n])
		if ok && err == nil && lasts > 0 {
			h.From, h.For, h.Actor, h.Resource = from, lasts, parts[n+1], parts[n+2]
			return h, nil
		}
	}
	return h, errors.New("it must be N:ACTOR:VERB:RESOURCE:DURATION:ACTOR:RESOURCE or CALL:DURATION:ACTOR:RESOURCE, such as 3:30s:kube-scheduler:pods, " +
		"and may end with :past")
}
