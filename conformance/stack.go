package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	csipb "github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/api/registry"
	"github.com/storagesim/storagesim/control/snapshots"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/machine/disk"
)

// Stack holds the programs beside the control plane in a recording of the whole stack: kubelets, sidecars and CSI drivers. A node has its own
// /var/lib/kubelet and /srv/host.
type Stack interface {
	// Nodes returns the names of the nodes in order.
	Nodes() []string
	// Kubelet carries out a step "kubelet" on one node, and Program a step "program" for one program.
	Kubelet(ctx context.Context, node, action string) error
	Program(ctx context.Context, name, action string) error
	// Host runs a shell command on a node.
	Host(ctx context.Context, node, command string) error
	// Fail makes calls of the drivers fail from now on, and Control carries out a step "driver".
	Fail(failures []Failure) error
	Control(what string) error
	// Calls returns the calls at drivers that ended since a time, in order of arrival, as they were: without placeholders.
	Calls(since time.Time) []DriverCall
	// Disk returns the disk of a node, and Mounts the paths that are mount points there.
	Disk(node string) (*disk.Disk, error)
	Mounts(node string) ([]string, error)
	// Published lists the volumes by ID, each with the IDs of the nodes on which it is published.
	Published() map[string][]string
	// Ended returns the programs that ended by themselves since a time.
	Ended(since time.Time) []Ended
}

// RecordedDriver is the CSI driver of recordings, without its nodes. It is not safe for use by several goroutines.
type RecordedDriver interface {
	csipb.IdentityServer
	csipb.ControllerServer
	// Set sets "lateSnap", "caps", "limit" or "modify", as a step "driver" does.
	Set(name, value string) error
	// Published lists the volumes by ID, each with the IDs of the nodes on which it is published.
	Published() map[string][]string
	// Limit returns how many volumes can be attached to a node, 0 if there is no limit.
	Limit() int64
}

// NewDriver returns the CSI driver of recordings. One whose name begins with "topo." has zones.
func NewDriver(name string) RecordedDriver { return newTestDriver(name) }

// DriverNames returns the drivers of a recording of the whole stack.
func DriverNames() []string { return testDrivers() }

// Set implements RecordedDriver.
func (d *testDriver) Set(name, value string) error {
	if name == "caps" {
		d.without = strings.FieldsFunc(value, func(c rune) bool { return c == ',' })
		return nil
	}
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		return err
	case name == "lateSnap":
		d.notReady = n
	case name == "limit":
		d.limit = n
	case name == "modify":
		d.modify = n > 0
	default:
		return fmt.Errorf("%q is not a known setting", name)
	}
	return nil
}

// Published implements RecordedDriver.
func (d *testDriver) Published() map[string][]string {
	found := map[string][]string{}
	for _, v := range d.volumes {
		found[v.GetVolumeId()] = slices.Clone(d.published[v.GetVolumeId()])
	}
	return found
}

// Limit implements RecordedDriver.
func (d *testDriver) Limit() int64 { return int64(d.limit) }

// before learns what there is when a case begins, and returns its nodes and CSINodes.
func (r *Recorder) before(ctx context.Context) (list []map[string]any, err error) {
	r.uids.nodes = r.Stack.Nodes()
	if err := addSnapshots(r.kinds); err != nil {
		return nil, err
	}
	for _, kind := range []string{"CSINode", "Node"} {
		found, err := r.list(ctx, kind)
		if err != nil {
			return nil, err
		}
		for _, obj := range found {
			r.learn(obj)
		}
		list = append(list, found...)
	}
	for i, obj := range list {
		list[i] = r.normal(obj)
		metadata, _ := obj["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		if obj["kind"] == "Node" {
			r.last["nodes "+name], r.nodes[name] = list[i], text(list[i])
		} else {
			r.last["csinodes "+name] = list[i]
		}
	}
	return list, nil
}

// addSnapshots adds the kinds of snapshots, whose definitions each stack has.
func addSnapshots(kinds *registry.Registry) error {
	return kinds.Add(nil,
		registry.Kind{Group: snapshots.Group, Version: "v1", Kind: "VolumeSnapshot", ShortNames: []string{"vs"}},
		registry.Kind{Group: snapshots.Group, Version: "v1", Kind: "VolumeSnapshotContent", ShortNames: []string{"vsc"}, ClusterScoped: true},
		registry.Kind{Group: snapshots.Group, Version: "v1", Kind: "VolumeSnapshotClass", ShortNames: []string{"vsclass"}, ClusterScoped: true})
}

// nodeStatus returns what recordings of the whole stack have of a node's status.
func nodeStatus(status map[string]any) map[string]any {
	kept := map[string]any{}
	for _, field := range []string{"volumesInUse", "volumesAttached"} {
		if value := status[field]; value != nil {
			kept[field] = value
		}
	}
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if condition, _ := c.(map[string]any); condition["type"] == string(v1.NodeReady) {
			kept["<ready>"] = condition["status"]
		}
	}
	return kept
}

// nothingNew reports whether a write of the whole stack is no part of a recording: a node's heartbeat, or one of programs that no recording has.
func (r *Recorder) nothingNew(e auditEvent) bool {
	if r.Stack == nil {
		return false
	}
	if !strings.HasPrefix(e.UserAgent, "user") {
		switch e.ObjectRef.Resource {
		case "serviceaccounts", "configmaps", "endpoints", "endpointslices", "controllerrevisions", "leases":
			return true
		}
	}
	if e.ObjectRef.Resource != "nodes" || e.ResponseStatus.Code >= 400 {
		return false
	}
	now := text(r.normal(runtime.DeepCopyJSON(e.ResponseObject)))
	if e.ObjectRef.Subresource == "status" && r.nodes[e.ObjectRef.Name] == now {
		return true
	}
	r.nodes[e.ObjectRef.Name] = now
	return false
}

// performWhole does what only the user of the whole stack does in a step.
func (r *Recorder) performWhole(ctx context.Context, a Action) error {
	for _, node := range sortedKeys(a.Kubelet) {
		if err := r.Stack.Kubelet(ctx, node, a.Kubelet[node]); err != nil {
			return err
		}
	}
	for _, program := range sortedKeys(a.Program) {
		if err := r.Stack.Program(ctx, program, a.Program[program]); err != nil {
			return err
		}
	}
	for _, command := range a.Host {
		nodes := r.Stack.Nodes()
		if strings.Contains(command, "<root>") {
			nodes = nodes[:1] // as the recordings' step does
		}
		filled, err := r.uids.fill(command)
		if err != nil {
			return err
		}
		for _, node := range nodes {
			if err := r.Stack.Host(ctx, node, filled); err != nil {
				return err
			}
		}
	}
	if len(a.Fail) > 0 {
		return r.Stack.Fail(a.Fail)
	}
	if a.Driver != "" {
		return r.Stack.Control(a.Driver)
	}
	return nil
}

// until waits until the conditions of a step hold, or no longer than it says.
func (r *Recorder) until(ctx context.Context, a Action) error {
	most := 60 * time.Second
	if a.Most > 0 {
		most = seconds(a.Most)
	}
	for end := time.Now().Add(most); len(a.Until) > 0 && time.Now().Before(end); {
		if err := r.listen(); err != nil {
			return err
		}
		done := true
		for _, condition := range a.Until {
			holds, err := r.holds(ctx, condition)
			if err != nil {
				return err
			}
			done = done && holds
		}
		if done {
			return nil
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether a condition holds, of those that a replay knows.
func (r *Recorder) holds(ctx context.Context, condition string) (bool, error) {
	first, second, _ := strings.Cut(condition, " ")
	switch first {
	case "event":
		return slices.ContainsFunc(r.heard, func(e auditEvent) bool {
			return e.ObjectRef.Resource == "events" && e.RequestObject["reason"] == second
		}), nil
	case "gone":
		if strings.Contains(second, "/") {
			obj, err := r.get(ctx, second)
			return obj == nil && err == nil, err
		}
		kind, err := manifest.FindResource(r.kinds, second)
		if err != nil {
			return false, err
		}
		list, err := r.list(ctx, kind.Kind)
		return len(list) == 0 && err == nil, err
	case "grpc":
		method, number, _ := strings.Cut(second, " ")
		times, err := strconv.Atoi(number)
		if number == "" {
			times, err = 1, nil
		}
		for _, c := range r.Stack.Calls(r.began) {
			if c.Method == method {
				times--
			}
		}
		return times <= 0, err
	}
	obj, err := r.get(ctx, first)
	return err == nil && obj != nil && is(obj, second), err
}

// get reads an object, "pod/web"; nil if there is none.
func (r *Recorder) get(ctx context.Context, ref string) (map[string]any, error) {
	at, err := r.resolve(ref)
	if err != nil {
		return nil, err
	}
	code, answer, err := r.request(ctx, http.MethodGet, r.address(at.Resource, at.Namespace, at.Name), "", "")
	if err != nil || code == http.StatusNotFound {
		return nil, err
	}
	if code != http.StatusOK {
		return nil, fmt.Errorf("get %s: %d %v", ref, code, answer["message"])
	}
	return answer, nil
}

// see adds to a step what there is beside the writes.
func (r *Recorder) see(ctx context.Context, step *Step) error {
	step.Ended = r.Stack.Ended(r.began)
	for _, c := range r.Stack.Calls(r.began) {
		data, err := json.Marshal(c.Request)
		if err == nil {
			c.Request = nil
			err = json.Unmarshal([]byte(r.uids.hide(string(data))), &c.Request)
		}
		if err != nil {
			return err
		}
		step.Calls = append(step.Calls, c)
	}
	step.Left = &Left{Nodes: map[string]OnNode{}, Storage: map[string][]string{}}
	for _, node := range r.Stack.Nodes() {
		mounts, err := r.Stack.Mounts(node)
		if err != nil {
			return err
		}
		root, err := r.Stack.Disk(node)
		if err != nil {
			return err
		}
		if on := leftOn(r.uids, mounts, root); !reflect.DeepEqual(on, OnNode{}) {
			step.Left.Nodes[node] = on
		}
	}
	for id, nodes := range r.Stack.Published() {
		step.Left.Storage[r.uids.hide(id)] = nodes
	}
	return r.look(ctx, step)
}

// look reads the directories that a step looks at.
func (r *Recorder) look(ctx context.Context, step *Step) error {
	pods, err := r.pods(ctx)
	if err != nil {
		return err
	}
	for _, what := range step.Action.Look {
		words := strings.Fields(what)
		if len(words) != 3 || words[0] != "volume" {
			node := r.Stack.Nodes()[0]
			if len(pods) > 0 && pods[0].Spec.NodeName != "" {
				node = pods[0].Spec.NodeName
			}
			step.Files = append(step.Files, r.readDir(node, strings.ReplaceAll(what, "<host>", hostDir)))
			continue
		}
		for _, pod := range pods {
			for _, v := range pod.Spec.Volumes {
				if pod.Name != words[1] || words[2] != "*" && words[2] != v.Name {
					continue
				}
				if dir := r.volumeDir(ctx, &pod, v.Name); dir != "" {
					step.Files = append(step.Files, r.readDir(pod.Spec.NodeName, dir))
				}
			}
		}
	}
	return nil
}

func (r *Recorder) pods(ctx context.Context) ([]v1.Pod, error) {
	list, err := r.list(ctx, "Pod")
	pods := make([]v1.Pod, len(list))
	for i, obj := range list {
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(obj, &pods[i])
		}
	}
	return pods, err
}

// volumeDir returns the mount point of a pod's volume.
func (r *Recorder) volumeDir(ctx context.Context, pod *v1.Pod, name string) string {
	list := func(dir string) (names []string) {
		root, err := r.Stack.Disk(pod.Spec.NodeName)
		if err != nil {
			return nil
		}
		entries, _ := root.ReadDir(dir)
		for _, e := range entries {
			if e.IsDir() {
				names = append(names, e.Name()+"/")
			} else {
				names = append(names, e.Name())
			}
		}
		return names
	}
	claim := func(ref string) (*v1.PersistentVolumeClaim, error) {
		claim := &v1.PersistentVolumeClaim{}
		obj, err := r.get(ctx, "pvc/"+ref)
		if err == nil && obj == nil {
			err = fmt.Errorf("there is no claim %s", ref)
		}
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(obj, claim)
		}
		return claim, err
	}
	return volumeDir(pod, name, list, claim)
}

// readDir reads a directory of a node.
func (r *Recorder) readDir(node, dir string) File {
	file := File{}
	root, err := r.Stack.Disk(node)
	if err == nil {
		file, err = readDir(root, path.Clean(dir))
	}
	if err != nil {
		file = File{Mode: r.uids.hide("nothing: " + err.Error())}
	}
	file.Path = r.uids.hide(dir)
	return file
}
