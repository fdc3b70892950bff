package tables

import (
	v1 "k8s.io/api/core/v1"
)

// describeVolumes lists a pod's volumes.
// Upstream: kubectl describe.go describeVolumes, v1.37.
func describeVolumes(d describer, volumes []v1.Volume) {
	if len(volumes) == 0 {
		d.field(0, "Volumes", "<none>")
		return
	}
	d.line(0, "Volumes:")
	for _, v := range volumes {
		d.line(1, "%s:", v.Name)
		describeSource(d, v.VolumeSource)
	}
}

func describeSource(d describer, s v1.VolumeSource) {
	switch {
	case s.PersistentVolumeClaim != nil:
		d.field(2, "Type", "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)")
		d.field(2, "ClaimName", s.PersistentVolumeClaim.ClaimName)
		d.field(2, "ReadOnly", s.PersistentVolumeClaim.ReadOnly)
	case s.Ephemeral != nil:
		d.field(2, "Type", "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)")
		if t := s.Ephemeral.VolumeClaimTemplate; t != nil {
			d.field(2, "StorageClass", text(t.Spec.StorageClassName, ""))
		}
	case s.EmptyDir != nil:
		limit := "<unset>"
		if s.EmptyDir.SizeLimit != nil && s.EmptyDir.SizeLimit.Sign() > 0 {
			limit = s.EmptyDir.SizeLimit.String()
		}
		d.field(2, "Type", "EmptyDir (a temporary directory that shares a pod's lifetime)")
		d.field(2, "Medium", s.EmptyDir.Medium)
		d.field(2, "SizeLimit", limit)
	case s.ConfigMap != nil:
		d.field(2, "Type", "ConfigMap (a volume populated by a ConfigMap)")
		d.field(2, "Name", s.ConfigMap.Name)
		d.field(2, "Optional", text(s.ConfigMap.Optional, "false"))
	case s.Secret != nil:
		d.field(2, "Type", "Secret (a volume populated by a Secret)")
		d.field(2, "SecretName", s.Secret.SecretName)
		d.field(2, "Optional", text(s.Secret.Optional, "false"))
	case s.Projected != nil:
		d.field(2, "Type", "Projected (a volume that contains injected data from multiple sources)")
	case s.CSI != nil:
		describeCSI(d, s.CSI.Driver, text(s.CSI.FSType, ""), nil, s.CSI.ReadOnly != nil && *s.CSI.ReadOnly, s.CSI.VolumeAttributes)
	case s.HostPath != nil:
		describeHostPath(d, s.HostPath)
	case s.NFS != nil:
		describeNFS(d, s.NFS)
	default:
		d.line(1, "<unknown>")
	}
}

// describePersistentSource describes the source of a PersistentVolume.
func describePersistentSource(d describer, s v1.PersistentVolumeSource) {
	switch {
	case s.Local != nil:
		d.field(2, "Type", "LocalVolume (a persistent volume backed by local storage on a node)")
		d.field(2, "Path", s.Local.Path)
	case s.HostPath != nil:
		describeHostPath(d, s.HostPath)
	case s.NFS != nil:
		describeNFS(d, s.NFS)
	case s.CSI != nil:
		describeCSI(d, s.CSI.Driver, s.CSI.FSType, &s.CSI.VolumeHandle, s.CSI.ReadOnly, s.CSI.VolumeAttributes)
	default:
		d.line(1, "<unknown>")
	}
}

func describeHostPath(d describer, s *v1.HostPathVolumeSource) {
	d.field(2, "Type", "HostPath (bare host directory volume)")
	d.field(2, "Path", s.Path)
	d.field(2, "HostPathType", text(s.Type, "<none>"))
}

func describeNFS(d describer, s *v1.NFSVolumeSource) {
	d.field(2, "Type", "NFS (an NFS mount that lasts the lifetime of a pod)")
	d.field(2, "Server", s.Server)
	d.field(2, "Path", s.Path)
	d.field(2, "ReadOnly", s.ReadOnly)
}

func describeCSI(d describer, driver, fsType string, handle *string, readOnly bool, attributes map[string]string) {
	d.field(2, "Type", "CSI (a Container Storage Interface (CSI) volume source)")
	d.field(2, "Driver", driver)
	d.field(2, "FSType", fsType)
	if handle != nil {
		d.field(2, "VolumeHandle", *handle)
	}
	d.field(2, "ReadOnly", readOnly)
	var lines []string
	for _, key := range sortedKeys(attributes) {
		line := key + "=" + attributes[key]
		if len(line) > maxAnnotation {
			line = line[:maxAnnotation] + "..."
		}
		lines = append(lines, "    "+line)
	}
	d.lines(2, "VolumeAttributes", lines)
}
