package main

import (
	"fmt"
	"time"

	"github.com/storagesim/storagesim/view"
)

// moment is a point of time that a picture names.
type moment struct {
	step     view.Step
	who      string
	what     string
	clock    string // what was waited for since the moment before
	question bool   // a human must act
}

// nodeDies draws the clocks that run between the end of a machine and the move of its disk.
func nodeDies(r run) *canvas {
	steps := r.chain(
		func(s view.Step) bool { return s.Off },
		func(s view.Step) bool { return s.Event != nil && s.Event.Reason == "NodeNotReady" },
		func(s view.Step) bool {
			return s.Write != nil && s.Write.Verb == "delete" && s.About != nil && r.Objects[*s.About].Kind == "Pod" && r.Lanes[s.Lane].ID == "taint-eviction-controller"
		},
		func(s view.Step) bool {
			return s.Write != nil && s.Write.Verb == "delete" && s.About != nil && r.Objects[*s.About].Kind == "Pod" && r.Lanes[s.Lane].Kind == view.User
		},
		calling("ControllerUnpublishVolume"),
		calling("ControllerPublishVolume"),
		func(s view.Step) bool {
			return text(s, "/status/phase") == "Running" && r.Lanes[s.Lane].Kind == view.Kubelet
		},
	)
	node := r.Lanes[steps[0].Lane].Node
	moments := []moment{
		{step: steps[0], who: node, what: "is switched off"},
		{step: steps[1], who: r.actor(steps[1]), what: node + " is NotReady", clock: "no lease is renewed"},
		{step: steps[2], who: r.actor(steps[2]), what: "deletes " + r.object(steps[2]), clock: "toleration"},
		{step: steps[3], who: r.actor(steps[3]), what: "deletes it by force", clock: "Terminating", question: true},
		{step: steps[4], who: r.actor(steps[4]), what: "detaches the disk", clock: "maximum wait"},
		{step: steps[5], who: r.actor(steps[5]), what: "attaches it to " + r.Lanes[steps[6].Lane].Node},
		{step: steps[6], who: r.actor(steps[6]), what: "runs " + r.object(steps[6])},
	}
	return timeline("A node dies: the clocks until its disk moves", moments)
}

// timeline draws moments one below the other, and beside them how long each wait is.
func timeline(heading string, moments []moment) *canvas {
	const top, row, axis = 66, 58, 250
	c := &canvas{title: heading, height: top + row*len(moments)}
	c.heading(heading)
	for i, m := range moments {
		y := top + row*i + 14
		if i > 0 {
			c.wait(m, m.step.T-moments[i-1].step.T, axis, y-row, y)
		}
		class := "api"
		if i == 0 || m.question {
			class = "kfill bad"
		}
		c.add(`<circle cx="%d" cy="%d" r="8" class="%s"/>`, axis, y, class)
		c.nodes = append(c.nodes, m.who)
		c.edges = append(c.edges, m.who+": "+m.what)
		c.say(axis+24, y+6, normal, 180, "bold", m.who)
		c.say(axis+200, y+6, normal, width-axis-210, "", m.what)
	}
	return c
}

// wait draws the time between two moments.
func (c *canvas) wait(m moment, ms int64, x, from, to int) {
	long := ms >= 10_000
	class := "line"
	if long {
		class = "line k bad"
	}
	c.add(`<path d="M%d %dV%d" class="%s" stroke-width="%d"/>`, x, from+8, to-8, class, map[bool]int{true: 4, false: 2}[long])
	if !long {
		return
	}
	words := span(ms)
	c.edges = append(c.edges, fmt.Sprintf("%s after %s", m.what, words))
	middle := (from + to) / 2
	c.add(`<text x="%d" y="%d" font-size="%d" class="bold" text-anchor="end">%s</text>`, x-20, middle+1, big, words)
	c.add(`<text x="%d" y="%d" font-size="%d" class="soft" text-anchor="end">%s</text>`, x-20, middle+18, small, m.clock)
}

// span returns a time in words, "2 min 5 s".
func span(ms int64) string {
	d := (time.Duration(ms) * time.Millisecond).Round(time.Second)
	minutes, seconds := d/time.Minute, d%time.Minute/time.Second
	switch {
	case minutes == 0:
		return fmt.Sprintf("%d s", seconds)
	case seconds == 0:
		return fmt.Sprintf("%d min", minutes)
	}
	return fmt.Sprintf("%d min %d s", minutes, seconds)
}
