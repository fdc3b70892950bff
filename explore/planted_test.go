package explore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/control"
	csidriver "github.com/storagesim/storagesim/csi/driver"
	"github.com/storagesim/storagesim/explore"
	"github.com/storagesim/storagesim/provisioner"
)

// Twenty-two bugs of the kinds that authors make, in a provisioner, a driver and an operator. Each is looked for by the
// guide's scenario, which comes and goes twice and has no check of its own. Those that no general rule can see say why.

// plantedBug is one of them.
type plantedBug struct {
	name    string
	install func(c *explore.Cluster)
	// operator: the user applies and deletes the object of an operator instead of claims and pods.
	operator bool
	class    string
	// rule is the rule that finds it, "" if the scenario does not repeat itself or waits in vain. unseen says why no
	// general rule can find it.
	rule, unseen string
}

func plantedBugs() []plantedBug {
	ofProvisioner := func(name, rule string, newOf func(forty) provisioner.Provisioner) plantedBug {
		return plantedBug{name: name, rule: rule, class: "example.com/disks", install: func(c *explore.Cluster) {
			c.AddProvisioner("example.com/disks", newOf(forty{c.AddNFSServer("nas", "/srv")}))
		}}
	}
	ofDriverWith := func(cfg csidriver.Config, name, rule string, bug func() grpc.UnaryServerInterceptor) plantedBug {
		return plantedBug{name: name, rule: rule, class: csidriver.Name, install: func(c *explore.Cluster) {
			d, err := csidriver.New(cfg)
			c.Must(err)
			d.Interceptors = append(d.Interceptors, bug())
			c.InstallCSIDriver(d)
		}}
	}
	ofDriver := func(name, rule string, bug func() grpc.UnaryServerInterceptor) plantedBug {
		return ofDriverWith(csidriver.Config{}, name, rule, bug)
	}
	ofOperator := func(name, rule string, o operator) plantedBug {
		return plantedBug{name: name, rule: rule, operator: true, class: "example.com/disks", install: func(c *explore.Cluster) {
			c.AddProvisioner("example.com/disks", forty{c.AddNFSServer("nas", "/srv")})
			c.Must(c.Engine().Add("operator", o.start))
		}}
	}
	unseen := func(b plantedBug, why string) plantedBug {
		b.unseen = why
		return b
	}
	return []plantedBug{
		ofProvisioner("Provision makes another disk each time", explore.NothingLeaks, func(f forty) provisioner.Provisioner {
			made := 0
			return &named{f, func(provisioner.ProvisionOptions) string {
				made++
				return fmt.Sprint("disk-", made)
			}, map[string]string{}}
		}),
		ofProvisioner("a disk is named by the time", "", func(f forty) provisioner.Provisioner {
			return &named{f, func(provisioner.ProvisionOptions) string { return fmt.Sprint("disk-", time.Now().UnixNano()) }, map[string]string{}}
		}),
		ofProvisioner("a disk is named by its claim", explore.OneDisk, func(f forty) provisioner.Provisioner {
			return &named{f, func(o provisioner.ProvisionOptions) string { return o.PVC.Namespace + "-" + o.PVC.Name }, map[string]string{}}
		}),
		ofProvisioner("Delete fails if the disk is gone", explore.NothingLeaks, func(f forty) provisioner.Provisioner { return &strictDelete{f} }),
		ofProvisioner("Delete takes the first disk", explore.NothingLost, func(f forty) provisioner.Provisioner { return &byIndex{f} }),
		ofProvisioner("a lock stays locked if the disk exists", explore.Returns, func(f forty) provisioner.Provisioner { return &locked{forty: f} }),
		ofProvisioner("Provision fails if the disk exists", explore.Liveness, func(f forty) provisioner.Provisioner { return &strictProvision{f} }),
		ofProvisioner("volumes are always retained", explore.AsClass, func(f forty) provisioner.Provisioner { return &retained{f} }),

		ofDriver("CreateVolume makes another volume each time", explore.NothingLeaks, func() grpc.UnaryServerInterceptor {
			n := 0
			return before(func(req any) error {
				if r, ok := req.(*spec.CreateVolumeRequest); ok {
					n++
					r.Name = fmt.Sprint(r.Name, "-", n)
				}
				return nil
			})
		}),
		ofDriver("DeleteVolume fails if the volume is gone", explore.NothingLeaks, func() grpc.UnaryServerInterceptor {
			return once[*spec.DeleteVolumeRequest](func(r *spec.DeleteVolumeRequest) string { return r.VolumeId }, codes.NotFound)
		}),
		ofDriver("NodeUnstageVolume does nothing", explore.NothingLeaks, func() grpc.UnaryServerInterceptor {
			return instead(func(req any) any {
				if _, ok := req.(*spec.NodeUnstageVolumeRequest); ok {
					return &spec.NodeUnstageVolumeResponse{}
				}
				return nil
			})
		}),
		ofDriver("NodeUnpublishVolume fails if it was done", "", func() grpc.UnaryServerInterceptor {
			return once[*spec.NodeUnpublishVolumeRequest](func(r *spec.NodeUnpublishVolumeRequest) string { return r.TargetPath }, codes.NotFound)
		}),
		ofDriver("NodeUnstageVolume fails if it was done", explore.NothingLeaks, func() grpc.UnaryServerInterceptor {
			return once[*spec.NodeUnstageVolumeRequest](func(r *spec.NodeUnstageVolumeRequest) string { return r.VolumeId }, codes.Internal)
		}),
		ofDriverWith(csidriver.Config{NoAttach: true}, "NodeUnstageVolume fails if it was done, and nothing is attached", explore.NothingLeaks,
			func() grpc.UnaryServerInterceptor {
				return once[*spec.NodeUnstageVolumeRequest](func(r *spec.NodeUnstageVolumeRequest) string { return r.VolumeId }, codes.Internal)
			}),
		ofDriver("NodePublishVolume fails if it was done", "", func() grpc.UnaryServerInterceptor {
			return once[*spec.NodePublishVolumeRequest](func(r *spec.NodePublishVolumeRequest) string { return r.TargetPath }, codes.Internal)
		}),
		ofDriver("ControllerUnpublishVolume fails if it was done", explore.NothingLeaks, func() grpc.UnaryServerInterceptor {
			return once[*spec.ControllerUnpublishVolumeRequest](func(r *spec.ControllerUnpublishVolumeRequest) string { return r.VolumeId }, codes.Internal)
		}),

		ofOperator("it has no finalizer", explore.Liveness, operator{noFinalizer: true}),
		ofOperator("its finalizer goes first", explore.Liveness, operator{finalizerFirst: true}),
		ofOperator("what exists already is an error", explore.Liveness, operator{strict: true}),
		ofOperator("it swallows errors", explore.Liveness, operator{swallows: true}),
		unseen(ofOperator("it remembers what it has made", "", operator{remembers: map[string]bool{}}),
			"the second object of a name gets nothing, with and without trouble: only its author knows that it should"),
		unseen(ofOperator("its status is never written", "", operator{silent: true}),
			"what a status should say only its author knows"),
	}
}

// scenario plays that of the guide: claims and pods come and go, and come and go again under the same names.
func (b plantedBug) scenario(c *explore.Cluster) {
	b.install(c)
	c.RunFor(10 * time.Second)
	class := fmt.Sprintf("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: disks}, provisioner: %s}", b.class)
	const claim = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: NAME}, spec: {accessModes: [ReadWriteOnce], storageClassName: disks, ` +
		`resources: {requests: {storage: 1Gi}}}}`
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: NAME}, spec: {terminationGracePeriodSeconds: 1,
  containers: [{name: c, image: busybox, command: [sleep, "100000"], volumeMounts: [{name: v, mountPath: /data}]}],
  volumes: [{name: v, persistentVolumeClaim: {claimName: NAME}}]}}`
	const database = `{apiVersion: v1, kind: ConfigMap, metadata: {name: db, labels: {app: db}}}`
	c.Apply(class)
	for range 2 {
		if b.operator {
			c.Apply(database)
			c.Settle()
			c.Delete("configmap/db")
		} else {
			for _, name := range []string{"data", "more"} {
				c.Apply(strings.ReplaceAll(claim, "NAME", name), strings.ReplaceAll(pod, "NAME", name))
			}
			c.Settle()
			c.Delete("pod/data", "pod/more", "pvc/data", "pvc/more")
		}
		c.RunUntil(func() bool { return b.isGone(c) })
	}
	c.Settle()
}

// isGone reports whether what the user deleted is gone: users wait for that, and not for the volumes.
func (b plantedBug) isGone(c *explore.Cluster) bool {
	if b.operator {
		_, err := c.Client().CoreV1().ConfigMaps("default").Get(c.T.Context(), "db", metav1.GetOptions{})
		return err != nil
	}
	for _, name := range []string{"data", "more"} { // after each step, and a look copies the claim: the first that lives is enough
		if _, err := c.Cluster.Claim(name); err == nil {
			return false
		}
	}
	return true
}

// named gives its disks names of its own, and knows for which volume each was made.
type named struct {
	forty
	name    func(provisioner.ProvisionOptions) string
	madeFor map[string]string
}

func (p *named) Provision(ctx context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	pvName := o.PVName
	o.PVName = p.name(o)
	pv, state, err := p.forty.Provision(ctx, o)
	if pv != nil {
		p.madeFor[o.PVName] = pvName
		pv.Name = pvName
	}
	return pv, state, err
}

func (p *named) Volumes(ctx context.Context) ([]string, error) {
	names, err := p.forty.Volumes(ctx)
	for i, name := range names {
		names[i] = p.madeFor[name]
	}
	return names, err
}

type strictDelete struct{ forty }

func (p *strictDelete) Delete(ctx context.Context, pv *v1.PersistentVolume) error {
	if names, err := p.Volumes(ctx); err != nil || !strings.Contains(strings.Join(names, " "), pv.Name) {
		return errors.Join(err, fmt.Errorf("there is no disk %s", pv.Name))
	}
	return p.forty.Delete(ctx, pv)
}

type byIndex struct{ forty }

func (p *byIndex) Delete(ctx context.Context, _ *v1.PersistentVolume) error {
	names, err := p.Volumes(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	return p.server.Disk().RemoveAll("/srv/" + names[0])
}

type locked struct {
	forty
	mu sync.Mutex
}

func (p *locked) Provision(ctx context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	p.mu.Lock()
	if names, err := p.Volumes(ctx); err != nil || strings.Contains(strings.Join(names, " "), o.PVName) {
		p.mu.Lock() // it is meant to be unlocked
	}
	defer p.mu.Unlock()
	return p.forty.Provision(ctx, o)
}

type strictProvision struct{ forty }

func (p *strictProvision) Provision(ctx context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	if names, err := p.Volumes(ctx); err != nil || strings.Contains(strings.Join(names, " "), o.PVName) {
		return nil, provisioner.ProvisioningFinished, errors.Join(err, fmt.Errorf("disk %s exists", o.PVName))
	}
	return p.forty.Provision(ctx, o)
}

type retained struct{ forty }

func (p *retained) Provision(ctx context.Context, o provisioner.ProvisionOptions) (*v1.PersistentVolume, provisioner.ProvisioningState, error) {
	pv, state, err := p.forty.Provision(ctx, o)
	if pv != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = v1.PersistentVolumeReclaimRetain
	}
	return pv, state, err
}

// before calls f before each request, which may change it or refuse it.
func before(f func(req any) error) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if err := f(req); err != nil {
			return nil, err
		}
		return handler(ctx, req)
	}
}

// answering changes what the driver answers.
func answering(change func(answer any)) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		answer, err := handler(ctx, req)
		if err == nil {
			change(answer)
		}
		return answer, err
	}
}

// instead answers requests without the driver.
func instead(f func(req any) any) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if answer := f(req); answer != nil {
			return answer, nil
		}
		return handler(ctx, req)
	}
}

// once refuses what was done before.
func once[T any](key func(T) string, code codes.Code) grpc.UnaryServerInterceptor {
	done := map[string]bool{}
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		r, ok := req.(T)
		if ok && done[key(r)] {
			return nil, status.Errorf(code, "%s was done", key(r))
		}
		answer, err := handler(ctx, req)
		if ok && err == nil {
			done[key(r)] = true
		}
		return answer, err
	}
}

// operator makes a claim and a pod for each ConfigMap with a label, and deletes them with it. Its mistakes are chosen.
type operator struct {
	noFinalizer, finalizerFirst, strict, swallows, silent bool

	remembers map[string]bool
	env       control.Env
	objects   *control.Cache[*v1.ConfigMap]
}

const operatorsFinalizer = "example.com/db"

func (o operator) start(env control.Env) error {
	o.env, o.objects = env, control.NewCache[*v1.ConfigMap](env, v1.SchemeGroupVersion.WithResource("configmaps"))
	if o.remembers != nil {
		o.remembers = map[string]bool{}
	}
	queue := env.Queue(control.QueueConfig{Name: "databases", Reconcile: o.reconcile})
	o.objects.Handle(control.Enqueue[*v1.ConfigMap](queue.Add))
	return nil
}

func (o operator) reconcile(ctx context.Context, key string) error {
	object, ok := o.objects.Get(key)
	switch {
	case !ok && o.noFinalizer && key == "default/db":
		return o.remove(ctx)
	case !ok || object.Labels["app"] != "db":
		return nil
	case object.DeletionTimestamp != nil:
		return o.finish(ctx, object)
	case o.remembers[key]:
		return nil
	}
	if len(object.Finalizers) == 0 && !o.noFinalizer {
		object = object.DeepCopy()
		object.Finalizers = []string{operatorsFinalizer}
		var err error
		if object, err = o.env.Client().CoreV1().ConfigMaps("default").Update(ctx, object, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	if err := o.create(ctx); err != nil {
		return err
	}
	if o.remembers != nil {
		o.remembers[key] = true
	}
	if o.silent || object.Annotations["ready"] == "yes" {
		return nil
	}
	object = object.DeepCopy()
	object.Annotations = map[string]string{"ready": "yes"}
	_, err := o.env.Client().CoreV1().ConfigMaps("default").Update(ctx, object, metav1.UpdateOptions{})
	return err
}

// create makes what is not there.
func (o operator) create(ctx context.Context) error {
	core, class := o.env.Client().CoreV1(), "disks"
	_, err := core.PersistentVolumeClaims("default").Create(ctx, &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &class,
			Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{})
	if err = o.hear(err, apierrors.IsAlreadyExists); err != nil {
		return err
	}
	_, err = core.Pods("default").Create(ctx, &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: v1.PodSpec{
			Containers: []v1.Container{{Name: "c", Image: "busybox", Command: []string{"sleep", "100000"},
				VolumeMounts: []v1.VolumeMount{{Name: "v", MountPath: "/data"}}}},
			Volumes: []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "db"}}}},
		},
	}, metav1.CreateOptions{})
	return o.hear(err, apierrors.IsAlreadyExists)
}

// hear returns the error of a call, unless it says that nothing is to be done.
func (o operator) hear(err error, done func(error) bool) error {
	if o.swallows || err != nil && done(err) && !o.strict {
		return nil
	}
	return err
}

// finish deletes what was made, and then takes the finalizer away.
func (o operator) finish(ctx context.Context, object *v1.ConfigMap) error {
	free := func() error {
		object = object.DeepCopy()
		object.Finalizers = nil
		_, err := o.env.Client().CoreV1().ConfigMaps("default").Update(ctx, object, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	if o.finalizerFirst {
		return errors.Join(free(), o.remove(ctx))
	}
	if err := o.remove(ctx); err != nil {
		return err
	}
	return free()
}

func (o operator) remove(ctx context.Context) error {
	core := o.env.Client().CoreV1()
	o.strict = false
	if err := o.hear(core.Pods("default").Delete(ctx, "db", metav1.DeleteOptions{}), apierrors.IsNotFound); err != nil {
		return err
	}
	return o.hear(core.PersistentVolumeClaims("default").Delete(ctx, "db", metav1.DeleteOptions{}), apierrors.IsNotFound)
}

// The guide's scenario finds what it can in a thousand runs, without a check of its own: of all bugs in CI, where
// STORAGESIM_SEEDS is 100, and of each seventh in `go test`, in a provisioner, a driver and an operator.
func TestPlantedBugsAreFoundByTheGuidesScenarioAlone(t *testing.T) {
	var bugs []plantedBug
	_, runs := howMany(t)
	for i, b := range plantedBugs() {
		if runs >= 100 || i%7 == 3 {
			bugs = append(bugs, b)
		}
	}
	var found, unseen atomic.Int64
	t.Cleanup(func() {
		t.Logf("tried %d bugs, and found %d", len(bugs), found.Load())
		assert.Len(t, bugs, int(found.Load()+unseen.Load()))
		assert.Greater(t, 2*found.Load(), int64(len(bugs)))
	})
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			if b.rule != explore.Returns { // that one measures real time
				t.Parallel()
			}
			runs := 1000
			if b.unseen != "" {
				runs = 50
			}
			cfg := explore.Config{Runs: runs, ShrinkRuns: -1, Cluster: storagesim.Config{Nodes: storagesim.Nodes("node-1")}}
			if b.rule == explore.Returns {
				cfg.Cluster.Blocked = 100 * time.Millisecond // of real time: no other bug waits for it
			}
			report, err := explore.Run(t.Context(), cfg, explore.Scenario(b.scenario))
			if b.unseen != "" {
				require.NoError(t, err, b.unseen)
				unseen.Add(1)
				t.Logf("not found: %s", b.unseen)
				return
			}
			if _, odd := errors.AsType[*explore.NotRepeatable](err); odd {
				require.Empty(t, b.rule)
				found.Add(1)
				t.Log("found: it does not repeat itself")
				return
			}
			f, ok := errors.AsType[*explore.Failure](err)
			require.True(t, ok, "%v after %d runs: %s", err, report.Runs, report.Coverage)
			t.Logf("found in run %d (%s): %s", f.Run, f.Plan, f.Reason())
			require.Equal(t, b.rule, f.Rule())
			found.Add(1)
		})
	}
}
