package storage

import (
	"path"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Sources counts the volume sources of one volume: the second one is refused
// where it stands, and only the first is looked into.
type Sources struct {
	*validation.Problems
	At *field.Path
	N  int
}

// First reports whether this source is the first, and refuses it if not.
func (s *Sources) First(name string) bool {
	if s.N > 0 {
		s.Forbidden(s.At.Child(name), "may not specify more than 1 volume type")
		return false
	}
	s.N++
	return true
}

// checkVolumeSource validates the source of a PersistentVolume, of which there must
// be exactly one. The order decides which of two is "the second": it is
// upstream's, in ValidatePersistentVolumeSpec, v1.37.
func checkVolumeSource(p *validation.Problems, spec *v1.PersistentVolumeSpec, name string, at *field.Path) {
	s := Sources{Problems: p, At: at}
	checkBasicSources(&s, spec)
	checkNetworkSources(&s, spec, name)
	checkVendorSources(&s, spec)
	if spec.Local != nil && s.First("local") {
		checkLocal(p, spec.Local, at)
		if spec.NodeAffinity == nil {
			p.Required(at.Child("nodeAffinity"), "Local volume requires node affinity")
		}
	}
	if v := spec.StorageOS; v != nil && s.First("storageos") {
		CheckStorageOS(p, v.VolumeName, v.VolumeNamespace, at.Child("storageos"))
		if v.SecretRef != nil {
			p.Need(at.Child("storageos", "secretRef"), "name", v.SecretRef.Name)
			p.Need(at.Child("storageos", "secretRef"), "namespace", v.SecretRef.Namespace)
		}
	}
	if spec.CSI != nil && s.First("csi") {
		checkCSIVolume(p, spec.CSI, at)
	}
	if s.N == 0 {
		p.Required(at, "must specify a volume type")
	}
}

func checkBasicSources(s *Sources, spec *v1.PersistentVolumeSpec) {
	if spec.HostPath != nil && s.First("hostPath") {
		CheckHostPath(s.Problems, spec.HostPath, s.At)
	}
	if v := spec.GCEPersistentDisk; v != nil && s.First("gcePersistentDisk") {
		CheckPartitioned(s.Problems, "pdName", v.PDName, v.Partition, s.At.Child("persistentDisk"))
	}
	if v := spec.AWSElasticBlockStore; v != nil && s.First("awsElasticBlockStore") {
		CheckPartitioned(s.Problems, "volumeID", v.VolumeID, v.Partition, s.At.Child("awsElasticBlockStore"))
	}
	if v := spec.Glusterfs; v != nil && s.First("glusterfs") {
		CheckGlusterfs(s.Problems, v.EndpointsName, v.Path, s.At.Child("glusterfs"))
		if ns := v.EndpointsNamespace; ns != nil && *ns == "" {
			s.Invalid(s.At.Child("glusterfs", "endpointsNamespace"), *ns,
				"if the endpointnamespace is set, it must be a valid namespace name")
		} else if ns != nil {
			s.DNSLabel(*ns, s.At.Child("glusterfs", "endpointsNamespace"))
		}
	}
	if v := spec.Flocker; v != nil && s.First("flocker") {
		CheckFlocker(s.Problems, v, s.At.Child("flocker"))
	}
	if spec.NFS != nil && s.First("nfs") {
		CheckNFS(s.Problems, spec.NFS, s.At)
	}
}

func checkNetworkSources(s *Sources, spec *v1.PersistentVolumeSpec, name string) {
	if v := spec.RBD; v != nil && s.First("rbd") {
		CheckRBD(s.Problems, v.CephMonitors, v.RBDImage, s.At.Child("rbd"))
	}
	if v := spec.Quobyte; v != nil && s.First("quobyte") {
		CheckQuobyte(s.Problems, v, s.At.Child("quobyte"))
	}
	if v := spec.CephFS; v != nil && s.First("cephFS") {
		CheckMonitors(s.Problems, v.Monitors, s.At.Child("cephfs"))
	}
	if v := spec.ISCSI; v != nil && s.First("iscsi") {
		at := s.At.Child("iscsi")
		if v.InitiatorName != nil && len(name+":"+v.TargetPortal) > 64 {
			s.Invalid(at.Child("targetportal"), v.TargetPortal, ISCSITooLong)
		}
		CheckISCSI(s.Problems, &v1.ISCSIVolumeSource{
			TargetPortal: v.TargetPortal, IQN: v.IQN, Lun: v.Lun, InitiatorName: v.InitiatorName,
			DiscoveryCHAPAuth: v.DiscoveryCHAPAuth, SessionCHAPAuth: v.SessionCHAPAuth,
		}, v.SecretRef != nil, BadISCSIName, at)
		if v.SecretRef != nil {
			s.Need(at.Child("secretRef"), "name", v.SecretRef.Name)
		}
	}
	if v := spec.Cinder; v != nil && s.First("cinder") {
		s.Need(s.At.Child("cinder"), "volumeID", v.VolumeID)
		if v.SecretRef != nil {
			s.Need(s.At.Child("cinder", "secretRef"), "name", v.SecretRef.Name)
			s.Need(s.At.Child("cinder", "secretRef"), "namespace", v.SecretRef.Namespace)
		}
	}
	if v := spec.FC; v != nil && s.First("fc") {
		CheckFC(s.Problems, v, s.At.Child("fc"))
	}
	if v := spec.FlexVolume; v != nil {
		s.N++ // upstream never refuses it as the second source
		CheckFlexVolume(s.Problems, v.Driver, v.Options, s.At.Child("flexVolume"))
	}
}

func checkVendorSources(s *Sources, spec *v1.PersistentVolumeSpec) {
	if v := spec.AzureFile; v != nil && s.First("azureFile") {
		CheckAzureFile(s.Problems, v.SecretName, v.ShareName, s.At.Child("azureFile"))
		if v.SecretNamespace != nil {
			s.Need(s.At.Child("azureFile"), "secretNamespace", *v.SecretNamespace)
		}
	}
	if v := spec.VsphereVolume; v != nil && s.First("vsphereVolume") {
		s.Need(s.At.Child("vsphereVolume"), "volumePath", v.VolumePath)
	}
	if v := spec.PhotonPersistentDisk; v != nil && s.First("photonPersistentDisk") {
		s.Need(s.At.Child("photonPersistentDisk"), "pdID", v.PdID)
	}
	if v := spec.PortworxVolume; v != nil && s.First("portworxVolume") {
		s.Need(s.At.Child("portworxVolume"), "volumeID", v.VolumeID)
	}
	if v := spec.AzureDisk; v != nil && s.First("azureDisk") {
		CheckAzureDisk(s.Problems, v, s.At.Child("azureDisk"))
	}
	if v := spec.ScaleIO; v != nil && s.First("scaleIO") {
		CheckScaleIO(s.Problems, v.Gateway, v.System, v.VolumeName, s.At.Child("scaleIO"))
	}
}

// CheckHostPath validates a path of the node and the type that it must have there.
func CheckHostPath(p *validation.Problems, v *v1.HostPathVolumeSource, at *field.Path) {
	if v.Path == "" {
		p.Required(at.Child("hostPath", "path"), "")
		return
	}
	if validation.HasBacksteps(v.Path) {
		validation.CheckNoBacksteps(p, v.Path, at.Child("hostPath", "path"))
	}
	if v.Type != nil {
		switch *v.Type {
		case v1.HostPathUnset, v1.HostPathBlockDev, v1.HostPathCharDev, v1.HostPathDirectory,
			v1.HostPathDirectoryOrCreate, v1.HostPathFile, v1.HostPathFileOrCreate, v1.HostPathSocket:
		default:
			p.Add(field.NotSupported(at.Child("hostPath", "type"), *v.Type, []v1.HostPathType{
				v1.HostPathUnset, v1.HostPathBlockDev, v1.HostPathCharDev, v1.HostPathDirectory,
				v1.HostPathDirectoryOrCreate, v1.HostPathFile, v1.HostPathFileOrCreate, v1.HostPathSocket,
			}))
		}
	}
}

// CheckNFS validates a share of an NFS server.
func CheckNFS(p *validation.Problems, v *v1.NFSVolumeSource, at *field.Path) {
	if v.Server != "" && path.IsAbs(v.Path) {
		return
	}
	at = at.Child("nfs")
	p.Need(at, "server", v.Server)
	p.Need(at, "path", v.Path)
	if !path.IsAbs(v.Path) {
		p.Invalid(at.Child("path"), v.Path, "must be an absolute path")
	}
}

func checkLocal(p *validation.Problems, v *v1.LocalVolumeSource, at *field.Path) {
	if v.Path == "" {
		p.Required(at.Child("local", "path"), "")
	} else if validation.HasBacksteps(v.Path) {
		validation.CheckNoBacksteps(p, v.Path, at.Child("local", "path"))
	}
}

func checkCSIVolume(p *validation.Problems, v *v1.CSIPersistentVolumeSource, at *field.Path) {
	at = at.Child("csi")
	CheckDriverName(p, v.Driver, at.Child("driver"))
	p.Need(at, "volumeHandle", v.VolumeHandle)
	checkSecretRef(p, v.ControllerPublishSecretRef, at, "controllerPublishSecretRef")
	checkSecretRef(p, v.ControllerExpandSecretRef, at, "controllerExpandSecretRef")
	checkSecretRef(p, v.NodePublishSecretRef, at, "nodePublishSecretRef")
	checkSecretRef(p, v.NodeExpandSecretRef, at, "nodeExpandSecretRef")
}

// checkSecretRef validates a reference to a secret of a CSI volume.
func checkSecretRef(p *validation.Problems, ref *v1.SecretReference, at *field.Path, name string) {
	if ref == nil {
		return
	}
	at = at.Child(name)
	if ref.Name == "" {
		p.Required(at.Child("name"), "")
	} else {
		p.Subdomain(ref.Name, at.Child("name"))
	}
	if ref.Namespace == "" {
		p.Required(at.Child("namespace"), "")
	} else {
		p.DNSLabel(ref.Namespace, at.Child("namespace"))
	}
}
