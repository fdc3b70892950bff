package admission

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/internal/refusal"
)

var serviceAccounts = v1.SchemeGroupVersion.WithResource("serviceaccounts")

// admitAccount refuses a new pod that names a service account which is not in its namespace. A pod that names none gets none,
// and no volume with a token.
// Upstream: plugin/pkg/admission/serviceaccount Plugin.Admit, v1.37.2.
func admitAccount(r Reader, pod *v1.Pod) error {
	name := pod.Spec.ServiceAccountName
	if name == "" {
		return nil
	}
	if _, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]; mirror {
		return refusal.OfObject(podKind.GroupResource(), pod, errors.New("a mirror pod may not reference service accounts"))
	}
	if get[*v1.ServiceAccount](r, serviceAccounts, pod.Namespace+"/"+name) != nil {
		return nil
	}
	return refusal.OfObject(podKind.GroupResource(), pod,
		fmt.Errorf("error looking up service account %s/%s: serviceaccount %q not found", pod.Namespace, name, name))
}
