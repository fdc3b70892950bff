package localpath

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// The parameters of a storage class.
const (
	paramNodePath               = "nodePath"
	paramPathPattern            = "pathPattern"
	paramAllowUnsafePathPattern = "allowUnsafePathPattern"
	paramNodeAffinityKey        = "nodeAffinityKey"
)

// The annotations that choose between local and hostPath volumes: of a storage
// class, and of a claim, which wins.
const (
	AnnDefaultVolumeType = "defaultVolumeType"
	AnnVolumeType        = "volumeType"
)

// The kinds of volumes.
const (
	volumeTypeLocal    = "local"
	volumeTypeHostPath = "hostPath"
)

// parameters are what a class and a claim ask for.
type parameters struct {
	nodePath               string
	pathPattern            string
	allowUnsafePathPattern bool
	nodeAffinityKey        string
	volumeType             string
}

// parseParameters reads them. Unknown ones are refused; upstream ignores them.
func parseParameters(class *storagev1.StorageClass, claim *v1.PersistentVolumeClaim) (params parameters, err error) {
	known := []string{paramNodePath, paramPathPattern, paramAllowUnsafePathPattern, paramNodeAffinityKey}
	for _, name := range slices.Sorted(maps.Keys(class.Parameters)) {
		if !slices.Contains(known, name) {
			return params, fmt.Errorf("storage class %s has the unknown parameter %q; allowed are %s", class.Name, name, strings.Join(known, ", "))
		}
	}
	params = parameters{
		nodePath: class.Parameters[paramNodePath], pathPattern: class.Parameters[paramPathPattern],
		nodeAffinityKey: class.Parameters[paramNodeAffinityKey],
	}
	if params.nodePath != "" {
		params.nodePath = path.Clean(params.nodePath)
	}
	if params.nodeAffinityKey == "" {
		params.nodeAffinityKey = v1.LabelHostname
	}
	unsafe, ok := class.Parameters[paramAllowUnsafePathPattern]
	if !ok {
		unsafe = class.Annotations[paramAllowUnsafePathPattern] // as it was once
	}
	if unsafe != "" {
		if params.allowUnsafePathPattern, err = strconv.ParseBool(unsafe); err != nil {
			return params, fmt.Errorf("storage class %s has %s %q; it must be true or false", class.Name, paramAllowUnsafePathPattern, unsafe)
		}
	}
	params.volumeType, err = volumeType(class, claim)
	return params, err
}

// volumeType is what the claim says, or the class, or hostPath.
func volumeType(class *storagev1.StorageClass, claim *v1.PersistentVolumeClaim) (string, error) {
	where, text := fmt.Sprintf("storage class %s, annotation %s", class.Name, AnnDefaultVolumeType), class.Annotations[AnnDefaultVolumeType]
	if ofClaim, ok := claim.Annotations[AnnVolumeType]; ok {
		where, text = fmt.Sprintf("claim %s/%s, annotation %s", claim.Namespace, claim.Name, AnnVolumeType), ofClaim
	} else if _, ok := class.Annotations[AnnDefaultVolumeType]; !ok {
		return volumeTypeHostPath, nil
	}
	for _, known := range []string{volumeTypeLocal, volumeTypeHostPath} {
		if strings.EqualFold(text, known) {
			return known, nil
		}
	}
	return "", fmt.Errorf("%s: %q is not a recognised volume type; allowed are %s and %s", where, text, volumeTypeLocal, volumeTypeHostPath)
}
