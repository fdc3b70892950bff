package openapi

import (
	"maps"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is one resource to describe.
type Resource struct {
	GVR        schema.GroupVersionResource
	GVK        schema.GroupVersionKind
	Namespaced bool
	// Type is the Go struct of an object; nil for a custom resource, whose schema is
	// Schema.
	Type   reflect.Type
	Schema Object
	// Subresources are their names, such as status.
	Subresources []string
}

// Document describes the resources of one group and version in OpenAPI v3.
func Document(gv schema.GroupVersion, release string, resources []Resource) Object {
	s := &Schemas{Prefix: "#/components/schemas/", ByName: map[string]Object{}}
	paths := s.resources(resources)
	return Object{
		"openapi": "3.0.0", "info": Object{"title": "Kubernetes", "version": release},
		"paths": paths, "components": Object{"schemas": s.ByName},
	}
}

// resources adds the schemas of all, and returns their paths.
func (s *Schemas) resources(resources []Resource) Object {
	paths := Object{}
	for _, r := range resources {
		s.resource(r)
		s.list(r)
		r.paths(paths, s)
	}
	return paths
}

// list adds the schema of a list of objects. Its items refer to theirs.
func (s *Schemas) list(r Resource) {
	properties := Object{}
	var required []string
	s.fields(reflect.TypeFor[metav1.TypeMeta](), metav1.TypeMeta{}.SwaggerDoc(), properties, &required)
	properties["metadata"] = s.described(s.Prefix+s.add(reflect.TypeFor[metav1.ListMeta]()),
		"Standard list metadata. "+apiConventions+"#types-kinds")
	properties["items"] = Object{"type": "array", "items": Object{"$ref": s.Prefix + r.name()}}
	kind := r.GVK
	kind.Kind += "List"
	s.ByName[r.name()+"List"] = Object{
		"type": "object", "description": kind.Kind + " is a list of " + r.GVK.Kind + " objects.",
		"properties": properties, "required": []string{"items"}, "x-kubernetes-group-version-kind": []Object{identity(kind)},
	}
}

// resource adds the schema of an object.
func (s *Schemas) resource(r Resource) {
	if r.Type != nil {
		s.Kind(r.Type, r.GVK)
		return
	}
	custom := Object{}
	switch {
	case s.V2 && r.Schema[preserveUnknown] == true: // kubectl would refuse all fields but those named here
	case s.V2:
		custom = s.withEmbedded(swaggerSchema(r.Schema))
		custom["properties"] = s.withMeta(custom)
	default:
		maps.Copy(custom, s.withEmbedded(r.Schema))
		custom["properties"] = s.withMeta(custom)
	}
	custom["type"] = "object"
	custom["x-kubernetes-group-version-kind"] = []Object{identity(r.GVK)}
	s.ByName[r.name()] = custom
}

// withMeta returns the properties of a custom resource, with those that all objects have.
// Upstream: apiextensions-apiserver controller/openapi/builder buildKubeNative, v1.37.
func (s *Schemas) withMeta(custom Object) Object {
	all := Object{}
	if properties, ok := custom["properties"].(Object); ok {
		maps.Copy(all, properties)
	}
	var required []string
	s.fields(reflect.TypeFor[metav1.TypeMeta](), metav1.TypeMeta{}.SwaggerDoc(), all, &required)
	all["metadata"] = s.described(s.Prefix+s.add(reflect.TypeFor[metav1.ObjectMeta]()), metadataDoc)
	return all
}

// name returns the name of the schema of an object.
func (r Resource) name() string {
	if r.Type != nil {
		return Name(r.Type)
	}
	host := strings.Split(r.GVK.Group, ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	return strings.Join(append(host, r.GVK.Version, r.GVK.Kind), ".")
}

// paths adds the paths of a resource, with what can be done there.
func (r Resource) paths(paths Object, s *Schemas) {
	base := "/apis/" + r.GVR.Group + "/" + r.GVR.Version
	if r.GVR.Group == "" {
		base = "/api/" + r.GVR.Version
	}
	add := func(path string, actions map[string]string) {
		item := Object{}
		for method, action := range actions {
			item[method] = r.operation(action, s)
		}
		if parameters := s.pathParameters(path); len(parameters) > 0 {
			item["parameters"] = parameters
		}
		paths[path] = item
	}
	if r.Namespaced {
		add(base+"/"+r.GVR.Resource, map[string]string{"get": "list"})
		base += "/namespaces/{namespace}"
	}
	base += "/" + r.GVR.Resource
	add(base, map[string]string{"get": "list", "post": "post", "delete": "deletecollection"})
	add(base+"/{name}", map[string]string{"get": "get", "put": "put", "patch": "patch", "delete": "delete"})
	for _, sub := range r.Subresources {
		add(base+"/{name}/"+sub, map[string]string{"get": "get", "put": "put", "patch": "patch"})
	}
}

// pathParameters returns the parameters in the braces of a path.
func (s *Schemas) pathParameters(path string) []Object {
	var out []Object
	for _, name := range []string{"name", "namespace"} {
		if strings.Contains(path, "{"+name+"}") {
			p := s.parameter(name, "path")
			p["required"] = true
			out = append(out, p)
		}
	}
	return out
}

// operation returns what one method does: what it is about, and its parameters.
func (r Resource) operation(action string, s *Schemas) Object {
	names := []string{"pretty"}
	switch action {
	case "post", "put":
		names = append(names, "dryRun", "fieldManager", "fieldValidation")
	case "patch":
		names = append(names, "dryRun", "fieldManager", "fieldValidation", "force")
	case "delete":
		names = append(names, "dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
	case "list", "deletecollection":
		names = append(names, "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit",
			"resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch")
	}
	parameters := []Object{}
	for _, name := range names {
		parameters = append(parameters, s.parameter(name, "query"))
	}
	ref, answer := Object{"$ref": s.Prefix + r.name()}, Object{"$ref": s.Prefix + r.name()}
	switch action {
	case "list":
		answer = Object{"$ref": s.Prefix + r.name() + "List"}
	case "delete", "deletecollection":
		answer = Object{"$ref": s.Prefix + s.add(reflect.TypeFor[metav1.Status]())}
	}
	out := Object{"x-kubernetes-action": action, "x-kubernetes-group-version-kind": identity(r.GVK)}
	if s.V2 {
		parameters = append(parameters, body(action, ref)...)
		out["produces"], out["consumes"] = produced, r.consumed(action)
		out["responses"] = Object{"200": Object{"description": "OK", "schema": answer}}
	} else {
		if body := r.requestBody(action, ref); body != nil {
			out["requestBody"] = body
		}
		out["responses"] = Object{"200": Object{"description": "OK", "content": Object{"application/json": Object{"schema": answer}}}}
	}
	out["parameters"] = parameters
	return out
}

// requestBody returns the body of an action in OpenAPI v3, nil if it has none: the object, or a
// patch in one of the forms that the kind takes.
func (r Resource) requestBody(action string, ref Object) Object {
	content := Object{}
	switch action {
	case "post", "put":
		content["*/*"] = Object{"schema": ref}
	case "patch":
		for _, form := range r.consumed(action) {
			content[form] = Object{"schema": Object{"type": "object"}}
		}
	default:
		return nil
	}
	return Object{"content": content, "required": true}
}
