package admission

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/api/internal/call"
	"github.com/storagesim/storagesim/api/internal/refusal"
)

var serviceAccounts = v1.SchemeGroupVersion.WithResource("serviceaccounts")

const (
	// defaultAccount is the account of pods that name none.
	defaultAccount = "default"
	// enforceMountableSecrets is the annotation of an account that lets its pods use only the secrets that it lists.
	enforceMountableSecrets = "kubernetes.io/enforce-mountable-secrets"
)

// admitAccount refuses a new pod that names a service account which is not in its namespace, or a secret which its account does not let it
// use, and gives one without imagePullSecrets those of its account. A pod that names no account is that of the account "default", if there is one,
// but is not given its name, and no pod gets a volume with a token.
// Upstream: plugin/pkg/admission/serviceaccount Plugin.Admit and Validate, v1.37.2.
func admitAccount(r Reader, pod *v1.Pod) error {
	refuse := func(err error) error { return refusal.OfObject(podKind.GroupResource(), pod, err) }
	if _, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]; mirror {
		if err := checkMirrorPod(pod); err != nil {
			return refuse(err)
		}
		return nil
	}
	account, err := accountOf(r, pod)
	switch {
	case err != nil:
		return refuse(err)
	case account == nil:
		return nil
	}
	if len(pod.Spec.ImagePullSecrets) == 0 {
		pod.Spec.ImagePullSecrets = slices.Clone(account.ImagePullSecrets)
	}
	if !limitsSecrets(account) {
		return nil
	}
	if err := checkSecrets(account, pod); err != nil {
		return refuse(err)
	}
	return nil
}

// EphemeralContainers refuses new ephemeral containers if the account of their pod is missing, or they name a secret which it does not let
// them use. It runs after validation.
// Upstream: plugin/pkg/admission/serviceaccount Plugin.limitEphemeralContainerSecretReferences, v1.37.2. Its second error has no code.
func EphemeralContainers(r Reader, obj call.Object, on Plugins) error {
	pod, ok := obj.(*v1.Pod)
	if !ok || !on.ServiceAccount {
		return nil
	}
	account, err := accountOf(r, pod)
	if err != nil {
		return refusal.OfObject(podKind.GroupResource(), pod, err)
	}
	if account == nil || !limitsSecrets(account) {
		return nil
	}
	for i := range pod.Spec.EphemeralContainers {
		c := (*v1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		if err := checkEnvironment(account, "ephemeral container", c); err != nil {
			return err
		}
	}
	return nil
}

// accountOf returns the account of a pod; nil if it names none and its namespace has no account "default".
func accountOf(r Reader, pod *v1.Pod) (*v1.ServiceAccount, error) {
	namespace, name := pod.Namespace, pod.Spec.ServiceAccountName
	account := get[*v1.ServiceAccount](r, serviceAccounts, namespace+"/"+cmp.Or(name, defaultAccount))
	if account == nil && name != "" {
		return nil, fmt.Errorf("error looking up service account %s/%s: serviceaccount %q not found", namespace, name, name)
	}
	return account, nil
}

// limitsSecrets reports whether the pods of an account may use only the secrets that it lists.
// Upstream: plugin/pkg/admission/serviceaccount Plugin.enforceMountableSecrets, v1.37.2.
func limitsSecrets(account *v1.ServiceAccount) bool {
	limits, err := strconv.ParseBool(account.Annotations[enforceMountableSecrets])
	return err == nil && limits
}

// checkSecrets refuses a pod with a secret that its account does not list.
// Upstream: plugin/pkg/admission/serviceaccount Plugin.limitSecretReferences, v1.37.2.
func checkSecrets(account *v1.ServiceAccount, pod *v1.Pod) error {
	for _, volume := range pod.Spec.Volumes {
		if secret := volume.Secret; secret != nil && !lists(account, secret.SecretName) {
			return fmt.Errorf("volume with secret.secretName=\"%s\" is not allowed because service account %s does not reference that secret",
				secret.SecretName, account.Name)
		}
	}
	for i := range pod.Spec.InitContainers {
		if err := checkEnvironment(account, "init container", &pod.Spec.InitContainers[i]); err != nil {
			return err
		}
	}
	for i := range pod.Spec.Containers {
		if err := checkEnvironment(account, "container", &pod.Spec.Containers[i]); err != nil {
			return err
		}
	}
	for i, pull := range pod.Spec.ImagePullSecrets {
		if !slices.Contains(account.ImagePullSecrets, pull) {
			return fmt.Errorf("imagePullSecrets[%d].name=\"%s\" is not allowed because service account %s does not reference that imagePullSecret",
				i, pull.Name, account.Name)
		}
	}
	return nil
}

// checkEnvironment refuses a container with a secret in its environment that its account does not list. what says which kind of container it is.
func checkEnvironment(account *v1.ServiceAccount, what string, c *v1.Container) error {
	for at, secret := range secretsInEnvironment(c) {
		if !lists(account, secret) {
			return fmt.Errorf("%s %s with %s referencing secret.secretName=\"%s\" is not allowed because service account %s does not reference that secret",
				what, c.Name, at, secret, account.Name)
		}
	}
	return nil
}

// lists reports whether an account lists a secret.
func lists(account *v1.ServiceAccount, secret string) bool {
	return slices.ContainsFunc(account.Secrets, func(ref v1.ObjectReference) bool { return ref.Name == secret })
}

// secretsInEnvironment walks the names of the secrets in a container's environment, each with where it is.
func secretsInEnvironment(c *v1.Container) iter.Seq2[string, string] {
	return func(yield func(at, secret string) bool) {
		for _, env := range c.Env {
			if from := env.ValueFrom; from != nil && from.SecretKeyRef != nil && !yield("envVar "+env.Name, from.SecretKeyRef.Name) {
				return
			}
		}
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil && !yield("envFrom", from.SecretRef.Name) {
				return
			}
		}
	}
}

// checkMirrorPod refuses what the pod of a manifest of a kubelet's own may not have.
// Upstream: plugin/pkg/admission/serviceaccount Plugin.Validate, v1.37.2.
func checkMirrorPod(pod *v1.Pod) error {
	projectsToken := func(source v1.VolumeProjection) bool { return source.ServiceAccountToken != nil }
	switch {
	case pod.Spec.ServiceAccountName != "":
		return errors.New("a mirror pod may not reference service accounts")
	case namesSecrets(&pod.Spec):
		return errors.New("a mirror pod may not reference secrets")
	}
	for _, v := range pod.Spec.Volumes {
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, projectsToken) {
			return errors.New("a mirror pod may not use ServiceAccountToken volume projections")
		}
	}
	return nil
}

// namesSecrets reports whether a pod names any secret.
// Upstream: pkg/api/pod VisitPodSecretNames, v1.37.2.
func namesSecrets(spec *v1.PodSpec) bool {
	inEnvironment := func(c v1.Container) bool {
		for _, secret := range secretsInEnvironment(&c) {
			if secret != "" {
				return true
			}
		}
		return false
	}
	named := func(ref v1.LocalObjectReference) bool { return ref.Name != "" }
	return slices.ContainsFunc(spec.ImagePullSecrets, named) || slices.ContainsFunc(spec.InitContainers, inEnvironment) ||
		slices.ContainsFunc(spec.Containers, inEnvironment) || slices.ContainsFunc(spec.Volumes, volumeNamesSecret)
}

// volumeNamesSecret reports whether a volume names a secret.
func volumeNamesSecret(v v1.Volume) bool {
	var ref *v1.LocalObjectReference
	switch s := v.VolumeSource; {
	case s.AzureFile != nil:
		return s.AzureFile.SecretName != ""
	case s.Secret != nil:
		return s.Secret.SecretName != ""
	case s.Projected != nil:
		return slices.ContainsFunc(s.Projected.Sources, func(source v1.VolumeProjection) bool { return source.Secret != nil && source.Secret.Name != "" })
	case s.CephFS != nil:
		ref = s.CephFS.SecretRef
	case s.Cinder != nil:
		ref = s.Cinder.SecretRef
	case s.FlexVolume != nil:
		ref = s.FlexVolume.SecretRef
	case s.RBD != nil:
		ref = s.RBD.SecretRef
	case s.ScaleIO != nil:
		ref = s.ScaleIO.SecretRef
	case s.ISCSI != nil:
		ref = s.ISCSI.SecretRef
	case s.StorageOS != nil:
		ref = s.StorageOS.SecretRef
	case s.CSI != nil:
		ref = s.CSI.NodePublishSecretRef
	}
	return ref != nil && ref.Name != ""
}
