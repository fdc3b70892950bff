package kubelet

import (
	"fmt"

	"github.com/distribution/reference"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/storagesim/storagesim/kubelet/internal/containerref"
	"github.com/storagesim/storagesim/kubelet/runtime"
	"github.com/storagesim/storagesim/trace"
)

// Why a container waits for its image.
//
// Upstream: pkg/kubelet/images/types.go, v1.37.
const (
	errImageNeverPull   = "ErrImageNeverPull"
	errImagePull        = "ErrImagePull"
	errImagePullBackOff = "ImagePullBackOff"
	errImageInspect     = "ImageInspectError"
	errInvalidImageName = "InvalidImageName"
)

// applyDefaultImageTag returns an image's name with the tag "latest", unless it has a tag or
// a digest.
//
// Upstream: pkg/kubelet/images/image_manager.go applyDefaultImageTag, v1.37.
func applyDefaultImageTag(image string) (string, error) {
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return "", fmt.Errorf("couldn't parse image name %q: %w", image, err)
	}
	return runtime.WithDefaultTag(image), nil
}

// getImageVolumes pulls the images of the pod's volumes. It returns why containers with a volume must wait, by its name; nil if they need not.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go getImageVolumes, v1.37.2.
func (k *kubelet) getImageVolumes(pod *v1.Pod) map[string]*containerWaiting {
	waits := map[string]*containerWaiting{}
	for i := range pod.Spec.Volumes {
		if v := &pod.Spec.Volumes[i]; v.Image != nil {
			waits[v.Name] = k.ensureImageExists(pod, pod, v.Image.Reference, v.Image.PullPolicy)
			if waits[v.Name] == nil {
				deviates := trace.Deviate(trace.ImageEmpty, trace.RefOf("Pod", pod))
				deviates.Of = "image " + v.Image.Reference
				k.env.Trace(deviates)
			}
		}
	}
	return waits
}

// imagesThere returns why the container must wait for one of its images, nil if all are there: those of its volumes, and then its own.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go toKubeContainerImageVolumes and startContainer, v1.37.2.
func (k *kubelet) imagesThere(pod *v1.Pod, c *v1.Container, volumes map[string]*containerWaiting) (waits *containerWaiting) {
	about := containerref.GenerateContainerRef(pod, c.Name)
	failed := func(why *containerWaiting) {
		if why != nil {
			k.recorder.Eventf(about, v1.EventTypeWarning, "Failed", "Error: %s", why.Reason)
			waits = why
		}
	}
	for _, m := range c.VolumeMounts {
		failed(volumes[m.Name])
	}
	if waits == nil {
		failed(k.ensureImageExists(about, pod, c.Image, c.ImagePullPolicy))
	}
	return waits
}

// ensureImageExists pulls an image if the policy asks for that, and tells
// the pod, or the part of it that about is. It returns why a container must wait, nil if it need not.
//
// Upstream: pkg/kubelet/images/image_manager.go EnsureImageExists, v1.37.
func (k *kubelet) ensureImageExists(about apiruntime.Object, pod *v1.Pod, name string, policy v1.PullPolicy) *containerWaiting {
	waits := func(event, reason, text string) *containerWaiting {
		k.recorder.Event(about, v1.EventTypeWarning, event, text)
		return &containerWaiting{reason, text}
	}
	image, err := applyDefaultImageTag(name)
	if err != nil {
		return waits("InspectFailed", errInvalidImageName, fmt.Sprintf("Failed to apply default image tag %q: %v", name, err))
	}
	present, err := k.runtime.ImageStatus(image)
	switch {
	case err != nil:
		return waits("Failed", errImageInspect, fmt.Sprintf("Failed to inspect image %q: %v", name, err))
	case present && policy != v1.PullAlways:
		k.recorder.Eventf(about, v1.EventTypeNormal, "Pulled", "Container image %q already present on machine and can be accessed by the pod", name)
		return nil
	case policy == v1.PullNever:
		return waits(errImageNeverPull, errImageNeverPull, fmt.Sprintf("Container image %q is not present with pull policy of Never", name))
	}
	return k.pullImage(about, pod, name, image)
}

// pullImage pulls an image, unless that has failed a while ago.
//
// Upstream: pkg/kubelet/images/image_manager.go pullImage, v1.37.
func (k *kubelet) pullImage(about apiruntime.Object, pod *v1.Pod, name, image string) *containerWaiting {
	tries, key, now := k.backOffsOf(pod.UID), imageKey(name), k.env.Now()
	if entry, ok := tries.get(key, now); ok && now.Sub(entry.updated) < entry.delay {
		text := fmt.Sprintf("Back-off pulling image %q", name)
		k.recorder.Event(about, v1.EventTypeNormal, "BackOff", text)
		return &containerWaiting{errImagePullBackOff, fmt.Sprintf("%s: %s: %s", text, errImagePull, entry.message)}
	}
	k.recorder.Eventf(about, v1.EventTypeNormal, "Pulling", "Pulling image %q", name)
	if err := k.runtime.PullImage(image); err != nil {
		k.recorder.Eventf(about, v1.EventTypeWarning, "Failed", "Failed to pull image %q: %v", name, err)
		tries.next(key, now, now, err.Error())
		return &containerWaiting{errImagePull, err.Error()}
	}
	k.recorder.Eventf(about, v1.EventTypeNormal, "Pulled", "Successfully pulled image %q in 0s (0s including waiting). Image size: 0 bytes.", name)
	return nil
}

// imageKey returns the name of an image among the backoffs of its pod; no
// container is called so.
func imageKey(image string) string { return "image " + image }

// imagesOf returns the images that a container of the pod needs: its own, and those of its volumes.
func imagesOf(pod *v1.Pod, c *v1.Container) []string {
	images := []string{c.Image}
	for _, m := range c.VolumeMounts {
		for i := range pod.Spec.Volumes {
			if v := &pod.Spec.Volumes[i]; v.Name == m.Name && v.Image != nil {
				images = append(images, v.Image.Reference)
			}
		}
	}
	return images
}
