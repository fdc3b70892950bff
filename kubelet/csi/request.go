package csi

import (
	"context"
	"encoding/json"
	"maps"
	"strconv"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/csi/socket"
	"github.com/storagesim/storagesim/volume"
)

// tokensKey has the service account tokens that a driver asks for.
const tokensKey = "csi.storage.k8s.io/serviceAccount.tokens"

// describe says what volume is to be published, and from where.
//
// Upstream: csi_mounter.go SetUpAt, v1.37.
func (p *publisher) describe(ctx context.Context, c *client, request *socket.PublishRequest) (capability, error) {
	own, pv, err := getSourceFromSpec(p.spec)
	if err != nil {
		return capability{}, failf("mounter.SetupAt failed to get CSI persistent source: %w", err)
	}
	want := capability{accessMode: accessModeOf(p.spec)}
	if own != nil {
		if own.FSType != nil {
			want.fsType = *own.FSType
		}
		request.VolumeContext = own.VolumeAttributes
		return want, nil
	}
	want.fsType, want.mountFlags = pv.FSType, p.spec.PersistentVolume.Spec.MountOptions
	request.VolumeContext = pv.VolumeAttributes
	stages, err := c.supports(ctx, socket.StageUnstageVolume)
	if err != nil {
		return want, volume.Unansweredf(PluginName+": mounter.SetUpAt failed to check for STAGE_UNSTAGE_VOLUME capability: %v", err)
	}
	if stages {
		if request.StagingTargetPath, err = p.plugin.makeDeviceMountPath(p.spec); err != nil {
			return want, failf("mounter.SetUpAt failed to make device mount path: %w", err)
		}
	}
	if request.PublishContext, err = p.plugin.getPublishContext(ctx, p.handle, p.driver); err != nil {
		return want, transientf("mounter.SetUpAt failed to fetch publishContext: %v", err)
	}
	return want, nil
}

// publishSecret returns the secret that a volume is published with, nil if there is none. That
// of a pod's own volume is in the pod's namespace.
func (p *publisher) publishSecret() *v1.SecretReference {
	own, pv, err := getSourceFromSpec(p.spec)
	switch {
	case err != nil:
		return nil
	case pv != nil:
		return pv.NodePublishSecretRef
	case own.NodePublishSecretRef != nil:
		return &v1.SecretReference{Name: own.NodePublishSecretRef.Name, Namespace: p.pod.Namespace}
	}
	return nil
}

// addSecretsAndAttributes adds what the driver asks for in its CSIDriver object: facts of
// the pod and tokens of its service account; and the secret that the volume names.
//
// Upstream: csi_mounter.go SetUpAt, v1.37.
func (p *publisher) addSecretsAndAttributes(ctx context.Context, request *socket.PublishRequest) (err error) {
	if ref := p.publishSecret(); ref != nil {
		if request.Secrets, err = p.plugin.getCredentials(ctx, ref); err != nil {
			return volume.Transientf("fetching NodePublishSecretRef %s/%s failed: %v", ref.Namespace, ref.Name, err)
		}
	}
	if p.plugin.podInfoEnabled(p.driver) {
		request.VolumeContext = merge(request.VolumeContext, podInfo(p.pod, p.mode))
	}
	tokens, inSecrets, err := p.tokens(ctx)
	switch {
	case err != nil:
		return transientf("mounter.SetUpAt failed to get service accoount token attributes: %v", err)
	case inSecrets:
		request.Secrets = merge(request.Secrets, tokens)
	default:
		request.VolumeContext = merge(request.VolumeContext, tokens)
	}
	return nil
}

// podInfoEnabled reports whether the driver wants to know the pod.
//
// Upstream: csi_plugin.go podInfoEnabled, v1.37.
func (plugin *csiPlugin) podInfoEnabled(driver string) bool {
	d, ok := plugin.csiDrivers.Get(driver)
	return ok && d.Spec.PodInfoOnMount != nil && *d.Spec.PodInfoOnMount
}

// podInfo returns what it is told then.
//
// Upstream: csi_util.go getPodInfoAttrs, v1.37.
func podInfo(pod *v1.Pod, mode storagev1.VolumeLifecycleMode) map[string]string {
	return map[string]string{
		"csi.storage.k8s.io/pod.name":            pod.Name,
		"csi.storage.k8s.io/pod.namespace":       pod.Namespace,
		"csi.storage.k8s.io/pod.uid":             string(pod.UID),
		"csi.storage.k8s.io/serviceAccount.name": pod.Spec.ServiceAccountName,
		"csi.storage.k8s.io/ephemeral":           strconv.FormatBool(mode == storagev1.VolumeLifecycleEphemeral),
	}
}

// tokens returns the service account tokens that the driver asks for, by audience, and whether they are to be in the
// secrets.
//
// Upstream: csi_mounter.go podServiceAccountTokenAttrs, v1.37.
func (p *publisher) tokens(ctx context.Context) (attributes map[string]string, inSecrets bool, err error) {
	d, ok := p.plugin.csiDrivers.Get(p.driver)
	if !ok || len(d.Spec.TokenRequests) == 0 {
		return nil, false, nil
	}
	answers := map[string]authenticationv1.TokenRequestStatus{}
	for _, wanted := range d.Spec.TokenRequests {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: wanted.ExpirationSeconds,
			BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: p.pod.Name, UID: p.pod.UID},
		}}
		if wanted.Audience != "" {
			request.Spec.Audiences = []string{wanted.Audience}
		}
		answer, err := p.plugin.host.GetServiceAccountToken(ctx, p.pod.Namespace, p.pod.Spec.ServiceAccountName, request)
		if err != nil {
			return nil, false, err
		}
		answers[wanted.Audience] = answer.Status
	}
	text, err := json.Marshal(answers)
	inSecrets = d.Spec.ServiceAccountTokenInSecrets != nil && *d.Spec.ServiceAccountTokenInSecrets
	return map[string]string{tokensKey: string(text)}, inSecrets, err
}

// merge returns both maps in a new one; what is in second counts.
//
// Upstream: csi_mounter.go mergeMap, v1.37.
func merge(first, second map[string]string) map[string]string {
	if len(second) == 0 {
		return first
	}
	both := maps.Clone(first)
	if both == nil {
		both = map[string]string{}
	}
	maps.Copy(both, second)
	return both
}
