package main

import (
	"context"
	"embed"
	"io"
	"slices"
	"strings"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/engine"
	"github.com/storagesim/storagesim/story"
	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/view"
)

//go:embed runs/*.txt
var scripts embed.FS

// run holds the steps of a run, and the functions in which each program made its writes.
type run struct {
	view.Page
	stacks []stack
}

// play plays a script of runs/.
func play(name string) (r run, err error) {
	script, err := scripts.ReadFile("runs/" + name + ".txt")
	if err != nil {
		return run{}, err
	}
	watched := false
	watch := func(c *storagesim.Cluster, line string) {
		if c != nil && !watched {
			watched = true
			c.Engine().Server().OnWrite(func(w trace.Write) { r.stacks = append(r.stacks, stackOf(w)) })
		}
		if line == "" { // the end
			log := c.Engine().Trace()
			r.Page = view.OfLog(log, view.Options{Start: engine.Start(), Told: log.Len() - len(c.Trace().Records()), Shorten: c.Trace().ShortIDs})
		}
	}
	err = story.Play(context.Background(), io.Discard, name, strings.ReplaceAll(string(script), "\r\n", "\n"), story.Options{RecordValues: true, Watch: watch})
	return r, err
}

// object returns the kind and name of a step's object, "pvc data"; empty if it is about none.
func (r run) object(s view.Step) string {
	if s.About == nil {
		return ""
	}
	o := r.Objects[*s.About]
	return kindOf(o) + " " + shortName(o.Name)
}

// kindOf returns the short name of a kind.
func kindOf(o view.Object) string {
	if o.Kind == "VolumeAttachment" {
		return "attachment"
	}
	return o.Short
}

// shortName cuts identifiers as the stories do.
func shortName(name string) string {
	for _, prefix := range []string{"pvc-", "csi-"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && len(rest) > 8 {
			return prefix + rest[:8]
		}
	}
	return name
}

// actor returns the name of a step's actor as pictures have it.
func (r run) actor(s view.Step) string { return title(r.Lanes[s.Lane]) }

// title returns the name of an actor as pictures have it.
func title(l view.Lane) string {
	switch {
	case l.Kind == view.Driver && l.Node != "":
		return "driver on " + l.Node
	case l.Kind == view.Driver:
		return "driver"
	case l.Node != "":
		return l.Name + " " + l.Node
	}
	return l.Name
}

// find returns the steps that a function wants, in order.
func (r run) find(want func(view.Step) bool) []view.Step {
	return slices.DeleteFunc(slices.Clone(r.Steps), func(s view.Step) bool { return !want(s) })
}

// wrote reports whether a step is a write that was carried out and changed something.
func wrote(s view.Step) bool {
	return s.Write != nil && s.Write.Refused == nil && (len(s.Write.Changes) > 0 || s.Write.Gone)
}

// sets returns the value that a write gives to the field at a path, and whether it does.
func sets(s view.Step, path string) (any, bool) {
	if !wrote(s) {
		return nil, false
	}
	for _, c := range s.Write.Changes {
		if c.Path == path && !c.Removed {
			return c.Value, true
		}
		if inside, ok := strings.CutPrefix(path, c.Path+"/"); ok && !c.Removed { // an object that is set as a whole
			value := c.Value
			for _, key := range strings.Split(inside, "/") {
				m, isMap := value.(map[string]any)
				if !isMap {
					value = nil
					break
				}
				value = m[strings.ReplaceAll(key, "~1", "/")]
			}
			if value != nil {
				return value, true
			}
		}
	}
	return nil, false
}

// text returns the text that a write gives to a field, empty if it does not.
func text(s view.Step, path string) string {
	value, _ := sets(s, path)
	word, _ := value.(string)
	return word
}

// unsets reports whether a write takes the field at a path away.
func unsets(s view.Step, path string) bool {
	return wrote(s) && slices.ContainsFunc(s.Write.Changes, func(c view.Change) bool { return c.Path == path && c.Removed })
}
