package main

import (
	"fmt"

	"github.com/storagesim/storagesim/view"
)

// twoPointers draws claim and volume after each of the four writes that bind them.
func twoPointers(r run) *canvas {
	writes := r.find(func(s view.Step) bool {
		if s.About == nil || !wrote(s) || r.Lanes[s.Lane].ID != "persistent-volume-binder" {
			return false
		}
		_, points := sets(s, "/spec/claimRef")
		_, names := sets(s, "/spec/volumeName")
		return points || names || text(s, "/status/phase") == "Bound"
	})
	const row, top = 82, 62
	c := &canvas{title: "Two pointers, four writes of the PV controller", height: top + row*len(writes) + 12}
	c.heading("Two pointers, four writes of the PV controller")
	phase := map[string]string{"pvc": "Pending", "pv": "Available"}
	claimRef, volumeName := false, false
	for i, s := range writes {
		y := top + row*i
		o := r.Objects[*s.About]
		what := "status: phase"
		if _, ok := sets(s, "/spec/claimRef"); ok {
			what, claimRef = "claimRef", true
		}
		if _, ok := sets(s, "/spec/volumeName"); ok {
			what, volumeName = "volumeName", true
		}
		if p := text(s, "/status/phase"); p != "" {
			phase[o.Short] = p
		}
		c.number(34, y+26, i+1)
		c.say(58, y+22, normal, 150, "bold kfill "+o.Short, o.Short+" "+o.Name)
		c.say(58, y+42, small, 150, "soft", what)
		c.edges = append(c.edges, fmt.Sprintf("%s -> API server: %s %s", r.actor(s), o.Short, what))
		c.pair(r, writes, y, phase, claimRef, volumeName)
	}
	return c
}

// pair draws the claim and the volume with the pointers that there are.
func (c *canvas) pair(r run, writes []view.Step, y int, phase map[string]string, claimRef, volumeName bool) {
	names := map[string]string{}
	for _, s := range writes {
		names[r.Objects[*s.About].Short] = r.Objects[*s.About].Name
	}
	const left, right, w = 220, 540, 160
	c.nodes = append(c.nodes, "pvc "+names["pvc"], "pv "+names["pv"])
	c.object(left, y, w, 54, "pvc", names["pvc"], phase["pvc"])
	c.object(right, y, w, 54, "pv", names["pv"], phase["pv"])
	both := "dash "
	if claimRef && volumeName {
		both = ""
	}
	if volumeName {
		c.arrow("pvc "+names["pvc"], "pv "+names["pv"], "volumeName", both+"pvc", left+w+4, y+16, right-4, y+16)
		c.middle((left+w+right)/2, y+11, small, 120, "soft", "volumeName")
	}
	if claimRef {
		c.arrow("pv "+names["pv"], "pvc "+names["pvc"], "claimRef", both+"pv", right-4, y+38, left+w+4, y+38)
		c.middle((left+w+right)/2, y+55, small, 120, "soft", "claimRef")
	}
}
