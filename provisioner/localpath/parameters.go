package localpath

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// The parameters of a storage class. The last four can be annotations of it as
// well; the parameter wins.
const (
	paramNodePath               = "nodePath"
	paramNodeAffinityKey        = "nodeAffinityKey"
	paramPathPattern            = "pathPattern"
	paramAllowUnsafePathPattern = "allowUnsafePathPattern"
	paramUserPattern            = "userPattern"
	paramGroupPattern           = "groupPattern"
	paramPermPattern            = "permPattern"
)

// The annotations that choose between local and hostPath volumes: of a storage
// class, and of a claim, which wins.
const (
	annDefaultVolumeType = "defaultVolumeType"
	annVolumeType        = "volumeType"
)

// The kinds of volumes.
const (
	volumeTypeLocal    = "local"
	volumeTypeHostPath = "hostPath"
)

// parameterOrAnnotation returns what the class says under that name.
func parameterOrAnnotation(class *storagev1.StorageClass, name string) (string, bool) {
	if value, ok := class.Parameters[name]; ok {
		return value, true
	}
	value, ok := class.Annotations[name]
	return value, ok
}

// nodeAffinityKey returns the label that ties volumes to their node.
func nodeAffinityKey(class *storagev1.StorageClass) string {
	if key := class.Parameters[paramNodeAffinityKey]; key != "" {
		return key
	}
	return v1.LabelHostname
}

// allowUnsafePath reports whether a path pattern may lead anywhere. What is neither
// true nor false is false.
func allowUnsafePath(class *storagev1.StorageClass) (allow bool, wrong error) {
	text, ok := parameterOrAnnotation(class, paramAllowUnsafePathPattern)
	if !ok {
		return false, nil
	}
	allow, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("storage class %s has %s %q, which is neither true nor false and counts as false", class.Name, paramAllowUnsafePathPattern, text)
	}
	return allow, nil
}

// traceIgnored says what the claim and its class ask for that upstream does not
// look at.
func (p *localPathProvisioner) traceIgnored(options provisioner.ProvisionOptions) {
	class, claim := options.StorageClass, options.PVC
	ignored := func(format string, args ...any) {
		p.env.Trace(trace.Decision{About: trace.RefOf("PersistentVolumeClaim", claim), Text: fmt.Sprintf(format, args...)})
	}
	known := []string{
		paramNodePath, paramNodeAffinityKey, paramPathPattern, paramAllowUnsafePathPattern,
		paramUserPattern, paramGroupPattern, paramPermPattern,
	}
	for _, name := range slices.Sorted(maps.Keys(class.Parameters)) {
		if !slices.Contains(known, name) {
			ignored("storage class %s has the unknown parameter %q, which is ignored; known are %s", class.Name, name, strings.Join(known, ", "))
		}
	}
	if _, wrong := allowUnsafePath(class); wrong != nil {
		ignored("%v", wrong)
	}
	if source := claim.Spec.DataSource; source != nil {
		ignored("its dataSource, %s %q, is ignored: the volume will be empty", source.Kind, source.Name)
	} else if source := claim.Spec.DataSourceRef; source != nil {
		ignored("its dataSourceRef, %s %q, is ignored: the volume will be empty", source.Kind, source.Name)
	}
}

// volumeType returns what the claim says, or the class, or hostPath.
//
// Upstream: provisioner.go provisionFor, v0.0.37.
func volumeType(class *storagev1.StorageClass, claim *v1.PersistentVolumeClaim) string {
	if text, ok := claim.Annotations[annVolumeType]; ok {
		return text
	}
	if text, ok := class.Annotations[annDefaultVolumeType]; ok {
		return text
	}
	return volumeTypeHostPath
}
