package validation

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// podVolumes validates the volumes of a pod and returns the valid ones, which
// containers may mount.
// Upstream: core/validation ValidateVolumes, v1.37.
func (p *problems) podVolumes(volumes []v1.Volume, meta *metav1.ObjectMeta, at *field.Path) []*v1.Volume {
	if len(volumes) == 0 {
		return nil
	}
	path := at.Child("volumes")
	good := make([]*v1.Volume, 0, len(volumes))
	for i := range volumes {
		v, before := &volumes[i], len(p.list)
		at := path.Index(i)
		p.podVolumeSource(v, meta, at)
		if v.Name == "" {
			p.required(at.Child("name"), "")
		} else {
			p.dnsLabel(v.Name, at.Child("name"))
		}
		if findVolume(good, v.Name) != nil {
			p.duplicate(at.Child("name"), v.Name)
		}
		if len(p.list) == before {
			good = append(good, v)
		}
	}
	p.ephemeralClaims(volumes, meta, path)
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

// ephemeralClaims refuses a volume that names a claim which the pod's own
// ephemeral volumes will create.
func (p *problems) ephemeralClaims(volumes []v1.Volume, meta *metav1.ObjectMeta, path *field.Path) {
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
				p.invalid(path.Index(i).Child("persistentVolumeClaim", "claimName"), claim.ClaimName,
					"must not reference a PVC that gets created for an ephemeral volume")
			}
		}
	}
}

// podVolumeSource validates the source of one volume, of which there must be
// exactly one. As with PersistentVolumes the order is upstream's, in
// validateVolumeSource, v1.36, and so are its misspelt paths.
func (p *problems) podVolumeSource(v *v1.Volume, meta *metav1.ObjectMeta, at *field.Path) {
	s := sources{problems: p, at: at}
	s.node(v)
	s.remote(v)
	s.files(v)
	s.attached(v)
	if v.Projected != nil && s.first("projected") {
		p.projected(v.Projected, at.Child("projected"))
	}
	if o := v.ScaleIO; o != nil && s.first("scaleIO") {
		s.scaleIO(o.Gateway, o.System, o.VolumeName, at.Child("scaleIO"))
	}
	if v.CSI != nil && s.first("csi") {
		s.driverName(v.CSI.Driver, at.Child("csi", "driver"))
		if ref := v.CSI.NodePublishSecretRef; ref != nil && ref.Name == "" {
			s.required(at.Child("csi", "nodePublishSecretRef", "name"), "")
		} else if ref != nil { // the path is upstream's
			s.subdomain(ref.Name, at.Child("csi", "name"))
		}
	}
	if v.Ephemeral != nil && s.first("ephemeral") {
		p.ephemeral(v, meta, at)
	}
	if v.Image != nil && s.first("image") {
		if meta != nil { // a template may leave it open
			p.need(at.Child("image"), "reference", v.Image.Reference)
		}
		oneOf(p, v.Image.PullPolicy, pullPolicies, at.Child("image"), "pullPolicy")
	}
	if s.n == 0 {
		p.required(at, "must specify a volume type")
	}
}

func (s *sources) node(v *v1.Volume) {
	if v.EmptyDir != nil {
		s.n++
		if limit := v.EmptyDir.SizeLimit; limit != nil && limit.Sign() < 0 {
			s.forbidden(s.at.Child("emptyDir", "sizeLimit"), "SizeLimit field must be a valid resource quantity")
		}
	}
	if v.HostPath != nil && s.first("hostPath") {
		s.hostPath(v.HostPath, s.at)
	}
	if v.GitRepo != nil && s.first("gitRepo") {
		s.need(s.at.Child("gitRepo"), "repository", v.GitRepo.Repository)
		s.descendingPath(v.GitRepo.Directory, s.at.Child("gitRepo", "directory"))
	}
	if o := v.GCEPersistentDisk; o != nil && s.first("gcePersistentDisk") {
		s.partitioned("pdName", o.PDName, o.Partition, s.at.Child("persistentDisk"))
	}
	if o := v.AWSElasticBlockStore; o != nil && s.first("awsElasticBlockStore") {
		s.partitioned("volumeID", o.VolumeID, o.Partition, s.at.Child("awsElasticBlockStore"))
	}
	if o := v.Secret; o != nil && s.first("secret") {
		s.need(s.at.Child("secret"), "secretName", o.SecretName)
		s.fileMode(o.DefaultMode, s.at.Child("secret"), "defaultMode")
		s.keysToPaths(o.Items, s.at.Child("secret", "items"))
	}
	if v.NFS != nil && s.first("nfs") {
		s.nfs(v.NFS, s.at)
	}
}

func (s *sources) remote(v *v1.Volume) {
	if o := v.ISCSI; o != nil && s.first("iscsi") {
		s.iscsi(o, o.SecretRef != nil, badISCSIName+" starting with iqn, eui, or naa", s.at.Child("iscsi"))
		if o.InitiatorName != nil && len(v.Name+":"+o.TargetPortal) > 64 {
			s.invalid(s.at.Child("name"), v.Name, iscsiTooLong)
		}
	}
	if o := v.Glusterfs; o != nil && s.first("glusterfs") {
		s.glusterfs(o.EndpointsName, o.Path, s.at.Child("glusterfs"))
	}
	if v.Flocker != nil && s.first("flocker") {
		s.flocker(v.Flocker, s.at.Child("flocker"))
	}
	if v.PersistentVolumeClaim != nil && s.first("persistentVolumeClaim") && v.PersistentVolumeClaim.ClaimName == "" {
		s.required(s.at.Child("persistentVolumeClaim", "claimName"), "")
	}
	if o := v.RBD; o != nil && s.first("rbd") {
		s.rbd(o.CephMonitors, o.RBDImage, s.at.Child("rbd"))
	}
	if o := v.Cinder; o != nil && s.first("cinder") {
		s.need(s.at.Child("cinder"), "volumeID", o.VolumeID)
		if o.SecretRef != nil {
			s.need(s.at.Child("cinder", "secretRef"), "name", o.SecretRef.Name)
		}
	}
	if o := v.CephFS; o != nil && s.first("cephFS") {
		s.monitors(o.Monitors, s.at.Child("cephfs"))
	}
	if v.Quobyte != nil && s.first("quobyte") {
		s.quobyte(v.Quobyte, s.at.Child("quobyte"))
	}
}

func (s *sources) files(v *v1.Volume) {
	if o := v.DownwardAPI; o != nil && s.first("downwarAPI") {
		at := s.at.Child("downwardAPI")
		s.fileMode(o.DefaultMode, at, "defaultMode")
		s.downwardFiles(o.Items, at)
	}
	if v.FC != nil && s.first("fc") {
		s.fc(v.FC, s.at.Child("fc"))
	}
	if o := v.FlexVolume; o != nil && s.first("flexVolume") {
		s.flexVolume(o.Driver, o.Options, s.at.Child("flexVolume"))
	}
	if o := v.ConfigMap; o != nil && s.first("configMap") {
		s.need(s.at.Child("configMap"), "name", o.Name)
		s.fileMode(o.DefaultMode, s.at.Child("configMap"), "defaultMode")
		s.keysToPaths(o.Items, s.at.Child("configMap", "items"))
	}
}

func (s *sources) attached(v *v1.Volume) {
	if o := v.AzureFile; o != nil && s.first("azureFile") {
		s.azureFile(o.SecretName, o.ShareName, s.at.Child("azureFile"))
	}
	if o := v.VsphereVolume; o != nil && s.first("vsphereVolume") {
		s.need(s.at.Child("vsphereVolume"), "volumePath", o.VolumePath)
	}
	if o := v.PhotonPersistentDisk; o != nil && s.first("photonPersistentDisk") {
		s.need(s.at.Child("photonPersistentDisk"), "pdID", o.PdID)
	}
	if o := v.PortworxVolume; o != nil && s.first("portworxVolume") {
		s.need(s.at.Child("portworxVolume"), "volumeID", o.VolumeID)
	}
	if v.AzureDisk != nil && s.first("azureDisk") {
		s.azureDisk(v.AzureDisk, s.at.Child("azureDisk"))
	}
	if o := v.StorageOS; o != nil && s.first("storageos") {
		s.storageOS(o.VolumeName, o.VolumeNamespace, s.at.Child("storageos"))
		if o.SecretRef != nil {
			s.need(s.at.Child("storageos", "secretRef"), "name", o.SecretRef.Name)
		}
	}
}

// ephemeral validates a volume whose claim is made for the pod.
func (p *problems) ephemeral(v *v1.Volume, meta *metav1.ObjectMeta, at *field.Path) {
	path := at.Child("ephemeral", "volumeClaimTemplate")
	template := v.Ephemeral.VolumeClaimTemplate
	if template == nil {
		p.required(path, "")
		return
	}
	p.templateMeta(&template.ObjectMeta, path.Child("metadata"))
	p.claimSpec(&template.Spec, path.Child("spec"), nil)
	if meta != nil && meta.Name != "" && v.Name != "" {
		claim := meta.Name + "-" + v.Name
		for _, msg := range dnsSubdomain.full(claim, false) {
			p.invalid(at.Child("name"), v.Name, "PVC name \""+claim+"\": "+msg)
		}
	}
}

// templateMeta validates the metadata of a template of claims, which are labels
// and annotations. Upstream: core/validation ValidateTemplateObjectMeta, v1.37.
func (p *problems) templateMeta(m *metav1.ObjectMeta, at *field.Path) {
	p.annotations(m.Annotations, at.Child("annotations"))
	p.labels(m.Labels, at.Child("labels"))
	p.forbidSettings(at, "cannot be set", []setting{
		{"name", m.Name != ""}, {"generateName", m.GenerateName != ""}, {"namespace", m.Namespace != ""}, {"selfLink", m.SelfLink != ""}, //nolint:staticcheck // deprecated, and validated
		{"uID", m.UID != ""}, {"resourceVersion", m.ResourceVersion != ""}, {"generation", m.Generation != 0},
		{"creationTimestamp", !m.CreationTimestamp.IsZero()}, {"deletionTimestamp", m.DeletionTimestamp != nil},
		{"deletionGracePeriodSeconds", m.DeletionGracePeriodSeconds != nil}, {"ownerReferences", m.OwnerReferences != nil},
		{"finalizers", m.Finalizers != nil}, {"managedFields", m.ManagedFields != nil},
	})
}
