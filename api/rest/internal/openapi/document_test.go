package openapi_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/storagesim/storagesim/api/rest/internal/openapi"
)

func TestOpenAPIv3SaysWhatBodiesAndAnswersAre(t *testing.T) {
	typed := openapi.Resource{GVR: v1.SchemeGroupVersion.WithResource("nodes"), GVK: v1.SchemeGroupVersion.WithKind("Node"), Type: reflect.TypeFor[v1.Node]()}
	group := schema.GroupVersion{Group: "example.com", Version: "v1"}
	custom := openapi.Resource{GVR: group.WithResource("gadgets"), GVK: group.WithKind("Gadget"), Schema: openapi.Object{"type": "object"}}
	for _, tt := range []struct {
		of          openapi.Resource
		base, model string
		strategic   bool
	}{
		{typed, "/api/v1/nodes", "io.k8s.api.core.v1.Node", true},
		{custom, "/apis/example.com/v1/gadgets", "com.example.v1.Gadget", false},
	} {
		document := openapi.Document(tt.of.GVK.GroupVersion(), "v1.36.3", []openapi.Resource{tt.of})
		paths := document["paths"].(openapi.Object)
		body := func(path, method string) any {
			return paths[path].(openapi.Object)[method].(openapi.Object)["requestBody"]
		}
		answer := func(method string) any {
			at := paths[tt.base].(openapi.Object)[method].(openapi.Object)
			for _, key := range []string{"responses", "200", "content", "application/json"} {
				at = at[key].(openapi.Object)
			}
			return at["schema"]
		}
		assert.Equal(t, openapi.Object{"$ref": "#/components/schemas/" + tt.model + "List"}, answer("get"))
		assert.Equal(t, openapi.Object{"$ref": "#/components/schemas/" + tt.model}, answer("post"))
		assert.Equal(t, openapi.Object{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Status"}, answer("delete"))
		list := document["components"].(openapi.Object)["schemas"].(map[string]openapi.Object)[tt.model+"List"]
		assert.Equal(t, []openapi.Object{{"group": tt.of.GVK.Group, "version": tt.of.GVK.Version, "kind": tt.of.GVK.Kind + "List"}},
			list["x-kubernetes-group-version-kind"])
		items := openapi.Object{"type": "array", "items": openapi.Object{"$ref": "#/components/schemas/" + tt.model}}
		assert.Equal(t, items, list["properties"].(openapi.Object)["items"])

		object := openapi.Object{"required": true,
			"content": openapi.Object{"*/*": openapi.Object{"schema": openapi.Object{"$ref": "#/components/schemas/" + tt.model}}}}
		assert.Equal(t, object, body(tt.base, "post"))
		assert.Equal(t, object, body(tt.base+"/{name}", "put"))
		patch := body(tt.base+"/{name}", "patch").(openapi.Object)["content"].(openapi.Object)
		assert.Contains(t, patch, "application/apply-patch+yaml")
		_, strategic := patch["application/strategic-merge-patch+json"]
		assert.Equal(t, tt.strategic, strategic)
		assert.Nil(t, body(tt.base, "get"))
		assert.Nil(t, body(tt.base+"/{name}", "delete"))
	}
}
