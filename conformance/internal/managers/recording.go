package managers

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"
)

// Recording holds what came of a scenario.
type Recording struct {
	Steps []Seen
	// Events are in no order; each is there once.
	Events []string
}

// Seen holds what was there at the end of a step.
type Seen struct {
	Name string
	// Refused is the API server's error, if it refused what the user did.
	Refused string
	// Objects are in the order of their kinds and names: kind, name and JSON.
	Objects []string
}

func (r *Recording) add(name string, refused error, o *Observer) error {
	objects, err := o.objects()
	seen := Seen{Name: name, Objects: objects}
	if refused != nil {
		seen.Refused = strings.ReplaceAll(o.hide(refused.Error()), "\n", " ")
	}
	r.Steps = append(r.Steps, seen)
	return err
}

// The lines of a recording's text begin with one of these.
const (
	stepMark, eventMark, refusedMark = "== ", "event ", "refused "
	addedMark, goneMark              = "+ ", "- "
)

// String returns the text of a recording: of each step the objects that are new or gone since the step before, one a line.
func (r *Recording) String() string {
	var b strings.Builder
	var before []string
	for _, s := range r.Steps {
		fmt.Fprintln(&b, stepMark+s.Name)
		if s.Refused != "" {
			fmt.Fprintln(&b, refusedMark+s.Refused)
		}
		for _, line := range without(before, s.Objects) {
			fmt.Fprintln(&b, goneMark+line)
		}
		for _, line := range without(s.Objects, before) {
			fmt.Fprintln(&b, addedMark+line)
		}
		before = s.Objects
	}
	for _, line := range r.Events {
		fmt.Fprintln(&b, eventMark+line)
	}
	return b.String()
}

// Parse reads a recording's text.
func Parse(text string) (*Recording, error) {
	r := &Recording{}
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		mark := line[:strings.Index(line, " ")+1]
		rest := line[len(mark):]
		if mark == stepMark {
			next := Seen{Name: rest}
			if n := len(r.Steps); n > 0 {
				next.Objects = slices.Clone(r.Steps[n-1].Objects)
			}
			r.Steps = append(r.Steps, next)
			continue
		}
		if len(r.Steps) == 0 {
			return nil, fmt.Errorf("line %d: there is no step before it: %q", i+1, line)
		}
		step := &r.Steps[len(r.Steps)-1]
		switch mark {
		case eventMark:
			r.Events = append(r.Events, rest)
		case refusedMark:
			step.Refused = rest
		case goneMark:
			at := slices.Index(step.Objects, rest)
			if at < 0 {
				return nil, fmt.Errorf("line %d: the object that is gone was not there: %q", i+1, line)
			}
			step.Objects = slices.Delete(step.Objects, at, at+1)
		case addedMark:
			step.Objects = append(step.Objects, rest)
			slices.Sort(step.Objects)
		default:
			return nil, fmt.Errorf("line %d: it begins with none of the marks: %q", i+1, line)
		}
	}
	return r, nil
}

// without returns the lines that are not in others, as often as they are there more.
func without(lines, others []string) []string {
	left := map[string]int{}
	for _, line := range others {
		left[line]++
	}
	var more []string
	for _, line := range lines {
		if left[line]--; left[line] < 0 {
			more = append(more, line)
		}
	}
	return more
}

// withoutLine returns a refusal without the line of the manifest, which is none of the API server's words.
func withoutLine(refused string) string {
	if at, words, ok := strings.Cut(refused, ": "); ok && strings.HasPrefix(at, "manifest:") {
		return words
	}
	return refused
}

// Compare returns what differs between upstream's recording and ours, a line each: the step, the object, the field, and both values.
func Compare(upstream, ours *Recording) []string {
	var all []string
	for i := range max(len(upstream.Steps), len(ours.Steps)) {
		if i >= len(upstream.Steps) || i >= len(ours.Steps) || upstream.Steps[i].Name != ours.Steps[i].Name {
			return append(all, fmt.Sprintf("step %d: not the same in both; record the scenario again", i+1))
		}
		want, got := upstream.Steps[i], ours.Steps[i]
		if withoutLine(want.Refused) != withoutLine(got.Refused) {
			all = append(all, fmt.Sprintf("%s: refused: upstream %q, ours %q", want.Name, want.Refused, got.Refused))
		}
		for _, line := range compareObjects(want.Objects, got.Objects) {
			all = append(all, want.Name+": "+line)
		}
	}
	for _, line := range without(upstream.Events, ours.Events) {
		all = append(all, "events: only upstream: "+line)
	}
	for _, line := range without(ours.Events, upstream.Events) {
		all = append(all, "events: only ours: "+line)
	}
	return all
}

// compareObjects compares objects of the same kind and name, in the order of their JSON if there are several.
func compareObjects(want, got []string) []string {
	wanted, gotten := map[string][]string{}, map[string][]string{}
	group := func(lines []string, into map[string][]string) {
		for _, line := range lines {
			at := strings.Index(line, " {")
			into[line[:at]] = append(into[line[:at]], line[at+1:])
		}
	}
	group(without(want, got), wanted)
	group(without(got, want), gotten)
	var all []string
	for _, object := range keysOf(wanted, gotten) {
		w, g := wanted[object], gotten[object]
		for i := range max(len(w), len(g)) {
			switch {
			case i >= len(w):
				all = append(all, object+": only ours: "+brief(g[i]))
			case i >= len(g):
				all = append(all, object+": only upstream: "+brief(w[i]))
			default:
				for _, line := range differences(w[i], g[i]) {
					all = append(all, object+line)
				}
			}
		}
	}
	return all
}

func keysOf(maps ...map[string][]string) []string {
	var keys []string
	for _, m := range maps {
		for key := range m {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return slices.Compact(keys)
}

func brief(text string) string {
	if len(text) > 200 {
		return text[:200] + "..."
	}
	return text
}

// differences returns the fields in which two objects differ, by their paths.
func differences(want, got string) []string {
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return []string{": " + err.Error()}
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return []string{": " + err.Error()}
	}
	var all []string
	walk("", w, g, func(path string, w, g any) {
		all = append(all, fmt.Sprintf(" %s: upstream %s, ours %s", path, brief(valueOf(w)), brief(valueOf(g))))
	})
	return all
}

func valueOf(value any) string {
	if value == nil {
		return "nothing"
	}
	text, _ := jsonOf(value) // it has been JSON before
	return text
}

// walk calls differ for each path at which two values differ.
func walk(path string, w, g any, differ func(path string, w, g any)) {
	if reflect.DeepEqual(w, g) {
		return
	}
	wm, ok := w.(map[string]any)
	gm, also := g.(map[string]any)
	if ok && also {
		keys := maps.Clone(wm)
		maps.Copy(keys, gm)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			walk(path+"/"+key, wm[key], gm[key], differ)
		}
		return
	}
	wl, ok := w.([]any)
	gl, also := g.([]any)
	if ok && also && len(wl) == len(gl) {
		for i := range wl {
			walk(fmt.Sprintf("%s/%d", path, i), wl[i], gl[i], differ)
		}
		return
	}
	differ(path, w, g)
}
