package pods

import (
	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
	"github.com/storagesim/storagesim/api/internal/validation/storage"
)

// checkPodVolumes validates the volumes of a pod and returns the valid ones, which
// containers may mount.
// Upstream: core/validation ValidateVolumes, v1.37.
func checkPodVolumes(p *validation.Problems, volumes []v1.Volume, meta *metav1.ObjectMeta, at *field.Path) []*v1.Volume {
	if len(volumes) == 0 {
		return nil
	}
	path := at.Child("volumes")
	good := make([]*v1.Volume, 0, len(volumes))
	for i := range volumes {
		v, before := &volumes[i], len(p.List)
		at := path.Index(i)
		checkPodVolumeSource(p, v, meta, at)
		if v.Name == "" {
			p.Required(at.Child("name"), "")
		} else {
			p.DNSLabel(v.Name, at.Child("name"))
		}
		if findVolume(good, v.Name) != nil {
			p.Duplicate(at.Child("name"), v.Name)
		}
		if len(p.List) == before {
			good = append(good, v)
		}
	}
	checkEphemeralClaims(p, volumes, meta, path)
	return good
}

func findVolume(volumes []*v1.Volume, name string) *v1.Volume {
	for _, v := range volumes {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// checkEphemeralClaims refuses a volume that names a claim which the pod's own
// ephemeral volumes will create.
func checkEphemeralClaims(p *validation.Problems, volumes []v1.Volume, meta *metav1.ObjectMeta, path *field.Path) {
	if meta == nil || meta.Name == "" {
		return
	}
	for i := range volumes {
		claim := volumes[i].PersistentVolumeClaim
		if claim == nil {
			continue
		}
		for j := range volumes {
			if volumes[j].Ephemeral != nil && claim.ClaimName == meta.Name+"-"+volumes[j].Name {
				p.Invalid(path.Index(i).Child("persistentVolumeClaim", "claimName"), claim.ClaimName,
					"must not reference a PVC that gets created for an ephemeral volume")
			}
		}
	}
}

// checkPodVolumeSource validates the source of one volume, of which there must be
// exactly one. As with PersistentVolumes the order is upstream's, in
// validateVolumeSource, v1.37, and so are its misspelt paths. check*Sources are four
// parts of that order; their names say what most of the sources in a part are.
func checkPodVolumeSource(p *validation.Problems, v *v1.Volume, meta *metav1.ObjectMeta, at *field.Path) {
	s := storage.Sources{Problems: p, At: at}
	checkNodeSources(&s, v)
	checkRemoteSources(&s, v)
	checkFileSources(&s, v)
	checkVendorSources(&s, v)
	if v.Projected != nil && s.First("projected") {
		checkProjected(p, v.Projected, at.Child("projected"))
	}
	if o := v.ScaleIO; o != nil && s.First("scaleIO") {
		storage.CheckScaleIO(s.Problems, o.Gateway, o.System, o.VolumeName, at.Child("scaleIO"))
	}
	if v.CSI != nil && s.First("csi") {
		storage.CheckDriverName(s.Problems, v.CSI.Driver, at.Child("csi", "driver"))
		if ref := v.CSI.NodePublishSecretRef; ref != nil && ref.Name == "" {
			s.Required(at.Child("csi", "nodePublishSecretRef", "name"), "")
		} else if ref != nil { // the path is upstream's
			s.Subdomain(ref.Name, at.Child("csi", "name"))
		}
	}
	if v.Ephemeral != nil && s.First("ephemeral") {
		checkEphemeral(p, v, meta, at)
	}
	if v.Image != nil && s.First("image") {
		p.Need(at.Child("image"), "reference", v.Image.Reference)
		validation.OneOf(p, v.Image.PullPolicy, pullPolicies, at.Child("image"), "pullPolicy")
	}
	if s.N == 0 {
		p.Required(at, "must specify a volume type")
	}
}

func checkNodeSources(s *storage.Sources, v *v1.Volume) {
	if v.EmptyDir != nil {
		s.N++
		if limit := v.EmptyDir.SizeLimit; limit != nil && limit.Sign() < 0 {
			s.Forbidden(s.At.Child("emptyDir", "sizeLimit"), "SizeLimit field must be a valid resource quantity")
		}
	}
	if v.HostPath != nil && s.First("hostPath") {
		storage.CheckHostPath(s.Problems, v.HostPath, s.At)
	}
	if v.GitRepo != nil && s.First("gitRepo") {
		s.Need(s.At.Child("gitRepo"), "repository", v.GitRepo.Repository)
		validation.CheckDescendingPath(s.Problems, v.GitRepo.Directory, s.At.Child("gitRepo", "directory"))
	}
	if o := v.GCEPersistentDisk; o != nil && s.First("gcePersistentDisk") {
		storage.CheckPartitioned(s.Problems, "pdName", o.PDName, o.Partition, s.At.Child("persistentDisk"))
	}
	if o := v.AWSElasticBlockStore; o != nil && s.First("awsElasticBlockStore") {
		storage.CheckPartitioned(s.Problems, "volumeID", o.VolumeID, o.Partition, s.At.Child("awsElasticBlockStore"))
	}
	if o := v.Secret; o != nil && s.First("secret") {
		s.Need(s.At.Child("secret"), "secretName", o.SecretName)
		checkFileMode(s.Problems, o.DefaultMode, s.At.Child("secret"), "defaultMode")
		checkKeysToPaths(s.Problems, o.Items, s.At.Child("secret", "items"))
	}
	if v.NFS != nil && s.First("nfs") {
		storage.CheckNFS(s.Problems, v.NFS, s.At)
	}
}

func checkRemoteSources(s *storage.Sources, v *v1.Volume) {
	if o := v.ISCSI; o != nil && s.First("iscsi") {
		storage.CheckISCSI(s.Problems, o, o.SecretRef != nil, storage.BadISCSIName+" starting with iqn, eui, or naa", s.At.Child("iscsi"))
		if o.InitiatorName != nil && len(v.Name+":"+o.TargetPortal) > 64 {
			s.Invalid(s.At.Child("name"), v.Name, storage.ISCSITooLong)
		}
	}
	if o := v.Glusterfs; o != nil && s.First("glusterfs") {
		storage.CheckGlusterfs(s.Problems, o.EndpointsName, o.Path, s.At.Child("glusterfs"))
	}
	if v.Flocker != nil && s.First("flocker") {
		storage.CheckFlocker(s.Problems, v.Flocker, s.At.Child("flocker"))
	}
	if v.PersistentVolumeClaim != nil && s.First("persistentVolumeClaim") && v.PersistentVolumeClaim.ClaimName == "" {
		s.Required(s.At.Child("persistentVolumeClaim", "claimName"), "")
	}
	if o := v.RBD; o != nil && s.First("rbd") {
		storage.CheckRBD(s.Problems, o.CephMonitors, o.RBDImage, s.At.Child("rbd"))
	}
	if o := v.Cinder; o != nil && s.First("cinder") {
		s.Need(s.At.Child("cinder"), "volumeID", o.VolumeID)
		if o.SecretRef != nil {
			s.Need(s.At.Child("cinder", "secretRef"), "name", o.SecretRef.Name)
		}
	}
	if o := v.CephFS; o != nil && s.First("cephFS") {
		storage.CheckMonitors(s.Problems, o.Monitors, s.At.Child("cephfs"))
	}
	if v.Quobyte != nil && s.First("quobyte") {
		storage.CheckQuobyte(s.Problems, v.Quobyte, s.At.Child("quobyte"))
	}
}

func checkFileSources(s *storage.Sources, v *v1.Volume) {
	if o := v.DownwardAPI; o != nil && s.First("downwarAPI") {
		at := s.At.Child("downwardAPI")
		checkFileMode(s.Problems, o.DefaultMode, at, "defaultMode")
		checkDownwardFiles(s.Problems, o.Items, at)
	}
	if v.FC != nil && s.First("fc") {
		storage.CheckFC(s.Problems, v.FC, s.At.Child("fc"))
	}
	if o := v.FlexVolume; o != nil && s.First("flexVolume") {
		storage.CheckFlexVolume(s.Problems, o.Driver, o.Options, s.At.Child("flexVolume"))
	}
	if o := v.ConfigMap; o != nil && s.First("configMap") {
		s.Need(s.At.Child("configMap"), "name", o.Name)
		checkFileMode(s.Problems, o.DefaultMode, s.At.Child("configMap"), "defaultMode")
		checkKeysToPaths(s.Problems, o.Items, s.At.Child("configMap", "items"))
	}
}

func checkVendorSources(s *storage.Sources, v *v1.Volume) {
	if o := v.AzureFile; o != nil && s.First("azureFile") {
		storage.CheckAzureFile(s.Problems, o.SecretName, o.ShareName, s.At.Child("azureFile"))
	}
	if o := v.VsphereVolume; o != nil && s.First("vsphereVolume") {
		s.Need(s.At.Child("vsphereVolume"), "volumePath", o.VolumePath)
	}
	if o := v.PhotonPersistentDisk; o != nil && s.First("photonPersistentDisk") {
		s.Need(s.At.Child("photonPersistentDisk"), "pdID", o.PdID)
	}
	if o := v.PortworxVolume; o != nil && s.First("portworxVolume") {
		s.Need(s.At.Child("portworxVolume"), "volumeID", o.VolumeID)
	}
	if v.AzureDisk != nil && s.First("azureDisk") {
		storage.CheckAzureDisk(s.Problems, v.AzureDisk, s.At.Child("azureDisk"))
	}
	if o := v.StorageOS; o != nil && s.First("storageos") {
		storage.CheckStorageOS(s.Problems, o.VolumeName, o.VolumeNamespace, s.At.Child("storageos"))
		if o.SecretRef != nil {
			s.Need(s.At.Child("storageos", "secretRef"), "name", o.SecretRef.Name)
		}
	}
}

// checkEphemeral validates a volume whose claim is made for the pod.
func checkEphemeral(p *validation.Problems, v *v1.Volume, meta *metav1.ObjectMeta, at *field.Path) {
	path := at.Child("ephemeral", "volumeClaimTemplate")
	template := v.Ephemeral.VolumeClaimTemplate
	if template == nil {
		p.Required(path, "")
		return
	}
	checkTemplateMeta(p, &template.ObjectMeta, path.Child("metadata"))
	storage.CheckClaimSpec(p, &template.Spec, path.Child("spec"), nil)
	if meta != nil && meta.Name != "" && v.Name != "" {
		claim := meta.Name + "-" + v.Name
		for _, msg := range apivalidation.NameIsDNSSubdomain(claim, false) {
			p.Invalid(at.Child("name"), v.Name, "PVC name \""+claim+"\": "+msg)
		}
	}
}

// checkTemplateMeta validates the metadata of a template of claims, which are labels
// and annotations. Upstream: core/validation ValidateTemplateObjectMeta, v1.37.
func checkTemplateMeta(p *validation.Problems, m *metav1.ObjectMeta, at *field.Path) {
	p.Annotations(m.Annotations, at.Child("annotations"))
	p.Labels(m.Labels, at.Child("labels"))
	forbidSettings(p, at, "cannot be set", []setting{
		{"name", m.Name != ""}, {"generateName", m.GenerateName != ""}, {"namespace", m.Namespace != ""},
		{"selfLink", m.SelfLink != ""}, //nolint:staticcheck // deprecated, and validated
		{"uID", m.UID != ""}, {"resourceVersion", m.ResourceVersion != ""}, {"generation", m.Generation != 0},
		{"creationTimestamp", !m.CreationTimestamp.IsZero()}, {"deletionTimestamp", m.DeletionTimestamp != nil},
		{"deletionGracePeriodSeconds", m.DeletionGracePeriodSeconds != nil}, {"ownerReferences", m.OwnerReferences != nil},
		{"finalizers", m.Finalizers != nil}, {"managedFields", m.ManagedFields != nil},
	})
}
