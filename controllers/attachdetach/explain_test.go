package attachdetach

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/binding"
)

// scene holds the objects of an explanation. At first a pod on node one waits until the driver's attacher has attached its volume.
type scene struct {
	cfg      Config
	pod      *v1.Pod
	claim    *v1.PersistentVolumeClaim
	pv       *v1.PersistentVolume
	one, two *v1.Node
	driver   *storagev1.CSIDriver
	va       *storagev1.VolumeAttachment
	more     []runtime.Object
	attacher func(driver string) string
}

func newScene() *scene {
	node := func(name string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{controllerManaged: "true"}},
			Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}}}
	}
	return &scene{
		pod: podOn("web", "one"),
		claim: &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"},
			Spec: v1.PersistentVolumeClaimSpec{VolumeName: "pv"}, Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimBound}},
		pv: &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: v1.PersistentVolumeSpec{
			AccessModes:            []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			PersistentVolumeSource: v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}},
		}},
		one: node("one"), two: node("two"),
		driver: &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: "d"}},
		va:     attachmentAt("one"),
	}
}

// podOn returns a pod on a node that uses the claim.
func podOn(name, node string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1.PodSpec{NodeName: node, Volumes: []v1.Volume{
		{VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}},
		{VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
	}}}
}

func attachmentAt(node string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: binding.AttachmentName("h", "d", node)}, Spec: storagev1.VolumeAttachmentSpec{
		NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("pv")},
	}}
}

// attach adds an attachment of the volume at a node, for certain.
func (s *scene) attach(node string) *storagev1.VolumeAttachment {
	va := attachmentAt(node)
	va.Status.Attached = true
	s.more = append(s.more, va)
	return va
}

func (s *scene) objects() []runtime.Object {
	return append([]runtime.Object{s.pod, s.claim, s.pv, s.one, s.two, s.driver, s.va}, s.more...)
}

// use makes a node say that it uses the volume.
func use(node *v1.Node) { node.Status.VolumesInUse = []v1.UniqueVolumeName{"kubernetes.io/csi/d^h"} }

func list(node *v1.Node) {
	node.Status.VolumesAttached = []v1.AttachedVolume{{Name: "kubernetes.io/csi/d^h"}}
}

func TestAPodIsToldWhatItsVolumeWaitsFor(t *testing.T) {
	va := binding.AttachmentName("h", "d", "one")
	waits := "is not attached to node one yet: volumeattachment " + va + " waits for the attacher of driver d to set status.attached"
	for name, c := range map[string]struct {
		change func(*scene)
		want   Unattached
	}{
		"the attacher": {func(*scene) {}, Unattached{Driver: "d", Object: "volumeattachment/" + va, Text: waits}},
		"an attacher that works on nothing": {func(s *scene) { s.attacher = func(driver string) string { return driver + " sleeps" } },
			Unattached{Driver: "d", Object: "volumeattachment/" + va, Stuck: true, Text: waits + "; d sleeps"}},
		"an attacher that works": {func(s *scene) { s.attacher = func(string) string { return "" } },
			Unattached{Driver: "d", Object: "volumeattachment/" + va, Text: waits}},
		"a node": {func(s *scene) { s.one.Name = "gone" },
			Unattached{Object: "node/one", Stuck: true, Text: "is not attached: there is no node one"}},
		"a node whose volumes the controller attaches": {func(s *scene) { s.one.Annotations = nil },
			Unattached{Object: "node/one", Stuck: true, Text: "is not attached: node one lacks the annotation " + controllerManaged}},
		"the controller": {func(s *scene) { s.va.Name = "another" },
			Unattached{Object: "node/one", Text: "is not attached to node one, and there is no volumeattachment yet"}},
		"the controller, which may attach it twice": {func(s *scene) {
			s.va.Name = "another"
			s.pv.Spec.AccessModes[0] = v1.ReadWriteMany
			s.attach("two")
		}, Unattached{Object: "node/one", Text: "is not attached to node one, and there is no volumeattachment yet"}},
		"the driver": {func(s *scene) { s.va.Status.AttachError = &storagev1.VolumeError{Message: "no disk"} },
			Unattached{Driver: "d", Object: "volumeattachment/" + va, Stuck: true, Do: "mend what the driver says",
				Text: "cannot be attached to node one: volumeattachment " + va + " says: no disk"}},
		"the driver, which is not registered": {func(s *scene) {
			s.va.Status.AttachError = &storagev1.VolumeError{Message: "CSINode one does not contain driver d"}
		},
			Unattached{Driver: "d", Object: "volumeattachment/" + va, Stuck: true, Do: "see that the driver registers on the node",
				Text: "cannot be attached to node one: volumeattachment " + va + " says: CSINode one does not contain driver d"}},
		"the driver, which could attach it twice": {func(s *scene) {
			s.va.Status.AttachError = &storagev1.VolumeError{Message: "no disk"}
			s.pv.Spec.AccessModes[0] = v1.ReadWriteMany
			s.attach("two")
		}, Unattached{Driver: "d", Object: "volumeattachment/" + va, Stuck: true, Do: "mend what the driver says",
			Text: "cannot be attached to node one: volumeattachment " + va + " says: no disk"}},
		"the driver, since another node has it": {func(s *scene) {
			s.va.Status.AttachError = &storagev1.VolumeError{Message: "no disk"}
			use(s.two)
			s.attach("two")
		}, Unattached{Driver: "d", Object: "node/two", Stuck: true,
			Text: "cannot be attached to node one: volumeattachment " + va + " says: no disk; it is attached to node two, and its access modes " +
				"[ReadWriteOnce] allow one node only: no pod uses it there; it is detached when the node's kubelet has unmounted it and says so in status.volumesInUse"}},
		"the detach": {func(s *scene) { s.va.DeletionTimestamp, s.va.Finalizers = &metav1.Time{}, []string{"a/b", "c/d"} },
			Unattached{Driver: "d", Object: "volumeattachment/" + va,
				Text: "is being detached from node one: volumeattachment " + va + " waits for its finalizers: a/b, c/d"}},
		"the driver, to detach it": {func(s *scene) {
			s.va.DeletionTimestamp, s.va.Finalizers = &metav1.Time{}, []string{"a/b"}
			s.va.Status.DetachError = &storagev1.VolumeError{Message: "it is stuck"}
		}, Unattached{Driver: "d", Object: "volumeattachment/" + va, Stuck: true, Do: "mend what the driver says",
			Text: "is being detached from node one: volumeattachment " + va + " waits for its finalizers: a/b; the driver says: it is stuck"}},
		"the node's list": {func(s *scene) { s.va.Status.Attached = true; use(s.one) },
			Unattached{Object: "node/one", Text: "is attached to node one, whose status.volumesAttached does not list it yet"}},
		"the kubelet": {func(s *scene) { s.va.Status.Attached = true; list(s.one) }, Unattached{Object: "node/one",
			Text: "is attached to node one, whose kubelet has not yet said in status.volumesInUse that it will use it; it writes its status every 10 s"}},
		"nothing: it is there":                       {func(s *scene) { s.va.Status.Attached = true; list(s.one); use(s.one) }, Unattached{}},
		"nothing: there is no such pod":              {func(s *scene) { s.pod.Name = "other" }, Unattached{}},
		"nothing: the pod has no node":               {func(s *scene) { s.pod.Spec.NodeName = "" }, Unattached{}},
		"nothing: the pod has ended":                 {func(s *scene) { s.pod.Status.Phase = v1.PodFailed }, Unattached{}},
		"nothing: there is no claim":                 {func(s *scene) { s.claim.Name = "other" }, Unattached{}},
		"nothing: the claim is not bound":            {func(s *scene) { s.claim.Status.Phase = v1.ClaimLost }, Unattached{}},
		"nothing: there is no volume":                {func(s *scene) { s.pv.Name = "other" }, Unattached{}},
		"nothing: no driver attaches such volumes":   {func(s *scene) { s.pv.Spec.CSI = nil }, Unattached{}},
		"nothing: the driver's are attached already": {func(s *scene) { s.driver.Spec.AttachRequired = new(false) }, Unattached{}},
	} {
		s := newScene()
		c.change(s)
		var want []Unattached
		if c.want != (Unattached{}) {
			c.want.Volume = "pv"
			want = []Unattached{c.want}
		}
		assert.Equal(t, want, Explain(s.cfg, "default/web", s.objects(), s.attacher), name)
	}
}

// A pod that waits for a volume for one node learns which node has it, why, and what becomes of it there.
func TestAPodIsToldWhoHasItsVolume(t *testing.T) {
	va := binding.AttachmentName("h", "d", "two")
	const unmount = "no pod uses it there; it is detached when the node's kubelet has unmounted it and says so in status.volumesInUse"
	for name, c := range map[string]struct {
		change func(*scene)
		want   Unattached
	}{
		"it is about to be detached": {func(*scene) {}, Unattached{Object: "volumeattachment/" + va, Text: "it is about to be detached"}},
		"also since its node is out of service": {func(s *scene) {
			use(s.two)
			s.two.Spec.Taints = []v1.Taint{{Key: v1.TaintNodeOutOfService}}
		}, Unattached{Object: "volumeattachment/" + va, Text: "it is about to be detached"}},
		"the node uses it": {func(s *scene) { use(s.two) }, Unattached{Object: "node/two", Text: unmount}},
		"the node uses it and is lost": {func(s *scene) { use(s.two); s.two.Status.Conditions = nil }, Unattached{Object: "node/two",
			Do: "wait, or taint node two node.kubernetes.io/out-of-service if it is down for good",
			Text: "no pod uses it there, and the node is not ready; it is detached 6m0s after its last pod has gone, or at once if the node is tainted " +
				"node.kubernetes.io/out-of-service"}},
		"the node uses it and is lost, and nothing forces it": {func(s *scene) {
			use(s.two)
			s.two.Status.Conditions, s.cfg.DisableForceDetachOnTimeout = nil, true
		}, Unattached{Object: "node/two", Text: unmount}},
		"the node is gone": {func(s *scene) { s.two.Name = "gone" }, Unattached{Object: "volumeattachment/" + va, Text: "it is about to be detached"}},
		"a pod uses it": {func(s *scene) { s.more = append(s.more, podOn("user", "two")) }, Unattached{Object: "pod/default/user", Stuck: true,
			Do: "end that pod, place both on one node, or use a volume that allows ReadWriteMany", Text: "it is used there by pod default/user"}},
		"several pods use it": {func(s *scene) {
			for _, name := range []string{"f", "b", "e", "a", "d", "c"} {
				s.more = append(s.more, podOn(name, "two"))
			}
		}, Unattached{Object: "pod/default/a", Stuck: true, Do: "end that pod, place both on one node, or use a volume that allows ReadWriteMany",
			Text: "it is used there by pod default/a, default/b, default/c, default/d, default/e, default/f"}},
		"pods that do not use it": {func(s *scene) {
			ended, far, without := podOn("ended", "two"), podOn("far", "three"), podOn("without", "two")
			ended.Status.Phase, without.Spec.Volumes = v1.PodSucceeded, without.Spec.Volumes[:1]
			s.more = append(s.more, ended, far, without)
		}, Unattached{Object: "volumeattachment/" + va, Text: "it is about to be detached"}},
	} {
		s := newScene()
		s.va.Name = "another" // not attached for certain, at the pod's own node
		held := s.attach("two")
		c.change(s)
		kept := ExplainKept(s.cfg, held, s.objects())
		assert.Equal(t, c.want.Text, kept, name)
		c.want.Volume, c.want.Text = "pv", "is attached to node two, and its access modes [ReadWriteOnce] allow one node only: "+c.want.Text
		assert.Equal(t, []Unattached{c.want}, Explain(s.cfg, "default/web", s.objects(), nil), name)
	}
}

// Only an attachment of this volume, at another node and for certain, keeps a volume for one node away: of several the first by the node's name.
func TestOnlyAVolumesOwnAttachmentsKeepItAway(t *testing.T) {
	holder := func(change func(*scene)) string {
		s := newScene()
		s.va.Name = "another"
		change(s)
		var node string
		if _, err := fmt.Sscanf(Explain(s.cfg, "default/web", s.objects(), nil)[0].Text, "is attached to node %s", &node); err != nil {
			return ""
		}
		return node
	}
	assert.Equal(t, "two,", holder(func(s *scene) { s.attach("two") }))
	for range 20 { // attachments are kept in a map
		assert.Equal(t, "a,", holder(func(s *scene) {
			for _, node := range []string{"f", "b", "e", "a", "d", "c"} {
				s.attach(node)
			}
		}))
	}
	assert.Empty(t, holder(func(s *scene) { s.attach("two").Status.Attached = false }), "it may not be there")
	assert.Empty(t, holder(func(s *scene) { s.va.Status.Attached = true }), "it is at this node, by another name")
	assert.Empty(t, holder(func(s *scene) { s.attach("two").Spec.Source.PersistentVolumeName = new("other") }), "another volume's")
	assert.Empty(t, holder(func(s *scene) { s.attach("two").Spec.Source.PersistentVolumeName = nil }), "that of a volume in a pod")
}

func TestAnAttachmentOutlivesItsVolume(t *testing.T) {
	for name, change := range map[string]func(*scene){
		"it is of a volume in a pod":    func(s *scene) { s.va.Spec.Source.PersistentVolumeName = nil },
		"the volume is gone":            func(s *scene) { s.pv.Name = "other" },
		"the volume is of another kind": func(s *scene) { s.pv.Spec.CSI = nil },
	} {
		s := newScene()
		change(s)
		assert.Equal(t, "its volume is gone", ExplainKept(s.cfg, s.va, s.objects()), name)
	}
}

// A volume of an old plugin, also one that stands in the pod, waits for the driver that has replaced the plugin.
func TestAPodIsToldWhatAVolumeOfAnOldPluginWaitsFor(t *testing.T) {
	disk := &v1.GCEPersistentDiskVolumeSource{PDName: "disk"}
	s := newScene()
	s.pv.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{GCEPersistentDisk: disk}
	s.pod.Spec.Volumes[0].VolumeSource = v1.VolumeSource{GCEPersistentDisk: disk}
	said := Explain(s.cfg, "default/web", s.objects(), nil)
	assert.Len(t, said, 2)
	for _, why := range said {
		assert.Equal(t, "is not attached to node one, and there is no volumeattachment yet", why.Text)
	}
}
