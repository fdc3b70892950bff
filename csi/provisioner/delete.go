package provisioner

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	storage "k8s.io/api/storage/v1"

	"github.com/storagesim/storagesim/binding"
	"github.com/storagesim/storagesim/control"
	"github.com/storagesim/storagesim/csi/internal/sidecar"
	"github.com/storagesim/storagesim/internal/migration"
	"github.com/storagesim/storagesim/provisioner"
	"github.com/storagesim/storagesim/trace"
)

// Delete calls the driver to delete the volume.
//
// Upstream: controller.go Delete, v6.4.
func (p *csiProvisioner) Delete(ctx context.Context, volume *v1.PersistentVolume) error {
	volume, err := migration.Volume(volume)
	if err != nil {
		return err
	}
	if volume.Spec.CSI == nil {
		return errors.New("invalid CSI PV")
	}
	if err := p.checkDriverCapabilities(requiredCapabilities{}); err != nil {
		return err
	}
	secrets, err := p.handleSecretsForDeletion(ctx, volume)
	if err != nil {
		return err
	}
	ctx = control.WithTimeout(ctx, p.env, p.cfg.Timeout)
	// For a driver without attaching, attachments do not matter.
	if p.can(csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME) {
		if err := canDeleteVolume(volume, p.attachments.ByIndex(byVolume, volume.Name)); err != nil {
			return err
		}
	}
	_, err = p.driver.DeleteVolume(ctx, &csi.DeleteVolumeRequest{VolumeId: volume.Spec.CSI.VolumeHandle, Secrets: secrets})
	return err
}

// byVolume is the index of VolumeAttachments by the name of their PersistentVolume. Upstream searches all of them at
// each deletion.
const byVolume = "volume"

func volumeNames(va *storage.VolumeAttachment) []string {
	if name := va.Spec.Source.PersistentVolumeName; name != nil {
		return []string{*name}
	}
	return nil
}

// canDeleteVolume refuses while a VolumeAttachment names the volume.
//
// Upstream: controller.go canDeleteVolume, v6.4.
func canDeleteVolume(volume *v1.PersistentVolume, attachments []*storage.VolumeAttachment) error {
	for _, va := range attachments {
		if name := va.Spec.Source.PersistentVolumeName; name != nil && *name == volume.Name {
			return &provisioner.VolumeInUseError{Reason: fmt.Sprintf("persistentvolume %s is still attached to node %s, waiting for detach", volume.Name,
				va.Spec.NodeName)}
		}
	}
	return nil
}

// handleSecretsForDeletion reads the secret that the volume's annotations name or, without such annotations, that of
// its class. If a secret cannot be read, none is used.
//
// Upstream: controller.go handleSecretsForDeletion and getSecretsFromSC, v6.4.
func (p *csiProvisioner) handleSecretsForDeletion(ctx context.Context, volume *v1.PersistentVolume) (map[string]string, error) {
	name, named := volume.Annotations[annDeletionSecretName]
	namespace, spaced := volume.Annotations[annDeletionSecretNamespace]
	var ref *v1.SecretReference
	switch {
	case named && spaced && name != "" && namespace != "":
		ref = &v1.SecretReference{Name: name, Namespace: namespace}
	case named && spaced:
		return nil, nil
	default:
		var err error
		if ref, err = p.secretOfClass(volume); err != nil {
			return nil, fmt.Errorf("failed to get secretreference for volume %s: %w", volume.Name, err)
		}
	}
	secrets, err := sidecar.Credentials(ctx, p.client, ref)
	if err != nil {
		p.env.Trace(trace.Decision{About: trace.RefOf("PersistentVolume", volume), Text: "is deleted without its secret: " + err.Error()})
		return nil, nil //nolint:nilerr // As upstream: the secret may have been deleted before the volume.
	}
	return secrets, nil
}

// secretOfClass returns the secret that the volume's class names, if class and claim are known.
func (p *csiProvisioner) secretOfClass(volume *v1.PersistentVolume) (*v1.SecretReference, error) {
	class, ok := p.classes.Get(binding.GetPersistentVolumeClass(volume))
	if !ok || volume.Spec.ClaimRef == nil {
		return nil, nil
	}
	claim := &v1.PersistentVolumeClaim{}
	claim.Name, claim.Namespace = volume.Spec.ClaimRef.Name, volume.Spec.ClaimRef.Namespace
	return getSecretReference(provisionerSecrets(), class.Parameters, volume.Name, claim)
}
