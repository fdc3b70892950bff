// Package migration tells which CSI driver has replaced a volume plugin that was compiled into Kubernetes, and what a volume of the plugin
// is as one of the driver. Who looks at it, and when, is a matter of the components; all seven plugins have been migrated for good, and
// nothing can switch that off.
//
// The translation itself is that of k8s.io/csi-translation-lib, which logs; here it is silent.
//
// Upstream: pkg/volume/csimigration/plugin_manager.go, v1.37.2.
package migration

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	csitrans "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
)

// Driver returns the CSI driver that has replaced the plugin of that name; "" for one that was not replaced.
// Upstream: csi-translation-lib translate.go GetCSINameFromInTreeName, v0.37.2.
func Driver(plugin string) string {
	name, err := csitrans.New().GetCSINameFromInTreeName(plugin)
	if err != nil {
		return ""
	}
	return name
}

// Plugin returns the plugin that a CSI driver has replaced; "" if it has replaced none.
func Plugin(driver string) string {
	name, err := csitrans.New().GetInTreeNameFromCSIName(driver)
	if err != nil {
		return ""
	}
	return name
}

// OfVolume returns the migrated plugin of a PersistentVolume by its source; "" for a volume of any other kind.
// Upstream: csi-translation-lib translate.go GetInTreePluginNameFromSpec and IsPVMigratable, v0.37.2.
func OfVolume(pv *v1.PersistentVolume) string {
	if t := csitrans.New(); t.IsPVMigratable(pv) {
		if name, err := t.GetInTreePluginNameFromSpec(pv, nil); err == nil {
			return name
		}
	}
	return ""
}

// OfInline returns the migrated plugin of a volume in a pod's spec; "" for a volume of any other kind.
func OfInline(v *v1.Volume) string {
	if t := csitrans.New(); t.IsInlineMigratable(v) {
		if name, err := t.GetInTreePluginNameFromSpec(nil, v); err == nil {
			return name
		}
	}
	return ""
}

// Volume returns a PersistentVolume of a migrated plugin as one of the CSI driver, a copy; any other volume as it is. The error says what
// of the source cannot be translated.
// Upstream: csi-translation-lib translate.go TranslateInTreePVToCSI, v0.37.2.
func Volume(pv *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	if OfVolume(pv) == "" {
		return pv, nil
	}
	out, err := csitrans.New().TranslateInTreePVToCSI(klog.Logger{}, pv)
	if err != nil {
		return nil, fmt.Errorf("failed to translate in tree pv to CSI: %w", err)
	}
	return out, nil
}

// Inline returns a volume in a pod's spec of a migrated plugin as a PersistentVolume of the CSI driver; nil for any other volume.
// Upstream: csi-translation-lib translate.go TranslateInTreeInlineVolumeToCSI, v0.37.2.
func Inline(v *v1.Volume, namespace string) (*v1.PersistentVolume, error) {
	if OfInline(v) == "" {
		return nil, nil
	}
	out, err := csitrans.New().TranslateInTreeInlineVolumeToCSI(klog.Logger{}, v, namespace)
	if err != nil {
		return nil, fmt.Errorf("failed to translate inline volume to CSI: %w", err)
	}
	return out, nil
}

// Class returns a class of a migrated plugin as one of the CSI driver, a copy; any other class as it is.
// Upstream: csi-translation-lib translate.go TranslateInTreeStorageClassToCSI, v0.37.2.
func Class(class *storagev1.StorageClass) (*storagev1.StorageClass, error) {
	if Driver(class.Provisioner) == "" {
		return class, nil
	}
	out, err := csitrans.New().TranslateInTreeStorageClassToCSI(klog.Logger{}, class.Provisioner, class.DeepCopy())
	if err != nil {
		return nil, fmt.Errorf("failed to translate storage class: %w", err)
	}
	return out, nil
}

// Back returns a PersistentVolume that a CSI driver has made for a class of the plugin that it has replaced as one of that plugin.
// Upstream: csi-translation-lib translate.go TranslateCSIPVToInTree, v0.37.2.
func Back(pv *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	return csitrans.New().TranslateCSIPVToInTree(pv)
}
