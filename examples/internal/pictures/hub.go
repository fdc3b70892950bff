package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/storagesim/storagesim/view"
)

// written returns the kinds of objects that each actor writes, and the methods that each calls of another.
func (r run) written() (kinds map[string][]string, calls map[[2]string][]string) {
	kinds, calls = map[string][]string{}, map[[2]string][]string{}
	for _, s := range r.Steps {
		name := r.actor(s)
		if wrote(s) && s.About != nil {
			if kind := kindOf(r.Objects[*s.About]); !slices.Contains(kinds[name], kind) {
				kinds[name] = append(kinds[name], kind)
			}
		}
		if s.Call != nil && s.Call.To != nil {
			key := [2]string{name, title(r.Lanes[*s.Call.To])}
			if !slices.Contains(calls[key], s.Call.Method) {
				calls[key] = append(calls[key], s.Call.Method)
			}
		}
	}
	for name := range kinds {
		slices.SortFunc(kinds[name], func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
	}
	return kinds, calls
}

// order lists the kinds that pictures name, in this order; others are left out.
var order = []string{"pvc", "pv", "pod", "attachment", "node", "csinode", "sc"}

// lines divides words among lines of a width.
func lines(words []string, most int) (out []string) {
	line := ""
	for _, word := range words {
		if line != "" && len(line)+len(word)+2 > most {
			out, line = append(out, line+","), ""
		}
		if line != "" {
			line += ", "
		}
		line += word
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

// main lists the kinds of an actor that a picture has room for.
func mainKinds(kinds []string) (out []string) {
	for _, kind := range kinds {
		if slices.Contains(order[:5], kind) {
			out = append(out, kind)
		}
	}
	return out
}

// actors draws who writes what: all meet at the API server only.
func actors(r run) *canvas {
	kinds, _ := r.written()
	c := &canvas{title: "All actors meet at the API server only", height: 372}
	c.heading("They meet at the API server only: who writes what")
	c.nodes = append(c.nodes, "API server")
	c.add(`<rect x="24" y="168" width="672" height="44" rx="8" class="api"/>`)
	c.middle(360, 196, big, 640, "bold onapi", "API server")
	var above, below []string
	for _, l := range r.Lanes {
		name := title(l)
		switch {
		case len(mainKinds(kinds[name])) == 0 || slices.Contains(append(above, below...), name):
		case l.Kind == view.Sidecar, l.Kind == view.Kubelet:
			below = append(below, name)
		case l.Kind == view.User && l.ID == "user", l.Kind == view.Scheduler, l.Kind == view.AttachDetach, l.ID == "persistent-volume-binder":
			above = append(above, name)
		}
	}
	below = slices.DeleteFunc(below, func(name string) bool { return strings.HasSuffix(name, "node-1") }) // the second kubelet is like the first
	c.row(above, kinds, 60, 168)
	c.row(below, kinds, 290, 212)
	return c
}

// row draws actors with arrows to the edge of the API server.
func (c *canvas) row(names []string, kinds map[string][]string, y, edge int) {
	const w, h = 152, 46
	gap := (672 - w*len(names)) / max(1, len(names)-1)
	for i, name := range names {
		x := 24 + (w+gap)*i
		c.node(x, y, w, h, "", name)
		kind := mainKinds(kinds[name])
		from := y + h
		if y > edge {
			from = y
		}
		c.arrow(name, "API server", strings.Join(kind, ", "), kind[0], x+28, from, x+28, edge)
		for j, line := range lines(kind, 14) {
			c.say(x+40, (from+edge)/2+2+17*j-8*(len(lines(kind, 14))-1), small, w-40, "soft", line)
		}
	}
}

// csiPieces draws the containers beside a driver, what each writes and which calls it makes.
func csiPieces(r run) *canvas {
	kinds, calls := r.written()
	c := &canvas{title: "The pieces of CSI: who writes objects, and who calls the driver", height: 446}
	c.heading("The pieces of CSI")
	c.nodes = append(c.nodes, "API server")
	c.add(`<rect x="24" y="52" width="672" height="40" rx="8" class="api"/>`)
	c.middle(360, 78, normal+1, 400, "bold onapi", "API server")
	var callers [][2]string
	for _, key := range slices.SortedFunc(maps.Keys(calls), func(a, b [2]string) int { return strings.Compare(a[1]+a[0], b[1]+b[0]) }) {
		if len(mainKinds(kinds[key[0]])) > 0 && !strings.HasSuffix(key[0], "node-1") && strings.HasPrefix(key[1], "driver") {
			callers = append(callers, key)
		}
	}
	gap := (672 - 208*len(callers)) / max(1, len(callers)-1)
	drawn := map[string][2]int{} // by driver: the left and right end of its box
	for i, key := range callers {
		x := 24 + (208+gap)*i
		c.node(x, 164, 208, 46, "", key[0])
		kind := mainKinds(kinds[key[0]])
		c.arrow(key[0], "API server", strings.Join(kind, ", "), kind[0], x+40, 164, x+40, 92)
		c.say(x+54, 134, small, 154, "soft", strings.Join(kind, ", "))
		var methods []string
		for _, method := range calls[key] {
			if !strings.HasPrefix(method, "Get") && !strings.HasSuffix(method, "GetCapabilities") && !strings.HasSuffix(method, "GetInfo") && method != "Probe" {
				methods = append(methods, method)
			}
		}
		c.arrow(key[0], key[1], strings.Join(methods, ", "), "call", x+40, 210, x+40, 350)
		for j, method := range methods {
			c.say(x+54, 270+20*j, small, 190, "", method)
		}
		ends, ok := drawn[key[1]]
		if !ok {
			ends[0] = x
		}
		ends[1] = x + 208
		drawn[key[1]] = ends
	}
	for _, driver := range slices.Sorted(maps.Keys(drawn)) {
		ends := drawn[driver]
		service := "the controller service, once"
		if strings.Contains(driver, " on ") {
			service = "the node service"
		}
		c.node(ends[0], 350, ends[1]-ends[0], 70, "", driver, service)
	}
	return c
}
