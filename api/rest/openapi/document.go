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
	paths := Object{}
	for _, r := range resources {
		s.resource(r)
		r.paths(paths, s.Prefix)
	}
	return Object{
		"openapi": "3.0.0", "info": Object{"title": "Kubernetes", "version": release},
		"paths": paths, "components": Object{"schemas": s.ByName},
	}
}

// resource adds the schema of an object.
func (s *Schemas) resource(r Resource) {
	if r.Type == nil {
		custom := Object{"x-kubernetes-group-version-kind": []Object{identity(r.GVK)}}
		maps.Copy(custom, r.Schema)
		custom["type"] = "object"
		custom["properties"] = s.withMeta(r.Schema)
		s.ByName[r.name()] = custom
		return
	}
	s.Kind(r.Type, r.GVK)
}

// withMeta are the properties of a custom resource, with those that all objects have.
// Upstream: apiextensions-apiserver controller/openapi/builder buildKubeNative, v1.36.
func (s *Schemas) withMeta(custom Object) Object {
	all := Object{}
	if properties, ok := custom["properties"].(Object); ok {
		maps.Copy(all, properties)
	}
	var required []string
	s.fields(reflect.TypeFor[metav1.TypeMeta](), metav1.TypeMeta{}.SwaggerDoc(), all, &required)
	all["metadata"] = Object{
		"allOf":       []Object{{"$ref": s.Prefix + s.add(reflect.TypeFor[metav1.ObjectMeta]())}},
		"description": "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
	}
	return all
}

// name is that of the schema of an object.
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
func (r Resource) paths(paths Object, prefix string) {
	base := "/apis/" + r.GVR.Group + "/" + r.GVR.Version
	if r.GVR.Group == "" {
		base = "/api/" + r.GVR.Version
	}
	if r.Namespaced {
		paths[base+"/"+r.GVR.Resource] = Object{"get": r.operation("list", prefix)}
		base += "/namespaces/{namespace}"
	}
	base += "/" + r.GVR.Resource
	paths[base] = Object{"get": r.operation("list", prefix), "post": r.operation("post", prefix), "delete": r.operation("deletecollection", prefix)}
	one := Object{"get": r.operation("get", prefix), "put": r.operation("put", prefix), "patch": r.operation("patch", prefix), "delete": r.operation("delete", prefix)}
	paths[base+"/{name}"] = one
	for _, sub := range r.Subresources {
		paths[base+"/{name}/"+sub] = Object{"get": r.operation("get", prefix), "put": r.operation("put", prefix), "patch": r.operation("patch", prefix)}
	}
}

// operation is what one method does: what it is about, and its parameters.
func (r Resource) operation(action, prefix string) Object {
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
		parameters = append(parameters, Object{"name": name, "in": "query", "schema": Object{"type": "string", "uniqueItems": true}})
	}
	return Object{
		"x-kubernetes-action": action, "x-kubernetes-group-version-kind": identity(r.GVK), "parameters": parameters,
		"responses": Object{"200": Object{"description": "OK", "content": Object{
			"application/json": Object{"schema": Object{"$ref": prefix + r.name()}},
		}}},
	}
}
