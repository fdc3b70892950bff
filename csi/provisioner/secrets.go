package provisioner

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/storagesim/storagesim/internal/secretref"
)

// secretParams holds the keys under which a class names the secret of one kind of call.
//
// Upstream: controller.go secretParamsMap, v6.4.
type secretParams struct {
	name                  string // in error messages
	nameKey, namespaceKey string
	// The older keys, which are passed on to the driver; "" if there are none.
	oldNameKey, oldNamespaceKey string
}

func params(name, role string) secretParams {
	return secretParams{name: name, nameKey: csiParameterPrefix + role + "secret-name", namespaceKey: csiParameterPrefix + role + "secret-namespace"}
}

func oldParams(name, role string) secretParams {
	p := params(name, role)
	p.oldNameKey, p.oldNamespaceKey = "csi"+name+"SecretName", "csi"+name+"SecretNamespace"
	return p
}

// defaultSecrets returns the parameters of calls for which a class names no secret of their own.
func defaultSecrets() secretParams     { return params("Default", "") }
func provisionerSecrets() secretParams { return oldParams("Provisioner", "provisioner-") }
func controllerPublishSecrets() secretParams {
	return oldParams("ControllerPublish", "controller-publish-")
}
func nodeStageSecrets() secretParams        { return oldParams("NodeStage", "node-stage-") }
func nodePublishSecrets() secretParams      { return oldParams("NodePublish", "node-publish-") }
func controllerExpandSecrets() secretParams { return params("ControllerExpand", "controller-expand-") }
func nodeExpandSecrets() secretParams       { return params("NodeExpand", "node-expand-") }
func controllerModifySecrets() secretParams { return params("ControllerModify", "controller-modify-") }

// roles returns the secretParams of all kinds of calls.
func roles() []secretParams {
	return []secretParams{
		provisionerSecrets(), controllerPublishSecrets(), nodeStageSecrets(), nodePublishSecrets(),
		controllerExpandSecrets(), nodeExpandSecrets(), controllerModifySecrets(),
	}
}

// templates returns the values of the two keys, both or neither; "" if the class names no
// such secret.
//
// Upstream: controller.go verifyAndGetSecretNameAndNamespaceTemplate, v6.4.
func (s secretParams) templates(parameters map[string]string) (name, namespace string, err error) {
	names, namespaces := 0, 0
	take := func(key string, into *string, count *int) {
		if value, ok := parameters[key]; ok && key != "" {
			*into, *count = value, *count+1
		}
	}
	take(s.oldNameKey, &name, &names)
	take(s.oldNamespaceKey, &namespace, &namespaces)
	take(s.nameKey, &name, &names)
	take(s.namespaceKey, &namespace, &namespaces)
	switch {
	case names > 1 || namespaces > 1:
		return "", "", fmt.Errorf("%s secrets specified in parameters with both \"csi\" and \"%s\" keys", s.name, csiParameterPrefix)
	case names != namespaces:
		return "", "", fmt.Errorf("either name and namespace for %s secrets specified, Both must be specified", s.name)
	case names == 1 && (name == "" || namespace == ""):
		return "", "", fmt.Errorf("%s secrets specified in parameters but value of either namespace or name is empty", s.name)
	}
	return name, namespace, nil
}

// getSecretReference returns the reference to the secret that a class names for one kind of call, or nil if it names
// none. It does not read the secret. Templates may use ${pv.name} and ${pvc.namespace}; that of the name also
// ${pvc.name} and ${pvc.annotations['KEY']}, which users of claims choose.
//
// Upstream: controller.go getSecretReference, v6.4.
func getSecretReference(secret secretParams, parameters map[string]string, pvName string, claim *v1.PersistentVolumeClaim) (*v1.SecretReference, error) {
	name, namespace, err := secret.templates(parameters)
	if err != nil {
		return nil, fmt.Errorf("failed to get name and namespace template from params: %w", err)
	}
	if name == "" && namespace == "" {
		if name, namespace, err = defaultSecrets().templates(parameters); err != nil {
			return nil, fmt.Errorf("failed to get default name and namespace template from params: %w", err)
		}
	}
	if name == "" && namespace == "" {
		return nil, nil
	}
	tokens := map[string]string{"pv.name": pvName, "pvc.namespace": claim.Namespace}
	ref := &v1.SecretReference{}
	if ref.Namespace, err = secretref.Resolve(namespace, tokens, "namespace", validation.IsDNS1123Label); err != nil {
		return nil, err
	}
	tokens["pvc.name"] = claim.Name
	for key, value := range claim.Annotations {
		tokens["pvc.annotations['"+key+"']"] = value
	}
	if ref.Name, err = secretref.Resolve(name, tokens, "secret", validation.IsDNS1123Subdomain); err != nil {
		return nil, err
	}
	return ref, nil
}
