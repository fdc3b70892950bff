package validation

import (
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rules of the volume sources this project has no plugin for. They are checked
// because a manifest that upstream refuses must not pass here.

const iscsiTooLong = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."

// partitioned validates a cloud disk: an identifier and a partition.
func (p *problems) partitioned(name, id string, partition int32, at *field.Path) {
	p.need(at, name, id)
	if partition < 0 || partition > 255 {
		p.invalid(at.Child("partition"), partition, validation.InclusiveRangeError(1, 255))
	}
}

func (p *problems) glusterfs(endpoints, path string, at *field.Path) {
	p.need(at, "endpoints", endpoints)
	p.need(at, "path", path)
}

func (p *problems) azureFile(secret, share string, at *field.Path) {
	p.need(at, "secretName", secret)
	p.need(at, "shareName", share)
}

func (p *problems) azureDisk(v *v1.AzureDiskVolumeSource, at *field.Path) {
	caching := []v1.AzureDataDiskCachingMode{v1.AzureDataDiskCachingNone, v1.AzureDataDiskCachingReadOnly, v1.AzureDataDiskCachingReadWrite}
	kinds := []v1.AzureDataDiskKind{v1.AzureDedicatedBlobDisk, v1.AzureManagedDisk, v1.AzureSharedBlobDisk}
	p.need(at, "diskName", v.DiskName)
	p.need(at, "diskURI", v.DataDiskURI)
	if v.CachingMode != nil && !slices.Contains(caching, *v.CachingMode) {
		p.add(field.NotSupported(at.Child("cachingMode"), *v.CachingMode, caching))
	}
	if v.Kind == nil {
		return
	}
	if !slices.Contains(kinds, *v.Kind) {
		p.add(field.NotSupported(at.Child("kind"), *v.Kind, kinds))
	}
	prefix, form := "https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
	if *v.Kind == v1.AzureManagedDisk {
		prefix, form = "/subscriptions/", "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	}
	if !strings.HasPrefix(v.DataDiskURI, prefix) {
		p.add(field.NotSupported(at.Child("diskURI"), v.DataDiskURI, []string{form}))
	}
}

func (p *problems) scaleIO(gateway, system, volume string, at *field.Path) {
	p.need(at, "gateway", gateway)
	p.need(at, "system", system)
	p.need(at, "volumeName", volume)
}

func (p *problems) storageOS(volume, namespace string, at *field.Path) {
	if volume == "" {
		p.required(at.Child("volumeName"), "")
	} else {
		p.dnsLabel(volume, at.Child("volumeName"))
	}
	if namespace != "" {
		p.dnsLabel(namespace, at.Child("volumeNamespace"))
	}
}

func (p *problems) flocker(v *v1.FlockerVolumeSource, at *field.Path) {
	if v.DatasetName == "" && v.DatasetUUID == "" {
		p.required(at, "one of datasetName and datasetUUID is required")
	}
	if v.DatasetName != "" && v.DatasetUUID != "" {
		p.invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously")
	}
	if strings.Contains(v.DatasetName, "/") {
		p.invalid(at.Child("datasetName"), v.DatasetName, "must not contain '/'")
	}
}

func (p *problems) monitors(monitors []string, at *field.Path) {
	if len(monitors) == 0 {
		p.required(at.Child("monitors"), "")
	}
}

func (p *problems) rbd(monitors []string, image string, at *field.Path) {
	p.monitors(monitors, at)
	p.need(at, "image", image)
}

func (p *problems) quobyte(v *v1.QuobyteVolumeSource, at *field.Path) {
	const pairs = "must be a host:port pair or multiple pairs separated by commas"
	switch {
	case v.Registry == "":
		p.required(at.Child("registry"), pairs)
	case len(v.Tenant) > 64:
		p.required(at.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters")
	default:
		for _, pair := range strings.Split(v.Registry, ",") {
			if _, _, err := net.SplitHostPort(pair); err != nil {
				p.invalid(at.Child("registry"), v.Registry, pairs)
			}
		}
	}
	p.need(at, "volume", v.Volume)
}

func (p *problems) fc(v *v1.FCVolumeSource, at *field.Path) {
	switch wwns, wwids := len(v.TargetWWNs), len(v.WWIDs); {
	case wwns == 0 && wwids == 0:
		p.required(at.Child("targetWWNs"), "must specify either targetWWNs or wwids, but not both")
	case wwns != 0 && wwids != 0:
		p.invalid(at.Child("targetWWNs"), v.TargetWWNs, "targetWWNs and wwids can not be specified simultaneously")
	}
	if len(v.TargetWWNs) == 0 {
		return
	}
	if v.Lun == nil {
		p.required(at.Child("lun"), "lun is required if targetWWNs is specified")
	} else if *v.Lun < 0 || *v.Lun > 255 {
		p.invalid(at.Child("lun"), *v.Lun, validation.InclusiveRangeError(0, 255))
	}
}

func (p *problems) flexVolume(driver string, options map[string]string, at *field.Path) {
	p.need(at, "driver", driver)
	for _, key := range slices.Sorted(maps.Keys(options)) {
		domain, _, _ := strings.Cut(key, "/")
		domain = "." + strings.ToLower(domain)
		if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
			p.invalid(at.Child("options").Key(key), key, "kubernetes.io and k8s.io namespaces are reserved")
		}
	}
}

const badISCSIName = "must be valid format"

var iscsiNames = map[string]*regexp.Regexp{
	"iqn": regexp.MustCompile(`iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`),
	"eui": regexp.MustCompile(`^eui.[[:alnum:]]{16}$`),
	"naa": regexp.MustCompile(`^naa.[[:alnum:]]{32}$`),
}

// iscsi validates the fields that the source in a pod and that of a volume share. unnamed is
// the message for a name in none of the three formats.
// Upstream: core/validation validateISCSIVolumeSource, validateISCSIPersistentVolumeSource,
// v1.37.
func (p *problems) iscsi(v *v1.ISCSIVolumeSource, secret bool, unnamed string, at *field.Path) {
	p.need(at, "targetPortal", v.TargetPortal)
	if v.IQN == "" {
		p.required(at.Child("iqn"), "")
	} else {
		p.iscsiName(v.IQN, unnamed, at.Child("iqn"))
	}
	if v.Lun < 0 || v.Lun > 255 {
		p.invalid(at.Child("lun"), v.Lun, validation.InclusiveRangeError(0, 255))
	}
	if (v.DiscoveryCHAPAuth || v.SessionCHAPAuth) && !secret {
		p.required(at.Child("secretRef"), "")
	}
	if v.InitiatorName != nil {
		p.iscsiName(*v.InitiatorName, unnamed, at.Child("initiatorname"))
	}
}

func (p *problems) iscsiName(name, unnamed string, at *field.Path) {
	format := iscsiNames[name[:min(3, len(name))]]
	if format == nil {
		p.invalid(at, name, unnamed)
	} else if !format.MatchString(name) {
		p.invalid(at, name, badISCSIName)
	}
}
