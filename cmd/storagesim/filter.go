package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/trace"
)

// filterOptions say of what a story tells.
type filterOptions struct {
	about, actors []string
}

// add adds the flags.
func (o *filterOptions) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.about, "about", nil, "tell only what names `OBJECT`, such as pvc/data; may be repeated")
	flags.StringArrayVar(&o.actors, "actor", nil, "tell only what `NAME` did, such as kube-scheduler; may be repeated")
}

// set reports whether anything is left out.
func (o filterOptions) set() bool { return len(o.about)+len(o.actors) > 0 }

// checkOutput refuses the flags with a format that tells no story.
func (o filterOptions) checkOutput(format string) error {
	if !o.set() {
		return nil
	}
	return fmt.Errorf("-o %s: it tells no story, and --about and --actor choose what a story tells; leave them out", format)
}

// keep returns the choice of entries, nil for all. An object or an actor that a cluster's story does not have is an error.
func (o filterOptions) keep(c *storagesim.Cluster) (func(trace.Entry) bool, error) {
	if !o.set() {
		return nil, nil
	}
	records := c.Trace().Records()
	actors := append(c.Engine().Actors(), storagesim.User, storagesim.Setup)
	for _, e := range records {
		actors = append(actors, e.Actor)
	}
	slices.Sort(actors)
	actors = slices.Compact(actors)
	for _, name := range o.actors {
		if !slices.Contains(actors, name) {
			return nil, fmt.Errorf("--actor: no actor is called %q%s", name, prose.OneOf(name, actors))
		}
	}
	var refs []trace.Ref
	for _, text := range o.about {
		ref, err := objectOf(c, text, records)
		if err != nil {
			return nil, fmt.Errorf("--about: %w", err)
		}
		refs = append(refs, ref)
	}
	isAbout := trace.About(refs...)
	return func(e trace.Entry) bool {
		return (refs == nil || isAbout(e)) && (o.actors == nil || slices.Contains(o.actors, e.Actor))
	}, nil
}

// seen is a filter of records that come one by one, as those of a story that is being played do. Whether the names fit is known at the end.
type seen struct {
	o      filterOptions
	refs   []trace.Ref
	about  []func(trace.Entry) bool // of each of refs
	met    []bool                   // those of refs that an entry named
	names  map[string]bool          // of all objects that were written
	actors map[string]bool
}

// seen returns the filter, nil if there is nothing to leave out.
func (o filterOptions) seen() (*seen, error) {
	if !o.set() {
		return nil, nil
	}
	s := &seen{o: o, met: make([]bool, len(o.about)), names: map[string]bool{}, actors: map[string]bool{}}
	kinds := registry.New()
	for _, text := range o.about {
		kind, name, ok := strings.Cut(text, "/")
		if !ok || kind == "" || name == "" {
			return nil, fmt.Errorf("--about: %q does not name an object; write TYPE/NAME, such as pvc/data", text)
		}
		ref := trace.Ref{Kind: kind, Namespace: metav1.NamespaceDefault, Name: name} // of a kind that a manifest defines
		if at, err := manifest.ParseRef(kinds, "", text); err == nil {
			ref = trace.Ref{Kind: at.Resource.Kind, Namespace: at.Namespace, Name: at.Name}
		} else if ns, own, ok := strings.Cut(name, "/"); ok {
			ref.Namespace, ref.Name = ns, own
		}
		s.refs, s.about = append(s.refs, ref), append(s.about, trace.About(ref))
	}
	return s, nil
}

// chosen returns the function that chooses, nil for all.
func (s *seen) chosen() func(trace.Entry) bool {
	if s == nil {
		return nil
	}
	return s.keep
}

func (s *seen) keep(e trace.Entry) bool {
	s.actors[e.Actor] = true
	if w, ok := e.Record.(trace.Write); ok && w.Err == nil {
		s.names[w.About().String()] = true
	}
	named := len(s.refs) == 0
	for i, about := range s.about {
		if about(e) {
			s.met[i], named = true, true
		}
	}
	return named && (s.o.actors == nil || slices.Contains(s.o.actors, e.Actor))
}

// check returns an error for each name that nothing in the story bears.
func (s *seen) check() error {
	if s == nil {
		return nil
	}
	for i, ref := range s.refs {
		if !s.met[i] {
			return fmt.Errorf("--about %s: the story does not tell of a %s%s", s.o.about[i], ref, prose.DidYouMean(ref.String(), slices.Sorted(maps.Keys(s.names))))
		}
	}
	for _, name := range s.o.actors {
		if !s.actors[name] {
			return fmt.Errorf("--actor %s: the story does not tell of an actor of that name%s", name, prose.OneOf(name, slices.Sorted(maps.Keys(s.actors))))
		}
	}
	return nil
}

// objectOf returns the object that a user names. It must exist, or the records must name it.
func objectOf(c *storagesim.Cluster, text string, records []trace.Entry) (trace.Ref, error) {
	kinds := c.Engine().Server().Registry()
	if !strings.Contains(text, "/") {
		return trace.Ref{}, fmt.Errorf("%q does not name an object; write TYPE/NAME, such as pvc/data", text)
	}
	at, err := manifest.ParseRef(kinds, "", c.Trace().FullIDs(text))
	if err != nil {
		return trace.Ref{}, err
	}
	ref := trace.Ref{Kind: at.Resource.Kind, Namespace: at.Namespace, Name: at.Name}
	var others []string
	for _, obj := range c.Engine().Server().Objects(true) {
		m, err := meta.Accessor(obj)
		if err != nil || kindOf(obj) != ref.Kind {
			continue
		}
		if m.GetNamespace() == ref.Namespace && m.GetName() == ref.Name {
			return ref, nil
		}
		others = append(others, c.Trace().ShortIDs(trace.Ref{Kind: ref.Kind, Namespace: m.GetNamespace(), Name: m.GetName()}.String()))
	}
	if slices.ContainsFunc(records, trace.About(ref)) {
		return ref, nil // it is gone
	}
	slices.Sort(others)
	return ref, fmt.Errorf("there is no %s%s", ref, prose.OneOf(ref.String(), others))
}

// kindOf returns the kind of an object.
func kindOf(obj runtime.Object) string {
	if kind := obj.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return ""
	}
	return kinds[0].Kind
}
