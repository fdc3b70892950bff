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
	// that draws lots takes it from Cluster.Seed.
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

// Fault is one thing that goes wrong.
type Fault struct {
	// Call is the number of the call, from 1: of those that actors make at the API server, or,
	// of a kind that begins with "csi-", of those to CSI drivers.
	Call int
	// Kind is the kind of fault, one of FaultKinds.
	Kind string
}

// Hold is a cache that gets no changes for a while.
type Hold struct {
	// Actor and Resource say which, as in Cluster.Hold.
	Actor, Resource string
	// From is the number of the call at the API server with which it begins.
	From int
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
	add("faults", texts(p.Faults, func(f Fault) string { return fmt.Sprintf("%d:%s", f.Call, f.Kind) }))
	add("holds", texts(p.Holds, Hold.text))
	add("without", texts(p.Without, strconv.Itoa))
	return strings.Join(line, ";")
}

func (c Choice) text() string { return fmt.Sprintf("%d:%d", c.At, c.Take) }

func (h Hold) text() string {
	text := fmt.Sprintf("%d:%s:%s:%s", h.From, h.For, h.Actor, h.Resource)
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

func parseFault(text string) (Fault, error) {
	call, kind, _ := strings.Cut(text, ":")
	number, err := strconv.Atoi(call)
	switch {
	case err != nil || number < 1:
		return Fault{}, errors.New("it must be CALL:KIND, such as 12:crash, with a call from 1 on")
	case !slices.Contains(FaultKinds(), kind):
		return Fault{}, fmt.Errorf("the kind must be one of %s", strings.Join(FaultKinds(), ", "))
	}
	return Fault{number, kind}, nil
}

func parseAct(text string) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return 0, errors.New("it must be the number of an act, from 1 on")
	}
	return number, nil
}

func parseHold(text string) (Hold, error) {
	parts := strings.Split(text, ":")
	inPast := len(parts) == 5 && parts[4] == past
	if len(parts) == 4 || inPast {
		from, err := strconv.Atoi(parts[0])
		lasts, err2 := time.ParseDuration(parts[1])
		if err == nil && err2 == nil && from > 0 && lasts > 0 {
			return Hold{Actor: parts[2], Resource: parts[3], From: from, For: lasts, Past: inPast}, nil
		}
	}
	return Hold{}, errors.New("it must be CALL:DURATION:ACTOR:RESOURCE, such as 3:30s:kube-scheduler:pods, and may end with :past")
}
