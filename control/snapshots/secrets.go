package snapshots

import (
	"fmt"

	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagesim/storagesim/internal/secretref"
)

// Role is what a class names a secret for.
type Role struct{ Name, NameKey, NamespaceKey string }

// Snapshotter is the role of secrets for CreateSnapshot and DeleteSnapshot.
func Snapshotter() Role { return Role{"Snapshotter", SecretName, SecretNamespace} }

// SnapshotterList is the role of secrets for ListSnapshots.
func SnapshotterList() Role { return Role{"SnapshotterList", ListSecretName, ListSecretNamespace} }

// SecretOf is where the secret is that a class names, or nil if it names none. Templates may use
// ${volumesnapshotcontent.name}, ${volumesnapshot.namespace} and, for the name,
// ${volumesnapshot.name}; the latter two only where there is a snapshot.
//
// Upstream: external-snapshotter pkg/utils/util.go GetSecretReference, v8.7.
func SecretOf(role Role, class *snapshotv1.VolumeSnapshotClass, content string, snapshot *snapshotv1.VolumeSnapshot) (*v1.SecretReference, error) {
	const failed = "failed to get name and namespace template from params: "
	name, named := class.Parameters[role.NameKey]
	namespace, spaced := class.Parameters[role.NamespaceKey]
	switch {
	case named != spaced:
		return nil, fmt.Errorf(failed+"either name and namespace for %s secrets specified, Both must be specified", role.Name)
	case !named:
		return nil, nil
	case name == "" || namespace == "":
		return nil, fmt.Errorf(failed+"%s secrets specified in parameters but value of either namespace or name is empty", role.Name)
	}
	tokens := map[string]string{"volumesnapshotcontent.name": content}
	if snapshot != nil {
		tokens["volumesnapshot.namespace"] = snapshot.Namespace
	}
	ref := &v1.SecretReference{}
	var err error
	if ref.Namespace, err = secretref.Resolve(namespace, tokens, "namespace", validation.IsDNS1123Label); err != nil {
		return nil, err
	}
	if snapshot != nil {
		tokens["volumesnapshot.name"] = snapshot.Name
	}
	ref.Name, err = secretref.Resolve(name, tokens, "secret", validation.IsDNS1123Subdomain)
	return ref, err
}
