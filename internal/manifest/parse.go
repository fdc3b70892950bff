package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim/internal/prose"
)

// DefaultNamespace is the namespace of objects that name none.
const DefaultNamespace = metav1.NamespaceDefault

// Source is the text of a manifest and the name that errors call it by.
type Source struct {
	Name string
	Data []byte
}

// Object is one object of a manifest.
type Object struct {
	// File and Line say where it begins.
	File string
	Line int
	// Resource is the resource of the object's kind.
	Resource Resource
	// Object is the object itself, apiVersion and kind set. It is also a
	// metav1.Object.
	Object runtime.Object
	// JSON holds the fields that the manifest sets, and the namespace, without defaults.
	JSON []byte

	node *yaml.Node // as it is written, for lines
}

// Meta returns the object's metadata.
func (o Object) Meta() metav1.Object { return o.Object.(metav1.Object) }

// Unversioned returns the object as kubectl creates it: without the version that one has which was written out with `kubectl get -o yaml`.
//
// Upstream: cli-runtime pkg/resource/helper.go CreateWithOptions, v0.37.
func (o Object) Unversioned() runtime.Object {
	obj := o.Object.DeepCopyObject()
	obj.(metav1.Object).SetResourceVersion("")
	return obj
}

// Ref returns "Kind/name". The name of an object with generateName is its prefix
// and a star.
func (o Object) Ref() string {
	name := o.Meta().GetName()
	if name == "" {
		name = o.Meta().GetGenerateName() + "*"
	}
	return o.Resource.Kind + "/" + name
}

// Parse reads the objects of one source. See ParseSet.
func Parse(kinds Kinds, filename string, data []byte) ([]Object, error) {
	return ParseSet(kinds, Source{Name: filename, Data: data})
}

// ParseSet reads the objects of all sources, of the kinds that the server has, in order, lists taken apart and
// namespaces defaulted. If anything is wrong it returns no object and Errors,
// which hold every problem found; but if only kinds are unknown (Errors.OnlyUnknownKinds) the objects of the other
// kinds come with the errors. An object that occurs twice comes twice, as kubectl applies it.
func ParseSet(kinds Kinds, sources ...Source) ([]Object, error) {
	return Reader{Kinds: kinds}.Set(sources...)
}

// Reader says how to read manifests. Kinds is required.
type Reader struct {
	Kinds Kinds
	// Namespace is the one of objects that name none, and no object may name another; default DefaultNamespace, and any other.
	Namespace string
	// Recursive includes directories below a directory.
	Recursive bool
}

// Set works as ParseSet.
func (r Reader) Set(sources ...Source) ([]Object, error) {
	key := r.key(sources)
	if objects, ok := read.get(key, r.Kinds); ok {
		return objects, nil
	}
	objects, err := r.set(sources)
	if err == nil {
		read.put(key, objects)
	}
	return objects, err
}

func (r Reader) set(sources []Source) ([]Object, error) {
	p := &parser{kinds: r.Kinds, namespace: r.Namespace}
	p.findDefinitions(sources)
	for _, source := range sources {
		p.file = source.Name
		nodes, err := documents(source.Name, source.Data)
		if e := (*Error)(nil); errors.As(err, &e) {
			p.errs = append(p.errs, e)
		}
		for _, node := range nodes {
			p.document(node)
		}
	}
	if len(p.errs) == 0 && len(p.objects) == 0 {
		p.nothing(sources)
	}
	slices.SortStableFunc(p.objects, definitionsFirst)
	switch {
	case len(p.errs) == 0:
		return p.objects, nil
	case p.errs.OnlyUnknownKinds():
		return p.objects, p.errs
	}
	return nil, p.errs
}

// nothing reports that there is no object in any of the sources.
func (p *parser) nothing(sources []Source) {
	names := make([]string, len(sources))
	problem := "is empty"
	for i, source := range sources {
		names[i] = source.Name
		if len(bytes.TrimSpace(source.Data)) > 0 {
			problem = "has no object, only comments or empty documents"
		}
	}
	if len(sources) == 0 {
		problem = "no manifest is given"
	}
	p.errs = append(p.errs, &Error{File: strings.Join(names, ", "), Problem: problem + "; expected at least one object in YAML or JSON"})
}

// parser collects the objects and the problems of a set.
type parser struct {
	kinds     Kinds
	namespace string                               // Reader.Namespace
	defined   map[schema.GroupVersionKind]Resource // by definitions in the set
	file      string
	objects   []Object
	errs      Errors
}

// unknown adds the problem that there is no such kind.
func (p *parser) unknown(line int, object, field, format string, args ...any) {
	p.problem(line, object, field, format, args...)
	p.errs[len(p.errs)-1].UnknownKind = true
}

// problem adds one. The object is the one that node is, or is in.
func (p *parser) problem(line int, object, field, format string, args ...any) {
	p.errs = append(p.errs, &Error{File: p.file, Line: line, Object: object, Field: field, Problem: fmt.Sprintf(format, args...)})
}

// document reads one document or one item of a list.
func (p *parser) document(node *yaml.Node) {
	gvk, ok := p.kindOf(node)
	if !ok {
		return
	}
	if strings.HasSuffix(gvk.Kind, "List") && valueOf(node, "items") != nil {
		p.list(node, gvk)
		return
	}
	resource, ok := p.resourceOf(node, gvk)
	if !ok {
		return
	}
	p.object(node, resource)
}

// kindOf reads apiVersion and kind.
func (p *parser) kindOf(node *yaml.Node) (schema.GroupVersionKind, bool) {
	if node.Kind != yaml.MappingNode {
		what := "a list"
		if node.Kind == yaml.ScalarNode { // possibly a secret, of a file that is no manifest
			what = "text"
		}
		p.problem(node.Line, "", "", "this is %s; expected an object with apiVersion, kind and metadata%s", what, wideColon(node))
		return schema.GroupVersionKind{}, false
	}
	name := objectName(node)
	before := len(p.errs)
	var text [2]string
	for i, field := range []string{"apiVersion", "kind"} {
		switch value := valueOf(node, field); {
		case value == nil || isNull(value):
			p.problem(node.Line, name, field, "is missing; expected for example %s", [2]string{"v1 or storage.k8s.io/v1", "PersistentVolumeClaim"}[i])
		case value.Kind != yaml.ScalarNode || value.ShortTag() != "!!str" || value.Value == "":
			p.problem(value.Line, name, field, "%s; expected text", describe(value))
		default:
			text[i] = value.Value
		}
	}
	if len(p.errs) > before {
		return schema.GroupVersionKind{}, false
	}
	gv, err := schema.ParseGroupVersion(text[0])
	if err != nil {
		p.problem(valueOf(node, "apiVersion").Line, name, "apiVersion", "%q is not group/version", text[0])
		return schema.GroupVersionKind{}, false
	}
	return gv.WithKind(text[1]), true
}

// list takes a list apart.
func (p *parser) list(node *yaml.Node, gvk schema.GroupVersionKind) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if known := []string{"apiVersion", "kind", "metadata", "items"}; !slices.Contains(known, key.Value) {
			p.problem(key.Line, gvk.Kind, key.Value, "unknown field%s", prose.DidYouMean(key.Value, known))
		}
	}
	items := valueOf(node, "items")
	if items.Kind != yaml.SequenceNode && !isNull(items) {
		p.problem(items.Line, gvk.Kind, "items", "%s; expected a list of objects", describe(items))
		return
	}
	for _, item := range items.Content {
		p.document(item)
	}
}

// resourceOf finds the kind in the API.
func (p *parser) resourceOf(node *yaml.Node, gvk schema.GroupVersionKind) (Resource, bool) {
	if r, ok := ResourceForKind(p.kinds, gvk); ok {
		return r, true
	}
	if r, ok := p.defined[gvk]; ok {
		return r, true
	}
	name := objectName(node)
	apiVersion := gvk.GroupVersion().String()
	var versions, kinds []string
	for _, r := range p.kinds.All() {
		if r.Kind == gvk.Kind {
			versions = append(versions, resourceOf(r).GroupVersion().String())
		}
		kinds = append(kinds, r.Kind)
	}
	if len(versions) > 0 {
		p.unknown(valueOf(node, "apiVersion").Line, name, "apiVersion", "no matches for kind %q in version %q; expected %s", gvk.Kind, apiVersion,
			strings.Join(versions, " or "))
	} else {
		p.unknownKind(node, gvk, kinds)
	}
	return Resource{}, false
}

// object checks one object against its type, decodes it and adds it.
func (p *parser) object(node *yaml.Node, resource Resource) {
	obj, err := p.newObject(resource.GroupVersionKind)
	if err != nil {
		p.problem(node.Line, objectName(node), "kind", "%v", err)
		return
	}
	before := len(p.errs)
	c := checker{parser: p, object: objectName(node), secret: resource.Kind == "Secret"}
	value, _ := c.check(node, checkedAs(resource.GroupVersionKind, obj), "").(map[string]any)
	c.metadata(node, value, resource)
	if len(p.errs) > before {
		slices.SortStableFunc(p.errs[before:], func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
		return
	}
	data, err := json.Marshal(value)
	if err == nil {
		err = decodeStrictly(data, obj)
	}
	if err != nil {
		p.problem(node.Line, c.object, "", "%v", err)
		return
	}
	p.objects = append(p.objects, Object{File: p.file, Line: node.Line, Resource: resource, Object: obj, JSON: data, node: node})
}

// decodeStrictly fails on anything that the checks should have found before.
func decodeStrictly(data []byte, into runtime.Object) error {
	strict, err := kjson.UnmarshalStrict(bytes.Clone(data), into)
	return errors.Join(append(strict, err)...)
}

// objectName returns "Kind/name" as far as the node has them.
func objectName(node *yaml.Node) string {
	text := func(n *yaml.Node) string {
		if n == nil || n.Kind != yaml.ScalarNode || isNull(n) {
			return ""
		}
		return n.Value
	}
	kind, name := text(valueOf(node, "kind")), text(valueOf(valueOf(node, "metadata"), "name"))
	if kind != "" && name != "" {
		return kind + "/" + name
	}
	return kind + name
}
