package main

import (
	"path"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/view"
)

// places draws where a pod goes when it is made again: with a hostPath, and with a local volume.
func places(r run) *canvas {
	c := &canvas{title: "A pod is made again while its node takes no pods: with a hostPath it goes elsewhere, with a local volume it waits", height: 318}
	c.heading("The same pod, made again while node-1 is closed")
	c.place(r, 24, "with-hostpath", "hostPath")
	c.place(r, 372, "with-local", "local volume")
	return c
}

// place draws one of the two.
func (c *canvas) place(r run, x int, pod, name string) {
	const w = 324
	c.add(`<rect x="%d" y="52" width="%d" height="246" rx="10" class="panel"/>`, x, w)
	c.middle(x+w/2, 80, big-1, w-20, "bold", name)
	decisions := r.find(func(s view.Step) bool {
		return s.Decision != nil && s.About != nil && r.Objects[*s.About].Name == pod && len(s.Decision.Candidates) > 0
	})
	first, last := decisions[0], decisions[len(decisions)-1]
	at := map[string]int{}
	for i, node := range []string{first.Decision.Candidates[0].Name, first.Decision.Candidates[1].Name} {
		at[node] = x + 16 + 152*i
		held := "empty"
		if node == first.Decision.Chosen {
			held = "its file"
		} else if name != "hostPath" {
			held = "no disk"
		}
		c.node(at[node], 216, 140, 66, "", node, "/data: "+held)
	}
	c.node(x+w/2-64, 100, 128, 38, "", "pod")
	c.edge(pod, first.Decision.Chosen, "first", x+w/2, at[first.Decision.Chosen]+70, "pod dash")
	switch {
	case last.Decision.Chosen != "":
		c.edge(pod, last.Decision.Chosen, "again", x+w/2, at[last.Decision.Chosen]+70, "pod")
	default:
		c.edges = append(c.edges, pod+" -> no node")
		c.say(x+w/2+14, 166, normal, 150, "bold kfill bad", "again: waits")
		c.say(x+w/2+14, 186, small, 150, "soft", reason(last))
	}
}

// reason returns why the last of the nodes is passed over, in short.
func reason(s view.Step) string {
	for _, candidate := range s.Decision.Candidates {
		if candidate.Filter == "VolumeBinding" || strings.Contains(candidate.Reason, "NodeSelectorTerms") {
			return "disk is elsewhere"
		}
	}
	return "no node fits"
}

// edge draws the way of a pod to a node.
func (c *canvas) edge(pod, node, word string, from, to int, class string) {
	x := from - 34
	if to > from {
		x = from + 34
	}
	c.arrow(pod, node, word, class, x, 138, x, 176, to, 176, to, 214)
	c.middle(to, 168, small, 100, "soft", word)
}

// mountTree draws the mounts of a node that has two pods with one volume.
func mountTree(r run) *canvas {
	mounts := r.find(func(s view.Step) bool { return s.Mount != nil && s.Mount.Op == "mount" && s.Mount.Err == "" })
	stage, _ := r.first(0, calling("NodeStageVolume"))
	source := mounts[0].Mount.Source
	const top, row = 62, 92
	c := &canvas{title: "One volume, staged once, published for each pod", height: top + 3*row + 8}
	c.heading("One volume on " + strings.TrimPrefix(mounts[0].Mount.Machine, "node/") + ": staged once, published twice")
	volume := shortName(mounts[0].Mount.Volume)
	const w = 300
	c.object(210, top, w, 54, "pv", volume, "the disk that is attached")
	c.node(210, top+row, w, 54, "", "…/"+path.Base(source), "staging directory")
	c.arrow("pv "+volume, path.Base(source), stage.Call.Method, "pv", 360, top+54, 360, top+row)
	c.say(372, top+78, small, 300, "soft", stage.Call.Method+", once")
	for i, m := range mounts {
		x := 24 + 360*i
		name := r.Objects[*m.About].Name
		c.node(x, top+2*row, 312, 62, "", "pod "+name, "…/pods/"+short(m.Mount.Target)+"/mount")
		bend := 300 + 120*i
		c.arrow(path.Base(m.Mount.Source), "pod "+name, "NodePublishVolume", "pod", bend, top+row+54, bend, top+2*row-14, x+156, top+2*row-14, x+156, top+2*row)
	}
	c.say(430, top+2*row-22, small, 260, "soft", "NodePublishVolume, for each pod")
	return c
}

// short returns the part of a target below pods that names the pod and the volume.
func short(target string) string {
	parts := strings.Split(target, "/")
	at := slices.Index(parts, "pods")
	if at < 0 || at+4 >= len(parts) {
		return target
	}
	return parts[at+1][:8] + "…/" + shortName(parts[at+4])
}
