package volume

import (
	"fmt"
	"reflect"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Spec is a volume, either from a pod or a PersistentVolume; one of the two is
// set.
type Spec struct {
	Volume           *v1.Volume
	PersistentVolume *v1.PersistentVolume
	// ReadOnly is the field of the pod's persistentVolumeClaim volume.
	ReadOnly bool
	// Inline says that PersistentVolume is the translation of a volume in the pod's spec, whose plugin a CSI driver has replaced. There is
	// no such object, and no claim.
	//
	// Upstream: plugins.go Spec InlineVolumeSpecForCSIMigration, v1.37.
	Inline bool
}

// NewSpecFromVolume returns a Spec of a pod's own volume.
func NewSpecFromVolume(vs *v1.Volume) *Spec { return &Spec{Volume: vs} }

// NewSpecFromPersistentVolume returns a Spec of a PersistentVolume.
func NewSpecFromPersistentVolume(pv *v1.PersistentVolume, readOnly bool) *Spec {
	return &Spec{PersistentVolume: pv, ReadOnly: readOnly}
}

// WrappedSpec returns the volume on which the pod's volume of that name is built.
//
// Upstream: pkg/kubelet/volume_host.go NewWrapperMounter, v1.37.
func WrappedSpec(volName string, spec Spec) *Spec {
	inner := *spec.Volume
	inner.Name = "wrapped_" + volName
	return NewSpecFromVolume(&inner)
}

// Name returns the name of the pod's volume or of the PersistentVolume: the last
// element of the volume's directory.
func (s *Spec) Name() string {
	switch {
	case s.Volume != nil:
		return s.Volume.Name
	case s.PersistentVolume != nil:
		return s.PersistentVolume.Name
	}
	return ""
}

// Kind returns the volume's type, the name of its field in YAML:
// "hostPath", "nfs".
func (s *Spec) Kind() string {
	switch {
	case s.Volume != nil:
		return firstSet(reflect.ValueOf(s.Volume.VolumeSource))
	case s.PersistentVolume != nil:
		return firstSet(reflect.ValueOf(s.PersistentVolume.Spec.PersistentVolumeSource))
	}
	return ""
}

// firstSet returns the JSON name of the first pointer of a struct that is not nil.
func firstSet(source reflect.Value) string {
	for i := range source.NumField() {
		if f := source.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
			name, _, _ := strings.Cut(source.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return "none"
}

func (s *Spec) String() string {
	if s.PersistentVolume != nil {
		return fmt.Sprintf("PersistentVolume %q of kind %s", s.Name(), s.Kind())
	}
	return fmt.Sprintf("volume %q of kind %s", s.Name(), s.Kind())
}

// MountOptions returns the PV's mount options, those of the old annotation
// volume.beta.kubernetes.io/mount-options first.
//
// Upstream: pkg/volume/util MountOptionFromSpec, v1.37.
func (s *Spec) MountOptions() []string {
	if s.PersistentVolume == nil {
		return nil
	}
	if old, ok := s.PersistentVolume.Annotations[v1.MountOptionAnnotation]; ok {
		return strings.Split(old, ",")
	}
	return s.PersistentVolume.Spec.MountOptions
}
