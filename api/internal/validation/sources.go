package validation

import (
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// sources counts the volume sources of one volume: the second one is refused
// where it stands, and only the first is looked into.
type sources struct {
	*problems
	at *field.Path
	n  int
}

// first reports whether this source is the first, and refuses it if not.
func (s *sources) first(name string) bool {
	if s.n > 0 {
		s.forbidden(s.at.Child(name), "may not specify more than 1 volume type")
		return false
	}
	s.n++
	return true
}

// volumeSource validates the source of a PersistentVolume, of which there must
// be exactly one. The order decides which of two is "the second": it is
// upstream's, in ValidatePersistentVolumeSpec, v1.36.
func (p *problems) volumeSource(spec *v1.PersistentVolumeSpec, name string, at *field.Path) {
	s := sources{problems: p, at: at}
	s.basic(spec)
	s.network(spec, name)
	s.vendors(spec)
	if spec.Local != nil && s.first("local") {
		p.local(spec.Local, at)
		if spec.NodeAffinity == nil {
			p.required(at.Child("nodeAffinity"), "Local volume requires node affinity")
		}
	}
	if v := spec.StorageOS; v != nil && s.first("storageos") {
		p.storageOS(v.VolumeName, v.VolumeNamespace, at.Child("storageos"))
		if v.SecretRef != nil {
			p.need(at.Child("storageos", "secretRef"), "name", v.SecretRef.Name)
			p.need(at.Child("storageos", "secretRef"), "namespace", v.SecretRef.Namespace)
		}
	}
	if spec.CSI != nil && s.first("csi") {
		p.csiVolume(spec.CSI, at)
	}
	if s.n == 0 {
		p.required(at, "must specify a volume type")
	}
}

func (s *sources) basic(spec *v1.PersistentVolumeSpec) {
	if spec.HostPath != nil && s.first("hostPath") {
		s.hostPath(spec.HostPath, s.at)
	}
	if v := spec.GCEPersistentDisk; v != nil && s.first("gcePersistentDisk") {
		s.partitioned("pdName", v.PDName, v.Partition, s.at.Child("persistentDisk"))
	}
	if v := spec.AWSElasticBlockStore; v != nil && s.first("awsElasticBlockStore") {
		s.partitioned("volumeID", v.VolumeID, v.Partition, s.at.Child("awsElasticBlockStore"))
	}
	if v := spec.Glusterfs; v != nil && s.first("glusterfs") {
		s.glusterfs(v.EndpointsName, v.Path, s.at.Child("glusterfs"))
		if ns := v.EndpointsNamespace; ns != nil && *ns == "" {
			s.invalid(s.at.Child("glusterfs", "endpointsNamespace"), *ns,
				"if the endpointnamespace is set, it must be a valid namespace name")
		} else if ns != nil {
			s.dnsLabel(*ns, s.at.Child("glusterfs", "endpointsNamespace"))
		}
	}
	if v := spec.Flocker; v != nil && s.first("flocker") {
		s.flocker(v, s.at.Child("flocker"))
	}
	if spec.NFS != nil && s.first("nfs") {
		s.nfs(spec.NFS, s.at)
	}
}

func (s *sources) network(spec *v1.PersistentVolumeSpec, name string) {
	if v := spec.RBD; v != nil && s.first("rbd") {
		s.rbd(v.CephMonitors, v.RBDImage, s.at.Child("rbd"))
	}
	if v := spec.Quobyte; v != nil && s.first("quobyte") {
		s.quobyte(v, s.at.Child("quobyte"))
	}
	if v := spec.CephFS; v != nil && s.first("cephFS") {
		s.monitors(v.Monitors, s.at.Child("cephfs"))
	}
	if v := spec.ISCSI; v != nil && s.first("iscsi") {
		at := s.at.Child("iscsi")
		if v.InitiatorName != nil && len(name+":"+v.TargetPortal) > 64 {
			s.invalid(at.Child("targetportal"), v.TargetPortal, iscsiTooLong)
		}
		s.iscsi(&v1.ISCSIVolumeSource{
			TargetPortal: v.TargetPortal, IQN: v.IQN, Lun: v.Lun, InitiatorName: v.InitiatorName,
			DiscoveryCHAPAuth: v.DiscoveryCHAPAuth, SessionCHAPAuth: v.SessionCHAPAuth,
		}, v.SecretRef != nil, badISCSIName, at)
		if v.SecretRef != nil {
			s.need(at.Child("secretRef"), "name", v.SecretRef.Name)
		}
	}
	if v := spec.Cinder; v != nil && s.first("cinder") {
		s.need(s.at.Child("cinder"), "volumeID", v.VolumeID)
		if v.SecretRef != nil {
			s.need(s.at.Child("cinder", "secretRef"), "name", v.SecretRef.Name)
			s.need(s.at.Child("cinder", "secretRef"), "namespace", v.SecretRef.Namespace)
		}
	}
	if v := spec.FC; v != nil && s.first("fc") {
		s.fc(v, s.at.Child("fc"))
	}
	if v := spec.FlexVolume; v != nil {
		s.n++ // upstream never refuses it as the second source
		s.flexVolume(v.Driver, v.Options, s.at.Child("flexVolume"))
	}
}

func (s *sources) vendors(spec *v1.PersistentVolumeSpec) {
	if v := spec.AzureFile; v != nil && s.first("azureFile") {
		s.azureFile(v.SecretName, v.ShareName, s.at.Child("azureFile"))
		if v.SecretNamespace != nil {
			s.need(s.at.Child("azureFile"), "secretNamespace", *v.SecretNamespace)
		}
	}
	if v := spec.VsphereVolume; v != nil && s.first("vsphereVolume") {
		s.need(s.at.Child("vsphereVolume"), "volumePath", v.VolumePath)
	}
	if v := spec.PhotonPersistentDisk; v != nil && s.first("photonPersistentDisk") {
		s.need(s.at.Child("photonPersistentDisk"), "pdID", v.PdID)
	}
	if v := spec.PortworxVolume; v != nil && s.first("portworxVolume") {
		s.need(s.at.Child("portworxVolume"), "volumeID", v.VolumeID)
	}
	if v := spec.AzureDisk; v != nil && s.first("azureDisk") {
		s.azureDisk(v, s.at.Child("azureDisk"))
	}
	if v := spec.ScaleIO; v != nil && s.first("scaleIO") {
		s.scaleIO(v.Gateway, v.System, v.VolumeName, s.at.Child("scaleIO"))
	}
}

func (p *problems) hostPath(v *v1.HostPathVolumeSource, at *field.Path) {
	if v.Path == "" {
		p.required(at.Child("hostPath", "path"), "")
		return
	}
	if hasBacksteps(v.Path) {
		p.noBacksteps(v.Path, at.Child("hostPath", "path"))
	}
	if v.Type != nil {
		switch *v.Type {
		case v1.HostPathUnset, v1.HostPathBlockDev, v1.HostPathCharDev, v1.HostPathDirectory,
			v1.HostPathDirectoryOrCreate, v1.HostPathFile, v1.HostPathFileOrCreate, v1.HostPathSocket:
		default:
			p.add(field.NotSupported(at.Child("hostPath", "type"), *v.Type, []v1.HostPathType{
				v1.HostPathUnset, v1.HostPathBlockDev, v1.HostPathCharDev, v1.HostPathDirectory,
				v1.HostPathDirectoryOrCreate, v1.HostPathFile, v1.HostPathFileOrCreate, v1.HostPathSocket,
			}))
		}
	}
}

func (p *problems) nfs(v *v1.NFSVolumeSource, at *field.Path) {
	if v.Server != "" && path.IsAbs(v.Path) {
		return
	}
	at = at.Child("nfs")
	p.need(at, "server", v.Server)
	p.need(at, "path", v.Path)
	if !path.IsAbs(v.Path) {
		p.invalid(at.Child("path"), v.Path, "must be an absolute path")
	}
}

func (p *problems) local(v *v1.LocalVolumeSource, at *field.Path) {
	if v.Path == "" {
		p.required(at.Child("local", "path"), "")
	} else if hasBacksteps(v.Path) {
		p.noBacksteps(v.Path, at.Child("local", "path"))
	}
}

func (p *problems) csiVolume(v *v1.CSIPersistentVolumeSource, at *field.Path) {
	at = at.Child("csi")
	p.driverName(v.Driver, at.Child("driver"))
	p.need(at, "volumeHandle", v.VolumeHandle)
	p.secretRef(v.ControllerPublishSecretRef, at, "controllerPublishSecretRef")
	p.secretRef(v.ControllerExpandSecretRef, at, "controllerExpandSecretRef")
	p.secretRef(v.NodePublishSecretRef, at, "nodePublishSecretRef")
	p.secretRef(v.NodeExpandSecretRef, at, "nodeExpandSecretRef")
}

// secretRef validates a reference to a secret of a CSI volume.
func (p *problems) secretRef(ref *v1.SecretReference, at *field.Path, name string) {
	if ref == nil {
		return
	}
	at = at.Child(name)
	if ref.Name == "" {
		p.required(at.Child("name"), "")
	} else {
		p.subdomain(ref.Name, at.Child("name"))
	}
	if ref.Namespace == "" {
		p.required(at.Child("namespace"), "")
	} else {
		p.dnsLabel(ref.Namespace, at.Child("namespace"))
	}
}

// hasBacksteps reports whether one of the path's elements is "..".
func hasBacksteps(target string) bool {
	for rest := target; ; {
		element, after, more := strings.Cut(rest, "/")
		if element == ".." {
			return true
		}
		if !more {
			return false
		}
		rest = after
	}
}

// noBacksteps refuses a path with "..": it could leave the directory it is
// meant to stay in.
func (p *problems) noBacksteps(target string, at *field.Path) {
	if hasBacksteps(target) {
		p.invalid(at, target, "must not contain '..'")
	}
}

// descendingPath refuses paths that are absolute or contain "..".
func (p *problems) descendingPath(target string, at *field.Path) {
	if path.IsAbs(target) {
		p.invalid(at, target, "must be a relative path")
	}
	p.noBacksteps(target, at)
}

// localPath refuses, beyond descendingPath, names that start with "..": those
// are the kubelet's own in the volumes it writes.
func (p *problems) localPath(target string, at *field.Path) {
	p.descendingPath(target, at)
	if strings.HasPrefix(target, "..") && !strings.HasPrefix(target, "../") {
		p.invalid(at, target, "must not start with '..'")
	}
}
