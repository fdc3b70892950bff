package apiserver

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// shape holds the words of the server's OpenAPI documents about a value.
type shape struct {
	Ref        string            `json:"$ref"`
	AllOf      []*shape          `json:"allOf"`
	OneOf      []*shape          `json:"oneOf"`
	Type       string            `json:"type"`
	Format     string            `json:"format"`
	Enum       []any             `json:"enum"`
	Required   []string          `json:"required"`
	Properties map[string]*shape `json:"properties"`
	Items      *shape            `json:"items"`
	Values     *shape            `json:"additionalProperties"`
	Kinds      []struct{ Group, Version, Kind string }
	name       string
}

// UnmarshalJSON implements json.Unmarshaler: additionalProperties may be a bool.
func (s *shape) UnmarshalJSON(data []byte) error {
	type plain shape
	var raw struct {
		plain
		Values json.RawMessage                         `json:"additionalProperties"`
		Kinds  []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*s = shape(raw.plain)
	s.Kinds = raw.Kinds
	if len(raw.Values) > 0 && raw.Values[0] == '{' {
		s.Values = &shape{}
		return json.Unmarshal(raw.Values, s.Values)
	}
	return nil
}

// catalogue holds the words of a server about its kinds.
type catalogue struct {
	shapes    map[string]*shape
	kinds     map[schema.GroupVersionKind]*shape
	resources map[schema.GroupVersionKind]metav1.APIResource
	hasStatus map[schema.GroupVersionKind]bool
}

// collectionOf returns the path of the objects of a kind, in a namespace if they have one; "" is all namespaces.
func (c *catalogue) collectionOf(gvk schema.GroupVersionKind, namespace string) string {
	resource, base := c.resources[gvk], "/apis/"+gvk.GroupVersion().String()
	if gvk.Group == "" {
		base = "/api/" + gvk.Version
	}
	if resource.Namespaced && namespace != "" {
		base += "/namespaces/" + namespace
	}
	return base + "/" + resource.Name
}

// discover asks the server for its documents.
func (r *Real) discover() (*catalogue, error) {
	c := &catalogue{map[string]*shape{}, map[schema.GroupVersionKind]*shape{}, map[schema.GroupVersionKind]metav1.APIResource{},
		map[schema.GroupVersionKind]bool{}}
	var statuses []schema.GroupVersionResource
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := r.get("/openapi/v3", &index); err != nil {
		return nil, err
	}
	for path, at := range index.Paths {
		if strings.Count(path, "/") < 1 || !strings.HasPrefix(path, "api") {
			continue
		}
		var document struct {
			Components struct{ Schemas map[string]*shape }
		}
		if err := r.get(at.ServerRelativeURL, &document); err != nil {
			return nil, err
		}
		for name, s := range document.Components.Schemas {
			if c.shapes[name] == nil {
				s.name, c.shapes[name] = name, s
			}
		}
		var list metav1.APIResourceList
		if path == "api/v1" || strings.Count(path, "/") == 2 {
			if err := r.get("/"+path, &list); err != nil {
				return nil, err
			}
		}
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			kind, subresource, is := strings.Cut(resource.Name, "/")
			if !is {
				c.resources[gv.WithKind(resource.Kind)] = resource
			} else if subresource == "status" {
				statuses = append(statuses, gv.WithResource(kind))
			}
		}
	}
	for _, s := range c.shapes {
		if len(s.Kinds) == 1 {
			k := s.Kinds[0]
			c.kinds[schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind}] = s
		}
	}
	for gvk, resource := range c.resources {
		c.hasStatus[gvk] = slices.Contains(statuses, gvk.GroupVersion().WithResource(resource.Name))
	}
	return c, nil
}

// sorted returns the kinds that have resources, in order.
func (c *catalogue) sorted() []schema.GroupVersionKind {
	return slices.SortedFunc(maps.Keys(c.resources), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
}

// get decodes the JSON of a document.
func (r *Real) get(path string, into any) error {
	req, err := http.NewRequest(http.MethodGet, r.URL+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	res, err := r.Transport().RoundTrip(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return json.Unmarshal(data, into)
}

// of returns the shape that stands behind references.
func (c *catalogue) of(s *shape) *shape {
	for {
		switch {
		case s == nil:
			return &shape{}
		case s.Ref != "":
			s = c.shapes[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
		case len(s.AllOf) == 1:
			s = s.AllOf[0]
		default:
			return s
		}
	}
}

// is reports whether the shape is the type with this name, without its package.
func (s *shape) is(names ...string) bool {
	return slices.Contains(names, s.name[strings.LastIndex(s.name, ".")+1:])
}
