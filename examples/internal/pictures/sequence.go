package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/view"
)

// band is a part of a sequence, with a name.
type band struct {
	name  string
	steps []view.Step
}

// sequence draws steps one below the other: a line for each actor, and beside it what the actor does.
func sequence(r run, heading string, bands []band) *canvas {
	lanes := lanesOf(r, bands)
	const top, row, gap = 108, 40, 44
	lane := min(84, 440/len(lanes))
	rows := 0
	for _, b := range bands {
		rows += len(b.steps)
	}
	c := &canvas{title: heading, height: top + row*rows + gap*len(bands)}
	c.heading(heading)
	x := map[string]int{}
	for i, name := range lanes {
		x[name] = 20 + lane/2 + lane*i
		c.nodes = append(c.nodes, name)
	}
	textX := 20 + lane*len(lanes) + 8
	y, n := top-20, 0
	for _, b := range bands {
		c.add(`<rect x="12" y="%d" width="%d" height="%d" rx="8" class="panel"/>`, y-4, width-24, row*len(b.steps)+gap-8)
		c.add(`<rect x="12" y="%d" width="%d" height="28" rx="8" class="panel cover"/>`, y-4, width-24) // so that no line crosses the name
		c.say(24, y+17, normal, width-48, "bold", b.name)
		y += gap - 16
		for _, s := range b.steps {
			n++
			y += row
			c.step(r, s, n, y-14, x, textX)
		}
		y += 16
	}
	c.lanes(lanes, x, lane, top)
	return c
}

// lanes draws the names and lines of actors, below what is drawn already.
func (c *canvas) lanes(names []string, x map[string]int, lane, top int) {
	bottom := c.height
	var lines []string
	drawn := c.parts
	c.parts = nil
	for _, name := range names {
		first, second := name, ""
		if words := strings.Fields(name); len(words) > 1 {
			first, second = strings.Join(words[:len(words)-1], " "), words[len(words)-1]
		} else if a, b, ok := strings.Cut(name, "/"); ok {
			first, second = a+"/", b
		} else if a, b, ok := strings.Cut(name, "-"); ok {
			first, second = a+"-", b
		}
		c.middle(x[name], 58, small, lane+14, "bold", first)
		c.middle(x[name], 74, small, lane+14, "bold", second)
		class := "line"
		if name == "API server" {
			lines = append(lines, fmt.Sprintf(`<rect x="%d" y="%d" width="6" height="%d" class="spine"/>`, x[name]-3, top-24, bottom-top+12))
			continue
		}
		lines = append(lines, fmt.Sprintf(`<path d="M%d %dV%d" class="%s"/>`, x[name], top-24, bottom-12, class))
	}
	heads := c.parts
	panels := slices.DeleteFunc(slices.Clone(drawn), func(p string) bool { return !strings.Contains(p, `class="panel"`) })
	rest := slices.DeleteFunc(drawn, func(p string) bool { return strings.Contains(p, `class="panel"`) })
	c.parts = slices.Concat(panels, lines, heads, rest)
}

// lanesOf returns the actors of the steps, the API server in the middle.
func lanesOf(r run, bands []band) []string {
	var asking, giving []string // who decides, and who makes, attaches and mounts
	used := map[int]bool{}
	for _, b := range bands {
		for _, s := range b.steps {
			used[s.Lane] = true
			if s.Call != nil && s.Call.To != nil {
				used[*s.Call.To] = true
			}
		}
	}
	for i, l := range r.Lanes {
		switch {
		case !used[i] || l.Kind == view.APIServer:
		case l.Kind == view.User, l.Kind == view.Controller, l.Kind == view.Scheduler, l.Kind == view.AttachDetach:
			asking = append(asking, title(l))
		default:
			giving = append(giving, title(l))
		}
	}
	return slices.Concat(asking, []string{"API server"}, giving)
}

// step draws one step.
func (c *canvas) step(r run, s view.Step, n, y int, x map[string]int, textX int) {
	from, to := r.actor(s), r.actor(s)
	kind := "call"
	if s.About != nil {
		kind = kindOf(r.Objects[*s.About])
	}
	switch {
	case s.Write != nil:
		to = "API server"
	case s.Call != nil && s.Call.To != nil:
		to = title(r.Lanes[*s.Call.To])
	}
	what := label(r, s)
	if from != to {
		end := x[to] - 5
		if x[to] < x[from] {
			end = x[to] + 5
		}
		c.arrow(from, to, what, kind, x[from], y, end, y)
	} else {
		c.edges = append(c.edges, from+": "+what)
	}
	c.number(x[from], y, n)
	c.say(textX, y+5, small+1, width-textX-14, "", what)
}

// label returns a few words for a step, made of its fields.
func label(r run, s view.Step) string {
	object := r.object(s)
	if kind, _, _ := strings.Cut(object, " "); kind == "attachment" {
		object = kind // its name is computed, and says nothing
	}
	switch {
	case s.Decision != nil:
		return "chooses " + s.Decision.Chosen
	case s.Call != nil:
		return s.Call.Method
	case s.Mount != nil:
		return s.Mount.Op + "s the volume"
	case s.Write == nil:
		return s.Text
	case s.Write.Gone:
		return "removes " + object
	case s.Write.Verb == "delete":
		return "deletes " + object
	case s.Write.Created:
		kind, _, _ := strings.Cut(object, " ")
		return "creates " + kind
	case s.Write.Sub == "binding":
		return object + ": nodeName"
	}
	for _, field := range [][2]string{
		{"/spec/volumeName", "volumeName"}, {"/spec/claimRef", "claimRef"}, {"/metadata/annotations/volume.kubernetes.io~1selected-node", "selected-node"},
		{"/status/attached", "attached"}, {"/status/volumesInUse", "volumesInUse"}, {"/status/volumesAttached", "volumesAttached"}, {"/status/phase", "phase"},
	} {
		path, word := field[0], field[1]
		if value, ok := sets(s, path); ok {
			kind, _, _ := strings.Cut(object, " ")
			if v, isText := value.(string); isText {
				return kind + ": " + word + " " + shortName(v)
			}
			return kind + ": " + word
		}
		if unsets(s, path) {
			kind, _, _ := strings.Cut(object, " ")
			return kind + ": no " + word
		}
	}
	return s.Write.Verb + "s " + object
}

// first returns the first step from index i on that a function wants; it is an error of the picture if there is none.
func (r run) first(i int, want func(view.Step) bool) (view.Step, int) {
	for ; i < len(r.Steps); i++ {
		if want(r.Steps[i]) {
			return r.Steps[i], i
		}
	}
	panic("the run of a picture has no such step") // the test draws all pictures
}

// chain returns steps, each the first after the one before it.
func (r run) chain(wants ...func(view.Step) bool) (steps []view.Step) {
	at := -1
	for _, want := range wants {
		s, i := r.first(at+1, want)
		steps, at = append(steps, s), i
	}
	return steps
}

// by wants steps of a kind of actor.
func (r run) by(kind view.Kind, want func(view.Step) bool) func(view.Step) bool {
	return func(s view.Step) bool { return r.Lanes[s.Lane].Kind == kind && want(s) }
}

// setting wants writes of a field.
func setting(path string) func(view.Step) bool {
	return func(s view.Step) bool { _, ok := sets(s, path); return ok && !s.Write.Created }
}

// calling wants calls of a method.
func calling(method string) func(view.Step) bool {
	return func(s view.Step) bool { return s.Call != nil && s.Call.Method == method }
}

// unsetting wants writes that take a field away.
func unsetting(path string) func(view.Step) bool {
	return func(s view.Step) bool { return unsets(s, path) }
}

// deleting wants requests to delete an object of a kind, and removing the writes after which it is gone.
func (r run) deleting(kind string) func(view.Step) bool {
	return func(s view.Step) bool { return wrote(s) && s.Write.Verb == "delete" && r.isOf(s, kind) }
}

func (r run) removing(kind string) func(view.Step) bool {
	return func(s view.Step) bool { return wrote(s) && s.Write.Gone && r.isOf(s, kind) }
}

func (r run) isOf(s view.Step, kind string) bool {
	return s.About != nil && r.Objects[*s.About].Kind == kind
}

// creating wants writes that create an object of a kind.
func (r run) creating(kind string) func(view.Step) bool {
	return func(s view.Step) bool {
		return s.Write != nil && s.Write.Created && s.About != nil && r.Objects[*s.About].Kind == kind
	}
}

func deciding(s view.Step) bool { return s.Decision != nil && s.Decision.Chosen != "" }

func binding(s view.Step) bool { return s.Write != nil && s.Write.Sub == "binding" }

// twoCycles draws how the scheduler places a pod whose claim waits.
func twoCycles(r run) *canvas {
	steps := r.chain(
		r.by(view.Scheduler, deciding),
		r.by(view.Scheduler, setting("/metadata/annotations/volume.kubernetes.io~1selected-node")),
		calling("CreateVolume"),
		r.creating("PersistentVolume"),
		r.by(view.Controller, setting("/spec/volumeName")),
		r.by(view.Scheduler, binding),
	)
	return sequence(r, "Two scheduling cycles of one pod", []band{
		{"Scheduling cycle: chooses, in memory", steps[:1]},
		{"Binding cycle: writes, and waits for the others", steps[1:]},
	})
}

// attachAndMount draws the way of a volume into a pod.
func attachAndMount(r run) *canvas {
	steps := r.chain(
		r.creating("VolumeAttachment"),
		calling("ControllerPublishVolume"),
		setting("/status/attached"),
		calling("NodeStageVolume"),
		calling("NodePublishVolume"),
		r.by(view.Kubelet, func(s view.Step) bool { return text(s, "/status/phase") == "Running" }),
	)
	return sequence(r, "Attach, then mount", []band{
		{"Attach: the node gets the disk", steps[:3]},
		{"Mount: the pod gets a directory", steps[3:]},
	})
}

// unmount draws the way of a volume out of a pod and off its node.
func unmount(r run) *canvas {
	steps := r.chain(
		r.by(view.User, r.deleting("Pod")),
		calling("NodeUnpublishVolume"),
		r.by(view.Kubelet, r.removing("Pod")),
		calling("NodeUnstageVolume"),
		r.by(view.Kubelet, unsetting("/status/volumesInUse")),
	)
	return sequence(r, "The kubelet unmounts", []band{
		{"The pod's directory", steps[:3]},
		{"The node's directory, when no pod there uses the volume", steps[3:]},
	})
}

// detach draws how a node loses a disk.
func detach(r run) *canvas {
	steps := r.chain(
		r.by(view.Kubelet, unsetting("/status/volumesInUse")),
		r.by(view.AttachDetach, unsetting("/status/volumesAttached")),
		r.by(view.AttachDetach, r.deleting("VolumeAttachment")),
		calling("ControllerUnpublishVolume"),
		r.by(view.Sidecar, r.removing("VolumeAttachment")),
	)
	return sequence(r, "Detach: two lists, then the attachment", []band{
		{"Nothing on the node uses the disk", steps[:1]},
		{"The attach/detach controller wants it back", steps[1:3]},
		{"The attacher detaches it", steps[3:]},
	})
}

// deleteVolume draws what becomes of a volume of the policy Delete when its claim goes.
func deleteVolume(r run) *canvas {
	steps := r.chain(
		r.by(view.User, r.deleting("PersistentVolumeClaim")),
		r.by(view.Controller, setting("/status/phase")),
		calling("DeleteVolume"),
		r.by(view.Sidecar, r.deleting("PersistentVolume")),
	)
	return sequence(r, "Delete: the claim, the storage, the object", []band{
		{"The claim goes", steps[:2]},
		{"The storage, and then the object", steps[2:]},
	})
}
