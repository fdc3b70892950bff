package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/api"
	"github.com/storagesim/storagesim/api/fake"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/controllers/attachdetach"
	"github.com/storagesim/storagesim/internal/manifest"
	"github.com/storagesim/storagesim/kubelet"
	"github.com/storagesim/storagesim/scheduler"
)

// actors returns the actors of the recorded control plane that the simulation has.
func actors() []string {
	return []string{
		storagesim.PVController, storagesim.PVCProtection, storagesim.PVProtection,
		storagesim.EphemeralVolumes, storagesim.VolumeExpansion, storagesim.StatefulSets, storagesim.AttachDetach, storagesim.Scheduler,
		storagesim.PodGC,
		storagesim.SnapshotController, // once the kinds of snapshots are there
	}
}

// withKubelets returns the actors that only recordings of the whole stack have: they act on
// what kubelets do or do not do.
func withKubelets() []string {
	return append(actors(), storagesim.GarbageCollection, storagesim.NodeLifecycle, storagesim.TaintEviction)
}

// afterRefusal is the time without a write after a refused creation before the next object is created.
const afterRefusal = 250 * time.Millisecond

// restLimit is the virtual time that a step may take to come to rest.
const restLimit = 30 * time.Minute

// replay is one run of a recording against the simulation.
type replay struct {
	rec      *Recording
	cluster  *storagesim.Cluster
	client   *fake.Clientset
	uids     *uids
	seen     *observer
	steering *steering
	before   map[string]map[string]any // with kubelets, the objects in the beginning
	began    int                       // how long the trace was when the step began
	current  int                       // the step, from 0

	// quiet is the time without a write after which a step is over, afterCreate the time without
	// a write before the next object is created.
	quiet, afterCreate time.Duration
	drivers            []*testDriver
	disks              map[string]*kubelet.Config // the nodes' disks and mounts, by name
	// ended holds the actors whose processes ended by themselves and were not started since.
	ended map[string]bool
	// started holds how long the trace was when a step last started an actor.
	started map[string]int
	// unanswered holds the calls whose callers were killed before they had the answer.
	unanswered []DriverCall
}

// newReplay makes the cluster of a recording, up to where the recording begins.
func newReplay(rec *Recording, s Schedule) (*replay, error) {
	steering := &steering{turns: s.Turns}
	machines := map[string]*kubelet.Config{}
	nodes, phases := nodesOf(rec), s.Kubelets
	config := storagesim.Config{
		Disks: storagesim.MemoryDisks, Nodes: nodes, NoNodes: len(nodes) == 0, Only: actors(), ResyncPhase: s.Phase,
		DenyPrivileged: true, NoServiceAccountAdmission: true, // as in the recorded cluster
		AttachDetach: attachdetach.Config{Late: true}, Scheduler: scheduler.Config{Late: true},
	}
	if rec.whole() {
		config.Only = withKubelets()
	}
	if rec.acts(storagesim.VACProtection) { // some recorders have none
		config.Only = append(config.Only, storagesim.VACProtection)
	}
	if rec.fromNothing() {
		config.Nodes, config.NoNodes = nil, true
	}
	var r *replay
	config.Wrap = func(actor string, f control.Factory) control.Factory {
		return func(env control.Env) error {
			if r != nil && r.endedByItself(actor) {
				return nil // the recorder did not start it again
			}
			return f(lateEnv{env.(control.FullEnv)})
		}
	}
	config.Kubelet = func(cfg *kubelet.Config) {
		machines[cfg.Node.Name] = cfg
		cfg.StatusPhase = time.Duration(phases%10) * time.Second
		phases /= 10
		cfg.Late = true
	}
	if !s.inOrder() {
		config.Policy = steering
	}
	cluster, err := storagesim.New(config)
	if err != nil {
		return nil, err
	}
	r = &replay{rec: rec, ended: map[string]bool{}, started: map[string]int{}, cluster: cluster,
		client: fake.New(cluster.Engine().Server(), storagesim.User), uids: newUIDs(), steering: steering, disks: machines}
	r.seen = newObserver(cluster, r.uids, steering)
	r.quiet, r.afterCreate = 3*time.Second, time.Second
	if rec.whole() {
		if err := r.beginWhole(nodes, s.Phase); err != nil {
			return nil, errors.Join(err, cluster.Close())
		}
	}
	return r, nil
}

// beginWhole brings a cluster with kubelets to where the recording begins: its drivers are registered, and its objects are known.
func (r *replay) beginWhole(nodes []storagesim.Node, phase time.Duration) (err error) {
	r.quiet, r.afterCreate = 4*time.Second, 600*time.Millisecond
	r.seen.simulated = r.simulated
	for _, node := range nodes {
		r.uids.nodes = append(r.uids.nodes, node.Name)
	}
	if r.rec.needsDriver() {
		if err := r.installDrivers(); err != nil {
			return err
		}
		if err := r.cluster.RunFor(phase); err != nil { // of the kubelets' 10 s
			return err
		}
	}
	for _, obj := range r.cluster.Engine().Server().Objects(false) {
		r.uids.learn(obj.GetObjectKind().GroupVersionKind().Kind, obj)
	}
	r.before, err = r.seen.objects()
	return err
}

// run replays rec under one schedule, up to the first step that differs unless all
// differences are wanted. The error is one of the recording: a step that cannot be
// carried out.
func run(rec *Recording, s Schedule, all bool) (found []Difference, err error) {
	if i, kind := rec.unknownKind(); kind != "" {
		return []Difference{{Step: i + 1, Of: len(rec.Steps), Object: kind, Wanted: "objects of this kind", Got: "no controller for them yet"}}, nil
	}
	r, err := newReplay(rec, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.cluster.Close()) }()
	for i, step := range rec.Steps {
		r.begin(i)
		got, err := r.step(step.Action)
		var impossible *stepError
		switch {
		case errors.As(err, &impossible):
			return nil, fmt.Errorf("%s: step %d: %w", rec.Case, i+1, err)
		case err != nil:
			return append(found, Difference{Step: i + 1, Of: len(rec.Steps), Wanted: "a control plane at rest", Got: err.Error()}), nil
		}
		for _, d := range r.compare(i, got) {
			d.Step, d.Of = i+1, len(rec.Steps)
			if d.write == 0 {
				d.write = len(got.writes) + 1
			}
			found = append(found, d)
		}
		if len(found) > 0 && !all {
			return found, nil
		}
	}
	objects, err := r.seen.objects()
	if err != nil {
		return nil, err
	}
	return slices.Concat(found, r.compareEnd(objects), compareCalls(rec.unanswered(), r.unanswered)), nil
}

// begin turns to the step of that index.
func (r *replay) begin(i int) {
	r.current = i
	r.steering.begin(i+1, requestsOf(r.rec.Steps[i], r.simulated))
}

// step does what the user did and says what came of it.
func (r *replay) step(a Action) (*observed, error) {
	r.seen.begin()
	r.began = r.cluster.Engine().Trace().Len()
	if err := r.perform(a); err != nil {
		return nil, err
	}
	got, err := r.seen.end()
	if err == nil && len(a.Look) > 0 {
		got.files, err = r.look(a.Look)
	}
	if err == nil {
		got.calls, err = r.calls()
	}
	if err == nil {
		got.ended = r.endedIn(r.began)
	}
	if err == nil && r.rec.Steps[r.current].Left != nil {
		got.left, err = r.left()
	}
	return got, err
}

// stepError is why a step cannot be carried out as it is written.
type stepError struct{ error }

func (b *stepError) Unwrap() error { return b.error }

func bad(format string, args ...any) error { return &stepError{fmt.Errorf(format, args...)} }

// perform does what the user did and waits as the recorder did.
func (r *replay) perform(a Action) error {
	var err error
	switch {
	case len(a.Nodes) > 0:
		err = r.nodes(a.Nodes)
	case len(a.Create) > 0:
		err = r.create(a.Create)
	case a.Delete != "":
		err = r.delete(strings.Fields(a.Delete), a.Grace)
	case a.Patch != nil:
		err = r.patch(*a.Patch)
	case a.Attach != "":
		err = r.attachments(a.Attach, func(name string) error {
			return r.patch(Patch{Object: "volumeattachment/" + name, Patch: []byte(`{"status":{"attached":true}}`), Subresource: "status"})
		})
	case a.Detach != "":
		err = r.attachments(a.Detach, func(name string) error { return r.delete([]string{"volumeattachment/" + name}, nil) })
	case a.Wait > 0:
		err = r.cluster.RunFor(seconds(a.Wait))
	case len(a.Kubelet) > 0:
		err = r.kubelets(a.Kubelet)
	case len(a.Program) > 0:
		err = r.programs(a.Program)
	case len(a.Host) > 0:
		err = r.host(a.Host)
	case len(a.Fail) > 0:
		err = r.fail(a.Fail)
	case a.Driver != "":
		err = r.control(a.Driver)
	}
	if err != nil {
		return err
	}
	if err := r.until(a); err != nil {
		return err
	}
	if err := r.rest(a.quiet(r.quiet) - r.steering.early()); err != nil {
		return err
	}
	return r.cluster.RunFor(r.steering.late())
}

// rest lets time pass until nothing has been written for that long. New events are
// written, too.
func (r *replay) rest(quiet time.Duration) error {
	began := r.cluster.Now()
	r.seen.lastWrite = began
	for {
		if err := r.cluster.RunFor(r.seen.lastWrite.Add(quiet).Sub(r.cluster.Now())); err != nil {
			return err
		}
		r.seen.listen()
		now := r.cluster.Now()
		if !now.Before(r.seen.lastWrite.Add(quiet)) {
			return nil
		}
		if now.Sub(began) > restLimit {
			return fmt.Errorf("writes have not ended after %s", restLimit)
		}
	}
}

// meanwhile lets others run between two requests of the user's, as long as the
// schedule says.
func (r *replay) meanwhile() error {
	steps, wait := r.steering.gap()
	if steps > 0 {
		// That nothing is left to happen is no failure.
		_ = r.cluster.Engine().RunUntil(0, func() bool { steps--; return steps < 0 })
	}
	if wait == 0 {
		return nil
	}
	return r.cluster.RunFor(wait)
}

// delete deletes objects. Without a kubelet a pod's grace period would never end.
func (r *replay) delete(refs []string, grace *int64) error {
	if grace == nil && !r.rec.whole() {
		grace = new(int64)
	}
	for _, ref := range refs {
		ref, err := r.uids.fill(ref)
		if err != nil {
			return &stepError{err}
		}
		res, namespace, name, err := r.resolve(ref)
		if err != nil {
			return err
		}
		options := metav1.DeleteOptions{}
		if res.Kind == "Pod" {
			options.GracePeriodSeconds = grace
		}
		req := api.Request{Verb: "delete", Resource: res.GroupVersionResource(), Namespace: namespace, Name: name, Delete: options}
		if _, err := r.request(req); err != nil {
			return err
		}
		if err := r.meanwhile(); err != nil {
			return err
		}
	}
	return nil
}

func (r *replay) patch(p Patch) error {
	ref, err := r.uids.fill(p.Object)
	if err != nil {
		return &stepError{err}
	}
	res, namespace, name, err := r.resolve(ref)
	if err != nil {
		return err
	}
	filled, err := r.uids.fill(string(p.Patch))
	if err != nil {
		return &stepError{err}
	}
	options := metav1.PatchOptions{}
	if patchTypes[p.Type] == types.ApplyPatchType {
		options.FieldManager = "kubectl"
	}
	_, err = r.request(api.Request{
		Verb: "patch", Resource: res.GroupVersionResource(), Subresource: p.Subresource, Namespace: namespace, Name: name,
		PatchType: patchTypes[p.Type], Patch: []byte(filled), Write: options,
	})
	return err
}

// patchTypes are the types of patches by what recordings call them.
var patchTypes = map[string]types.PatchType{
	"": types.MergePatchType, "merge": types.MergePatchType, "json": types.JSONPatchType,
	"strategic": types.StrategicMergePatchType, "apply": types.ApplyPatchType,
}

// attachments does something with each VolumeAttachment of a node.
func (r *replay) attachments(node string, do func(name string) error) error {
	list, err := r.client.StorageV1().VolumeAttachments().List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, va := range list.Items {
		if va.Spec.NodeName != node {
			continue
		}
		if err := do(va.Name); err != nil {
			return err
		}
		if err := r.meanwhile(); err != nil {
			return err
		}
	}
	return nil
}

// request makes the user's request. That it is refused is something to compare;
// anything but an answer of the API server is not. Where something is applied, it is told apart whose fields are in conflict.
func (r *replay) request(req api.Request) (refused bool, err error) {
	req.Track = r.rec.applies()
	_, err = r.client.Do(context.Background(), req)
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		return false, bad("%s %s: %w", req.Verb, req.Resource.Resource, err)
	}
	return err != nil, nil
}

// resolve takes "pvc/data" or "pvc/namespace/data" apart.
func (r *replay) resolve(ref string) (_ manifest.Resource, namespace, name string, _ error) {
	at, err := manifest.ParseRef(r.cluster.Engine().Server().Registry(), "", ref)
	if err != nil {
		err = &stepError{err}
	}
	return at.Resource, at.Namespace, at.Name, err
}
