package pods

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// checkMounts validates where a container mounts the pod's volumes. Upstream puts
// subPath, mountPropagation and recursiveReadOnly on the list, not on its
// element; so do we.
// Upstream: core/validation ValidateVolumeMounts, v1.37.
func checkMounts(p *validation.Problems, c *v1.Container, volumes []*v1.Volume, list *field.Path) {
	for i := range c.VolumeMounts {
		m, at := &c.VolumeMounts[i], list.Index(i)
		volume := findVolume(volumes, m.Name)
		if m.Name == "" {
			p.Required(at.Child("name"), "")
		}
		if volume == nil {
			p.Add(field.NotFound(at.Child("name"), m.Name))
		}
		if m.MountPath == "" {
			p.Required(at.Child("mountPath"), "")
		}
		if slices.ContainsFunc(c.VolumeMounts[:i], func(o v1.VolumeMount) bool { return o.MountPath == m.MountPath }) {
			p.Invalid(at.Child("mountPath"), m.MountPath, "must be unique")
		}
		if slices.ContainsFunc(c.VolumeDevices, func(d v1.VolumeDevice) bool { return d.Name == m.Name }) {
			p.Invalid(at.Child("name"), m.Name, "must not already exist in volumeDevices")
		}
		if isDevicePath(c.VolumeDevices, m.MountPath) {
			p.Invalid(at.Child("mountPath"), m.MountPath, "must not already exist as a path in volumeDevices")
		}
		if m.SubPath != "" {
			validation.CheckDescendingPath(p, m.SubPath, list.Child("subPath"))
		}
		if m.SubPathExpr != "" {
			if m.SubPath != "" {
				p.Invalid(at.Child("subPathExpr"), m.SubPathExpr, "subPathExpr and subPath are mutually exclusive")
			}
			validation.CheckDescendingPath(p, m.SubPathExpr, list.Child("subPathExpr"))
		}
		checkMountMode(p, m, c, list)
	}
}

// checkMountMode validates how a mount passes on other mounts, and how read-only it is.
func checkMountMode(p *validation.Problems, m *v1.VolumeMount, c *v1.Container, list *field.Path) {
	if mode := m.MountPropagation; mode != nil {
		privileged := c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
		switch *mode {
		case v1.MountPropagationHostToContainer, v1.MountPropagationNone:
		case v1.MountPropagationBidirectional:
			if !privileged {
				p.Forbidden(list.Child("mountPropagation"), "Bidirectional mount propagation is available only to privileged containers")
			}
		default:
			p.Add(field.NotSupported(list.Child("mountPropagation"), *mode, []v1.MountPropagationMode{
				v1.MountPropagationBidirectional, v1.MountPropagationHostToContainer, v1.MountPropagationNone,
			}))
		}
	}
	if r := m.RecursiveReadOnly; r != nil {
		at := list.Child("recursiveReadOnly")
		switch *r {
		case v1.RecursiveReadOnlyDisabled:
		case v1.RecursiveReadOnlyEnabled, v1.RecursiveReadOnlyIfPossible:
			if !m.ReadOnly {
				p.Forbidden(at, "may only be specified when readOnly is true")
			}
			if m.MountPropagation != nil && *m.MountPropagation != v1.MountPropagationNone {
				p.Forbidden(at, "may only be specified when mountPropagation is None or not specified")
			}
		default:
			p.Add(field.NotSupported(at, *r, []v1.RecursiveReadOnlyMode{
				v1.RecursiveReadOnlyDisabled, v1.RecursiveReadOnlyEnabled, v1.RecursiveReadOnlyIfPossible,
			}))
		}
	}
}

// checkDevices validates the block devices a container gets. Only claims can be
// block devices.
// Upstream: core/validation ValidateVolumeDevices, v1.37.
func checkDevices(p *validation.Problems, c *v1.Container, volumes []*v1.Volume, list *field.Path) {
	for i, d := range c.VolumeDevices {
		at, volume := list.Index(i), findVolume(volumes, d.Name)
		if d.Name == "" {
			p.Required(at.Child("name"), "")
		}
		if slices.ContainsFunc(c.VolumeDevices[:i], func(o v1.VolumeDevice) bool { return o.Name == d.Name && d.Name != "" }) {
			p.Invalid(at.Child("name"), d.Name, "must be unique")
		}
		switch {
		case volume == nil:
			p.Add(field.NotFound(at.Child("name"), d.Name))
		case volume.PersistentVolumeClaim == nil && volume.Ephemeral == nil:
			p.Invalid(at.Child("name"), d.Name, "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode")
		}
		if d.DevicePath == "" {
			p.Required(at.Child("devicePath"), "")
		}
		if slices.ContainsFunc(c.VolumeDevices[:i], func(o v1.VolumeDevice) bool { return o.DevicePath == d.DevicePath }) {
			p.Invalid(at.Child("devicePath"), d.DevicePath, "must be unique")
		}
		if validation.HasBacksteps(d.DevicePath) {
			p.Invalid(at.Child("devicePath"), d.DevicePath, "can not contain backsteps ('..')")
		}
		if slices.ContainsFunc(c.VolumeMounts, func(m v1.VolumeMount) bool { return m.Name == d.Name }) {
			p.Invalid(at.Child("name"), d.Name, "must not already exist in volumeMounts")
		}
		if isMountPath(c.VolumeMounts, d.DevicePath) {
			p.Invalid(at.Child("devicePath"), d.DevicePath, "must not already exist as a path in volumeMounts")
		}
	}
}

// isMountPath reports whether something is mounted at a path. Of the mounts of one volume the last counts.
// Upstream: core/validation GetVolumeMountMap and devicePathAlreadyExists, v1.37.2.
func isMountPath(mounts []v1.VolumeMount, path string) bool {
	for i, m := range mounts {
		if m.MountPath == path && !slices.ContainsFunc(mounts[i+1:], func(later v1.VolumeMount) bool { return later.Name == m.Name }) {
			return true
		}
	}
	return false
}

// isDevicePath reports whether there is a device at a path. Of the devices of one volume the last counts.
// Upstream: core/validation GetVolumeDeviceMap and mountPathAlreadyExists, v1.37.2.
func isDevicePath(devices []v1.VolumeDevice, path string) bool {
	for i, d := range devices {
		if d.DevicePath == path && !slices.ContainsFunc(devices[i+1:], func(later v1.VolumeDevice) bool { return later.Name == d.Name }) {
			return true
		}
	}
	return false
}
