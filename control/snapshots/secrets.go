package snapshots

import (
	"fmt"

	groupv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumegroupsnapshot/v1"
	snapshotv1 "github.com/kubernetes-csi/external-snapshotter/client/v8/apis/volumesnapshot/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	if snapshot == nil {
		return secretOf(role, class.Parameters, "volumesnapshot", content, nil)
	}
	return secretOf(role, class.Parameters, "volumesnapshot", content, snapshot)
}

// GroupSecretOf is SecretOf for a group snapshot, with ${volumegroupsnapshotcontent.name} and so on.
//
// Upstream: external-snapshotter pkg/utils/util.go GetGroupSnapshotSecretReference, v8.7.
func GroupSecretOf(role Role, class *groupv1.VolumeGroupSnapshotClass, content string, g *groupv1.VolumeGroupSnapshot) (*v1.SecretReference, error) {
	if g == nil {
		return secretOf(role, class.Parameters, "volumegroupsnapshot", content, nil)
	}
	return secretOf(role, class.Parameters, "volumegroupsnapshot", content, g)
}

// secretOf resolves the templates with tokens that begin with the kind. of may be nil.
func secretOf(role Role, parameters map[string]string, kind, content string, of metav1.Object) (*v1.SecretReference, error) {
	const failed = "failed to get name and namespace template from params: "
	name, named := parameters[role.NameKey]
	namespace, spaced := parameters[role.NamespaceKey]
	switch {
	case named != spaced:
		return nil, fmt.Errorf(failed+"either name and namespace for %s secrets specified, Both must be specified", role.Name)
	case !named:
		return nil, nil
	case name == "" || namespace == "":
		return nil, fmt.Errorf(failed+"%s secrets specified in parameters but value of either namespace or name is empty", role.Name)
	}
	tokens := map[string]string{kind + "content.name": content}
	if of != nil {
		tokens[kind+".namespace"] = of.GetNamespace()
	}
	ref := &v1.SecretReference{}
	var err error
	if ref.Namespace, err = secretref.Resolve(namespace, tokens, "namespace", validation.IsDNS1123Label); err != nil {
		return nil, err
	}
	if of != nil {
		tokens[kind+".name"] = of.GetName()
	}
	ref.Name, err = secretref.Resolve(name, tokens, "secret", validation.IsDNS1123Subdomain)
	return ref, err
}
