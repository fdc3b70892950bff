package bundled

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagesim/storagesim"
	"github.com/storagesim/storagesim/csi"
	"github.com/storagesim/storagesim/csi/deploy"
	csidriver "github.com/storagesim/storagesim/csi/driver"
	csiprovisioner "github.com/storagesim/storagesim/csi/provisioner"
	"github.com/storagesim/storagesim/internal/migration"
	"github.com/storagesim/storagesim/internal/prose"
	"github.com/storagesim/storagesim/trace"
)

// standInCapacity is an EiB. Of the storage behind another driver nothing is known, and examples of file systems in a cloud ask for more than the
// terabyte that the reference driver has of its own accord.
const standInCapacity = 1 << 60

// StandIn configures the reference CSI driver under the name of another one.
type StandIn struct {
	// Name is the driver's name.
	Name string
	// TopologyKey is the key of the node's label that limits each volume to a node; "" for volumes that all nodes reach.
	TopologyKey string
	// NoAttach is for a driver whose volumes are not attached. A CSIDriver object decides instead, if there is one.
	NoAttach bool
	// Limit is the number of volumes that a node can have; 0 is no limit.
	Limit int64
}

// StandIns runs a provisioner or CSI driver for each name that StorageClasses, VolumeSnapshotClasses, PersistentVolumes and
// inline volumes have and that nothing serves in the cluster. It looks at the objects of the cluster and at further ones that are
// going to be applied, and returns the names, sorted. Call it before the cluster runs on, and again after other objects are
// applied: what is served is left alone.
//
// A name of this library's own (see NameOf) gets that provisioner. Any other name gets the reference CSI driver, with the spec of the
// CSIDriver object of that name if there is one; volumes that PersistentVolumes name by volumeHandle exist there, as do snapshots
// that are named by snapshotHandle. A name that no CSI driver can have, such as example.com/nfs, gets a provisioner of hostPath
// volumes. Parameters of classes are not checked. Names that begin with kubernetes.io/ get nothing, since no provisioner outside
// of Kubernetes can have them.
//
// The trace names each stand-in (trace.StandIn).
func StandIns(c *storagesim.Cluster, further ...runtime.Object) (names []string, err error) {
	objects := slices.Concat(c.Engine().Server().Objects(false), further)
	wanted := map[string]bool{} // whether an inline volume names it
	for _, obj := range objects {
		for name, inline := range namesIn(obj) {
			if CanStandIn(name) && !c.Lab().Serves(name) {
				wanted[name] = wanted[name] || inline
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names {
		if err := standIn(c, name, wanted[name], objects); err != nil {
			return nil, fmt.Errorf("stand-in for %s: %w", name, err)
		}
	}
	return names, nil
}

// CanStandIn reports whether StandIns can run something under a name. Names that begin with kubernetes.io/ belong to plugins in
// Kubernetes itself: v1.37 has none of them but kubernetes.io/no-provisioner, which provisions nothing.
func CanStandIn(name string) bool { return name != "" && !strings.HasPrefix(name, "kubernetes.io/") }

// namesIn returns the names of provisioners and drivers in an object. The value is true if an inline volume names it.
func namesIn(obj runtime.Object) map[string]bool {
	switch o := obj.(type) {
	case *storagev1.StorageClass:
		return map[string]bool{cmp.Or(migration.Driver(o.Provisioner), o.Provisioner): false}
	case *v1.PersistentVolume:
		if o.Spec.CSI != nil {
			return map[string]bool{o.Spec.CSI.Driver: false}
		}
		if plugin := migration.OfVolume(o); plugin != "" {
			return map[string]bool{migration.Driver(plugin): false}
		}
	case *unstructured.Unstructured:
		if o.GetKind() == "VolumeSnapshotClass" && o.GroupVersionKind().Group == snapshotv1.GroupName {
			driver, _, _ := unstructured.NestedString(o.Object, "driver")
			return map[string]bool{driver: false}
		}
	}
	names := map[string]bool{}
	for _, volume := range volumesOf(obj) {
		if volume.CSI != nil {
			names[volume.CSI.Driver] = true
		}
		if plugin := migration.OfInline(&volume); plugin != "" {
			names[migration.Driver(plugin)] = names[migration.Driver(plugin)]
		}
	}
	return names
}

// volumesOf returns the volumes of a pod, or of the template of an object that makes pods.
func volumesOf(obj runtime.Object) []v1.Volume {
	switch o := obj.(type) {
	case *v1.Pod:
		return o.Spec.Volumes
	case *appsv1.Deployment:
		return o.Spec.Template.Spec.Volumes
	case *appsv1.ReplicaSet:
		return o.Spec.Template.Spec.Volumes
	case *v1.ReplicationController:
		if o.Spec.Template != nil {
			return o.Spec.Template.Spec.Volumes
		}
	case *appsv1.StatefulSet:
		return o.Spec.Template.Spec.Volumes
	case *appsv1.DaemonSet:
		return o.Spec.Template.Spec.Volumes
	case *batchv1.Job:
		return o.Spec.Template.Spec.Volumes
	case *batchv1.CronJob:
		return o.Spec.JobTemplate.Spec.Template.Spec.Volumes
	}
	return nil
}

// standIn runs a stand-in for a name.
func standIn(c *storagesim.Cluster, name string, inline bool, objects []runtime.Object) error {
	if short, ok := NameOf(name); ok {
		if short == "csi" {
			return runDriver(c, StandIn{Name: name}, inline, objects)
		}
		return Install(c, short)
	}
	if csi.CheckName(name) != nil {
		record(c, name, "a provisioner of hostPath volumes; a volume is a directory on each node that uses it, or on the selected node "+
			"alone if there is one; parameters of classes are not checked")
		return c.AddProvisioner(name, hostPaths{c, name})
	}
	return runDriver(c, StandIn{Name: name}, inline, objects)
}

// InstallStandIn runs the reference CSI driver under another name. The CSIDriver object of that name, in the cluster or among
// further objects that are going to be applied, says how the driver's volumes are treated.
func InstallStandIn(c *storagesim.Cluster, s StandIn, further ...runtime.Object) error {
	if c.Lab().Serves(s.Name) {
		return fmt.Errorf("stand-in for %s: a driver or provisioner of that name runs already", s.Name)
	}
	if err := csi.CheckName(s.Name); err != nil {
		return fmt.Errorf("stand-in: %w", err)
	}
	return runDriver(c, s, false, slices.Concat(c.Engine().Server().Objects(false), further))
}

func runDriver(c *storagesim.Cluster, s StandIn, inline bool, objects []runtime.Object) error {
	d := standInDriver{StandIn: s}
	for _, obj := range objects {
		if object, ok := obj.(*storagev1.CSIDriver); ok && object.Name == s.Name {
			d.spec = &object.Spec
		}
	}
	if d.spec == nil && inline {
		d.modes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral}
	}
	as := "the reference CSI driver under this name; parameters of classes and attributes of volumes are not checked"
	if migration.Plugin(s.Name) == azureFile {
		as += "; the Secret of its storage account is made, as the real driver makes it with a share"
		if err := makeAccountSecret(c); err != nil {
			return fmt.Errorf("stand-in for %s: %w", s.Name, err)
		}
	}
	record(c, s.Name, as)
	return c.InstallCSIDriver(d)
}

// azureFile is the plugin whose volumes, once translated, name a Secret of the account that their handle names.
const azureFile = "kubernetes.io/azure-file"

// makeAccountSecret makes the Secret of the account of handle.
// Upstream: csi-translation-lib plugins/azure_file.go secretNameTemplate and defaultSecretNamespace, v0.37.2.
func makeAccountSecret(c *storagesim.Cluster) error {
	secret := &v1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "azure-storage-account-account-secret"}, StringData: map[string]string{
		"azurestorageaccountname": "account", "azurestorageaccountkey": "stand-in",
	}}
	_, err := c.Client().CoreV1().Secrets("default").Create(context.Background(), secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil // the user's own
	}
	return err
}

// standInDriver is the reference driver with the spec of a CSIDriver object.
type standInDriver struct {
	StandIn
	spec  *storagev1.CSIDriverSpec        // nil if there is no such object
	modes []storagev1.VolumeLifecycleMode // of the object that is made
}

// Deploy implements deploy.Driver.
func (d standInDriver) Deploy(w csi.World) (deploy.Plan, error) {
	cfg := csidriver.Config{
		Name: d.Name, Handle: handle(d.Name), HandleAttribute: handleAttribute(d.Name), AnyVolume: true, AttributesClasses: true,
		NoAttach: d.NoAttach, MaxVolumes: d.Limit, Capacity: standInCapacity,
		Topology: d.TopologyKey != "", TopologyKey: d.TopologyKey,
	}
	if d.spec != nil {
		cfg.NoAttach = d.spec.AttachRequired != nil && !*d.spec.AttachRequired
		cfg.StorageCapacity = d.spec.StorageCapacity != nil && *d.spec.StorageCapacity
	}
	made, err := csidriver.New(cfg)
	if err != nil {
		return deploy.Plan{}, err
	}
	ofReference := made.Sidecars.Provisioner
	made.Sidecars.Provisioner = func(c *csiprovisioner.Config) {
		ofReference(c)
		c.DefaultFSType = defaultFSType
	}
	made.Spec.VolumeLifecycleModes = d.modes
	if d.spec != nil {
		made.Spec = *d.spec
	}
	return made.Deploy(w)
}

// defaultFSType is the file system of a stand-in's volumes whose class names none, as most drivers' deployments say (--default-fstype): with the
// usual fsGroupPolicy a volume without one is not given to a pod's fsGroup, and a program that does not run as root could not write.
const defaultFSType = "ext4"

// handle returns the form of the volume handles of a driver that has replaced a plugin in Kubernetes, where the translation of its volumes
// takes them apart, and puts them together again.
func handle(driver string) string {
	switch migration.Plugin(driver) {
	case "kubernetes.io/gce-pd":
		return "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{id}"
	case "kubernetes.io/azure-disk":
		return "/subscriptions/stand-in/resourceGroups/stand-in/providers/Microsoft.Compute/disks/{id}"
	case azureFile:
		return "stand-in#account#{id}#{name}#default"
	case vSphere:
		return "[stand-in] kubevols/{id}"
	}
	return ""
}

const vSphere = "kubernetes.io/vsphere-volume"

// handleAttribute returns the attribute by which the translation of a driver's volumes finds what names them.
// Upstream: csi-translation-lib plugins/vsphere_volume.go AttributeInitialVolumeFilepath, v0.37.2.
func handleAttribute(driver string) string {
	if migration.Plugin(driver) == vSphere {
		return "initialvolumefilepath"
	}
	return ""
}

// record names a stand-in in the story.
func record(c *storagesim.Cluster, name, as string) {
	c.Engine().Trace().Add(trace.Entry{Time: c.Now(), Actor: storagesim.Simulation, Record: trace.StandIn{Name: name, As: as}})
}

// FollowStandIns returns a function that runs StandIns if, since it was called last, an object was written that names what nothing
// serves. The function must be called between two steps.
func FollowStandIns(c *storagesim.Cluster) func() error {
	var named atomic.Bool
	named.Store(true) // what there is already
	c.Engine().Server().OnWrite(func(w trace.Write) {
		if w.Err == nil && len(namesIn(w.New)) > 0 {
			named.Store(true)
		}
	})
	return func() error {
		if !named.Swap(false) {
			return nil
		}
		_, err := StandIns(c)
		return err
	}
}

// ParseStandIns reads texts such as "NAME,topology=KEY,attach=false,limit=N". flag begins the errors.
func ParseStandIns(flag string, texts []string) (all []StandIn, err error) {
	for _, text := range texts {
		s, err := parseStandIn(text)
		if err == nil && slices.ContainsFunc(all, func(other StandIn) bool { return other.Name == s.Name }) {
			err = fmt.Errorf("%s is given twice", s.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", flag, text, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func parseStandIn(text string) (s StandIn, err error) {
	words := strings.Split(text, ",")
	s.Name = words[0]
	if err := csi.CheckName(s.Name); err != nil {
		return s, err
	}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "topology":
			if msgs := validation.IsQualifiedName(value); len(msgs) > 0 {
				return s, fmt.Errorf("topology: %q is not the key of a label: %s", value, strings.Join(msgs, "; "))
			}
			s.TopologyKey = value
		case "attach":
			attach, err := strconv.ParseBool(value)
			if err != nil {
				return s, fmt.Errorf("attach: %q; expected true or false", value)
			}
			s.NoAttach = !attach
		case "limit":
			if s.Limit, err = strconv.ParseInt(value, 10, 32); err != nil || s.Limit < 1 {
				return s, fmt.Errorf("limit: %q; expected a number of volumes, at least 1", value)
			}
		default:
			return s, fmt.Errorf("%q%s", word, prose.OneOf(key, []string{"attach=false", "limit=N", "topology=KEY"}))
		}
	}
	return s, nil
}
