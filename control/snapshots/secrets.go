package snapshots

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagesim/storagesim/internal/secretref"
)

// Role is a purpose for which a class names a secret, with the two parameters that name it.
type Role struct{ Name, NameKey, NamespaceKey string }

func newRole(name, parameter string) Role {
	return Role{name, ParameterPrefix + parameter + "-secret-name", ParameterPrefix + parameter + "-secret-namespace"}
}

// SecretOf returns where the secret is that a class names for a role, or nil if it names none. A template of its
// namespace may use ${volumesnapshotcontent.name} and ${volumesnapshot.namespace}, one of its name ${volumesnapshot.name},
// too; ${volumesnapshot...} only if snapshot is not nil. For a group snapshot the tokens begin with volumegroupsnapshot.
//
// Upstream: external-snapshotter pkg/utils/util.go GetSecretReference and GetGroupSnapshotSecretReference, v8.7.
func (k Kind[S, C]) SecretOf(role Role, class *Class, content string, snapshot S) (*v1.SecretReference, error) {
	var none S
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
	token := strings.ToLower(k.Name)
	tokens := map[string]string{token + "content.name": content}
	if snapshot != none {
		tokens[token+".namespace"] = snapshot.GetNamespace()
	}
	ref := &v1.SecretReference{}
	var err error
	if ref.Namespace, err = secretref.Resolve(namespace, tokens, "namespace", validation.IsDNS1123Label); err != nil {
		return nil, err
	}
	if snapshot != none {
		tokens[token+".name"] = snapshot.GetName()
	}
	ref.Name, err = secretref.Resolve(name, tokens, "secret", validation.IsDNS1123Subdomain)
	return ref, err
}
