package kubelet

import (
	"fmt"

	"github.com/distribution/reference"
	v1 "k8s.io/api/core/v1"

	"github.com/storagesim/storagesim/kubelet/runtime"
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

// ensureImageExists pulls the container's image if its policy asks for that, and tells
// the pod. It returns why the container must wait, nil if it need not.
//
// Upstream: pkg/kubelet/images/image_manager.go EnsureImageExists, v1.37.
func (k *kubelet) ensureImageExists(pod *v1.Pod, c *v1.Container) *containerWaiting {
	waits := func(eventtype, event, reason, text string) *containerWaiting {
		k.recorder.Event(pod, eventtype, event, text)
		k.recorder.Eventf(pod, v1.EventTypeWarning, "Failed", "Error: %s", reason)
		return &containerWaiting{reason, text}
	}
	image, err := applyDefaultImageTag(c.Image)
	if err != nil {
		return waits(v1.EventTypeWarning, "InspectFailed", errInvalidImageName, fmt.Sprintf("Failed to apply default image tag %q: %v", c.Image, err))
	}
	present, err := k.runtime.ImageStatus(image)
	switch {
	case err != nil:
		return waits(v1.EventTypeWarning, "Failed", errImageInspect, fmt.Sprintf("Failed to inspect image %q: %v", c.Image, err))
	case present && c.ImagePullPolicy != v1.PullAlways:
		k.recorder.Eventf(pod, v1.EventTypeNormal, "Pulled", "Container image %q already present on machine and can be accessed by the pod", c.Image)
		return nil
	case c.ImagePullPolicy == v1.PullNever:
		return waits(v1.EventTypeWarning, errImageNeverPull, errImageNeverPull, fmt.Sprintf("Container image %q is not present with pull policy of Never", c.Image))
	}
	return k.pullImage(pod, c, image)
}

// pullImage pulls an image, unless that has failed a while ago.
//
// Upstream: pkg/kubelet/images/image_manager.go pullImage, v1.37.
func (k *kubelet) pullImage(pod *v1.Pod, c *v1.Container, image string) *containerWaiting {
	tries, key, now := k.backOffsOf(pod.UID), imageKey(c), k.env.Now()
	if entry, ok := tries.get(key, now); ok && now.Sub(entry.updated) < entry.delay {
		text := fmt.Sprintf("Back-off pulling image %q", c.Image)
		k.recorder.Event(pod, v1.EventTypeNormal, "BackOff", text)
		k.recorder.Eventf(pod, v1.EventTypeWarning, "Failed", "Error: %s", errImagePullBackOff)
		return &containerWaiting{errImagePullBackOff, fmt.Sprintf("%s: %s: %s", text, errImagePull, entry.message)}
	}
	k.recorder.Eventf(pod, v1.EventTypeNormal, "Pulling", "Pulling image %q", c.Image)
	if err := k.runtime.PullImage(image); err != nil {
		k.recorder.Eventf(pod, v1.EventTypeWarning, "Failed", "Failed to pull image %q: %v", c.Image, err)
		k.recorder.Eventf(pod, v1.EventTypeWarning, "Failed", "Error: %s", errImagePull)
		tries.next(key, now, now, err.Error())
		return &containerWaiting{errImagePull, err.Error()}
	}
	k.recorder.Eventf(pod, v1.EventTypeNormal, "Pulled", "Successfully pulled image %q in 0s (0s including waiting). Image size: 0 bytes.", c.Image)
	return nil
}

// imageKey returns what a container's image is called among the backoffs of its pod; no
// container is called so.
func imageKey(c *v1.Container) string { return "image " + c.Image }
