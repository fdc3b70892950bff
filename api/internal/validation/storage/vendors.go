package storage

import (
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagesim/storagesim/api/internal/validation"
)

// Rules of the volume sources this project has no plugin for. They are checked
// because a manifest that upstream refuses must not pass here.

const ISCSITooLong = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."

// CheckPartitioned validates a cloud disk: an identifier and a partition.
func CheckPartitioned(p *validation.Problems, name, id string, partition int32, at *field.Path) {
	p.Need(at, name, id)
	if partition < 0 || partition > 255 {
		p.Invalid(at.Child("partition"), partition, utilvalidation.InclusiveRangeError(1, 255))
	}
}

// CheckGlusterfs validates a Gluster volume.
func CheckGlusterfs(p *validation.Problems, endpoints, path string, at *field.Path) {
	p.Need(at, "endpoints", endpoints)
	p.Need(at, "path", path)
}

// CheckAzureFile validates a share of Azure.
func CheckAzureFile(p *validation.Problems, secret, share string, at *field.Path) {
	p.Need(at, "secretName", secret)
	p.Need(at, "shareName", share)
}

// CheckAzureDisk validates a disk of Azure; the form of its URI depends on its kind.
func CheckAzureDisk(p *validation.Problems, v *v1.AzureDiskVolumeSource, at *field.Path) {
	caching := []v1.AzureDataDiskCachingMode{v1.AzureDataDiskCachingNone, v1.AzureDataDiskCachingReadOnly, v1.AzureDataDiskCachingReadWrite}
	kinds := []v1.AzureDataDiskKind{v1.AzureDedicatedBlobDisk, v1.AzureManagedDisk, v1.AzureSharedBlobDisk}
	p.Need(at, "diskName", v.DiskName)
	p.Need(at, "diskURI", v.DataDiskURI)
	if v.CachingMode != nil && !slices.Contains(caching, *v.CachingMode) {
		p.Add(field.NotSupported(at.Child("cachingMode"), *v.CachingMode, caching))
	}
	if v.Kind == nil {
		return
	}
	if !slices.Contains(kinds, *v.Kind) {
		p.Add(field.NotSupported(at.Child("kind"), *v.Kind, kinds))
	}
	prefix, form := "https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
	if *v.Kind == v1.AzureManagedDisk {
		prefix, form = "/subscriptions/", "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	}
	if !strings.HasPrefix(v.DataDiskURI, prefix) {
		p.Add(field.NotSupported(at.Child("diskURI"), v.DataDiskURI, []string{form}))
	}
}

// CheckScaleIO validates a ScaleIO volume.
func CheckScaleIO(p *validation.Problems, gateway, system, volume string, at *field.Path) {
	p.Need(at, "gateway", gateway)
	p.Need(at, "system", system)
	p.Need(at, "volumeName", volume)
}

// CheckStorageOS validates a StorageOS volume, whose namespace may be left out.
func CheckStorageOS(p *validation.Problems, volume, namespace string, at *field.Path) {
	if volume == "" {
		p.Required(at.Child("volumeName"), "")
	} else {
		p.DNSLabel(volume, at.Child("volumeName"))
	}
	if namespace != "" {
		p.DNSLabel(namespace, at.Child("volumeNamespace"))
	}
}

// CheckFlocker validates a Flocker dataset, which has a name or a UUID.
func CheckFlocker(p *validation.Problems, v *v1.FlockerVolumeSource, at *field.Path) {
	if v.DatasetName == "" && v.DatasetUUID == "" {
		p.Required(at, "one of datasetName and datasetUUID is required")
	}
	if v.DatasetName != "" && v.DatasetUUID != "" {
		p.Invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously")
	}
	if strings.Contains(v.DatasetName, "/") {
		p.Invalid(at.Child("datasetName"), v.DatasetName, "must not contain '/'")
	}
}

// CheckMonitors refuses a Ceph volume without monitors.
func CheckMonitors(p *validation.Problems, monitors []string, at *field.Path) {
	if len(monitors) == 0 {
		p.Required(at.Child("monitors"), "")
	}
}

// CheckRBD validates an image of Ceph.
func CheckRBD(p *validation.Problems, monitors []string, image string, at *field.Path) {
	CheckMonitors(p, monitors, at)
	p.Need(at, "image", image)
}

// CheckQuobyte validates a Quobyte volume.
func CheckQuobyte(p *validation.Problems, v *v1.QuobyteVolumeSource, at *field.Path) {
	const pairs = "must be a host:port pair or multiple pairs separated by commas"
	switch {
	case v.Registry == "":
		p.Required(at.Child("registry"), pairs)
	case len(v.Tenant) > 64:
		p.Required(at.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters")
	default:
		for _, pair := range strings.Split(v.Registry, ",") {
			if _, _, err := net.SplitHostPort(pair); err != nil {
				p.Invalid(at.Child("registry"), v.Registry, pairs)
			}
		}
	}
	p.Need(at, "volume", v.Volume)
}

// CheckFC validates a Fibre Channel volume: WWNs with a LUN, or WWIDs.
func CheckFC(p *validation.Problems, v *v1.FCVolumeSource, at *field.Path) {
	switch wwns, wwids := len(v.TargetWWNs), len(v.WWIDs); {
	case wwns == 0 && wwids == 0:
		p.Required(at.Child("targetWWNs"), "must specify either targetWWNs or wwids, but not both")
	case wwns != 0 && wwids != 0:
		p.Invalid(at.Child("targetWWNs"), v.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously")
	}
	if len(v.TargetWWNs) == 0 {
		return
	}
	if v.Lun == nil {
		p.Required(at.Child("lun"), "lun is required if targetWWNs is specified")
	} else if *v.Lun < 0 || *v.Lun > 255 {
		p.Invalid(at.Child("lun"), *v.Lun, utilvalidation.InclusiveRangeError(0, 255))
	}
}

// CheckFlexVolume validates a FlexVolume, whose options must not use the domains of Kubernetes.
func CheckFlexVolume(p *validation.Problems, driver string, options map[string]string, at *field.Path) {
	p.Need(at, "driver", driver)
	for _, key := range slices.Sorted(maps.Keys(options)) {
		domain, _, _ := strings.Cut(key, "/")
		domain = "." + strings.ToLower(domain)
		if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
			p.Invalid(at.Child("options").Key(key), key, "kubernetes.io and k8s.io namespaces are reserved")
		}
	}
}

const BadISCSIName = "must be valid format"

var iscsiNames = map[string]*regexp.Regexp{
	"iqn": regexp.MustCompile(`iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`),
	"eui": regexp.MustCompile(`^eui.[[:alnum:]]{16}$`),
	"naa": regexp.MustCompile(`^naa.[[:alnum:]]{32}$`),
}

// CheckISCSI validates the fields that the source in a pod and that of a volume share. unnamed is
// the message for a name in none of the three formats.
// Upstream: core/validation validateISCSIVolumeSource, validateISCSIPersistentVolumeSource,
// v1.37.
func CheckISCSI(p *validation.Problems, v *v1.ISCSIVolumeSource, secret bool, unnamed string, at *field.Path) {
	p.Need(at, "targetPortal", v.TargetPortal)
	if v.IQN == "" {
		p.Required(at.Child("iqn"), "")
	} else {
		checkISCSIName(p, v.IQN, unnamed, at.Child("iqn"))
	}
	if v.Lun < 0 || v.Lun > 255 {
		p.Invalid(at.Child("lun"), v.Lun, utilvalidation.InclusiveRangeError(0, 255))
	}
	if (v.DiscoveryCHAPAuth || v.SessionCHAPAuth) && !secret {
		p.Required(at.Child("secretRef"), "")
	}
	if v.InitiatorName != nil {
		checkISCSIName(p, *v.InitiatorName, unnamed, at.Child("initiatorname"))
	}
}

func checkISCSIName(p *validation.Problems, name, unnamed string, at *field.Path) {
	format := iscsiNames[name[:min(3, len(name))]]
	if format == nil {
		p.Invalid(at, name, unnamed)
	} else if !format.MatchString(name) {
		p.Invalid(at, name, BadISCSIName)
	}
}
