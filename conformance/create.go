package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/internal/quantity"
)

// nodes makes nodes, each by the requests that the recorder sent for it. A refusal that is recorded is an observation.
func (r *replay) nodes(nodes []Node) error {
	for _, n := range nodes {
		for _, request := range r.requestsFor(n) {
			err := request(context.Background(), r.client.CoreV1().Nodes())
			if err != nil && !r.refusedNode(n) {
				return &stepError{err}
			}
			if err := r.meanwhile(); err != nil {
				return err
			}
			if err != nil {
				break
			}
		}
	}
	return nil
}

// refusedNode reports whether the recorder was refused a node.
func (r *replay) refusedNode(n Node) bool {
	return slices.ContainsFunc(r.rec.Steps[r.current].Writes, func(e Entry) bool {
		return e.Actor == storagesim.User && e.Verb == "create" && e.Resource == "nodes" && e.Name == n.Name && e.Code >= 400
	})
}

// nodeRequest is one request of the user's about a node.
type nodeRequest func(context.Context, typedv1.NodeInterface) error

// requestsFor returns the requests of the recorder for a new node: all of it in one request, or
// the node without its status and then a patch of that. A patch that is recorded with a
// change brought the status; one without found it there.
func (r *replay) requestsFor(n Node) []nodeRequest {
	i := slices.IndexFunc(r.rec.Steps[r.current].Writes, func(e Entry) bool {
		return e.Actor == storagesim.User && e.Verb == "patch" && e.Resource == "nodes/status" && e.Name == n.Name
	})
	node, status := newNode(n), readyStatus()
	if i < 0 || len(r.rec.Steps[r.current].Writes[i].Changed) == 0 {
		node.Status = status
	}
	create := func(ctx context.Context, api typedv1.NodeInterface) error {
		if _, err := api.Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create node %s: %w", n.Name, err)
		}
		return nil
	}
	if i < 0 {
		return []nodeRequest{create}
	}
	return []nodeRequest{create, func(ctx context.Context, api typedv1.NodeInterface) error {
		patch, err := json.Marshal(map[string]any{"status": status})
		if err != nil {
			return err
		}
		if _, err = api.Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return fmt.Errorf("patch the status of node %s: %w", n.Name, err)
		}
		return nil
	}}
}

func newNode(n Node) *v1.Node {
	labels := map[string]string{v1.LabelHostname: n.Name}
	maps.Copy(labels, n.Labels)
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels, Annotations: n.Annotations},
		Spec:       v1.NodeSpec{Taints: n.Taints},
	}
}

func readyStatus() v1.NodeStatus {
	size := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("64"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110"),
	}
	return v1.NodeStatus{
		Capacity: size, Allocatable: size,
		Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady"}},
	}
}

// create makes the objects one by one. A refusal is an observation.
func (r *replay) create(objects []json.RawMessage) error {
	for _, raw := range objects {
		filled, err := r.uids.fill(string(raw))
		if err != nil {
			return &stepError{err}
		}
		obj, gvk, err := decodeObject([]byte(filled))
		if err != nil {
			return bad("create: %w", err)
		}
		res, ok := manifest.ResourceForKind(r.cluster.Engine().Server().Registry(), *gvk)
		if !ok {
			return bad("create: there is no resource for %s", gvk)
		}
		m, err := meta.Accessor(obj)
		if err != nil {
			return bad("create: %w", err)
		}
		if res.Namespaced && m.GetNamespace() == "" {
			m.SetNamespace(metav1.NamespaceDefault)
		}
		req := api.Request{Verb: "create", Resource: res.GroupVersionResource(), Namespace: m.GetNamespace(), Object: obj}
		quiet := r.afterCreate
		refused, err := r.request(req)
		if err != nil {
			return err
		}
		if refused {
			quiet = afterRefusal
		}
		if err := r.rest(quiet); err != nil {
			return err
		}
	}
	return nil
}

// unknownKind returns the first kind that a step of a case with kubelets creates and that is no
// built-in one, such as a VolumeSnapshot; "" if there is none.
func (r *Recording) unknownKind() (step int, kind string) {
	for i, s := range r.Steps {
		for _, data := range s.Action.Create {
			gvk, err := jsonserializer.DefaultMetaFactory.Interpret(data)
			if r.whole() && err == nil && !scheme.Scheme.Recognizes(*gvk) && gvk.Group != snapshots.Group {
				return i, gvk.Kind
			}
		}
	}
	return 0, ""
}

// hasSnapshots reports whether a step creates objects of snapshots, or is about the programs for them.
func (r *Recording) hasSnapshots() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool {
		for program := range s.Action.Program {
			if strings.HasPrefix(program, "snap") {
				return true
			}
		}
		return slices.ContainsFunc(s.Action.Create, func(data json.RawMessage) bool {
			gvk, err := jsonserializer.DefaultMetaFactory.Interpret(data)
			return err == nil && gvk.Group == snapshots.Group
		})
	})
}

// decodeObject reads an object of a recording. It does not trust the text.
func decodeObject(data []byte) (runtime.Object, *schema.GroupVersionKind, error) {
	gvk, err := jsonserializer.DefaultMetaFactory.Interpret(data)
	if err != nil {
		return nil, nil, err
	}
	if gvk.Group == snapshots.Group {
		object := &unstructured.Unstructured{}
		return object, gvk, object.UnmarshalJSON(data)
	}
	if empty, err := scheme.Scheme.New(*gvk); err == nil {
		if bad := quantity.CheckJSON(data, empty); bad != nil {
			return nil, nil, fmt.Errorf("%s: %w", gvk.Kind, bad)
		}
	}
	return scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
}
