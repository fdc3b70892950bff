package kubelet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/distribution/reference"
	v1 "k8s.io/api/core/v1"
)

// Why a container waits for its image.
//
// Upstream: pkg/kubelet/images/types.go, v1.36.
const (
	errImageNeverPull   = "ErrImageNeverPull"
	errImagePull        = "ErrImagePull"
	errImagePullBackOff = "ImagePullBackOff"
	errInvalidImageName = "InvalidImageName"
)

// imagesDir has a file for each image that the node has, named by the hash of the
// image's name, which is in it.
const imagesDir = "/run/containerd/images"

// applyDefaultImageTag is an image's name with the tag "latest", unless it has a tag or
// a digest.
//
// Upstream: pkg/kubelet/images/image_manager.go applyDefaultImageTag, v1.36.
func applyDefaultImageTag(image string) (string, error) {
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return "", fmt.Errorf("couldn't parse image name %q: %w", image, err)
	}
	return withDefaultTag(image), nil
}

// withDefaultTag is the same for a name that can be parsed.
func withDefaultTag(image string) string {
	_, base := path.Split(image)
	if strings.ContainsAny(base, ":@") {
		return image
	}
	return image + ":latest"
}

// ensureImageExists pulls the container's image if its policy asks for that, and tells
// the pod. It returns why the container must wait, nil if it need not.
//
// Upstream: pkg/kubelet/images/image_manager.go EnsureImageExists, v1.36.
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
	present := c.ImagePullPolicy != v1.PullAlways && k.runtime.hasImage(image)
	switch {
	case present:
		k.recorder.Eventf(pod, v1.EventTypeNormal, "Pulled", "Container image %q already present on machine and can be accessed by the pod", c.Image)
		return nil
	case c.ImagePullPolicy == v1.PullNever:
		return waits(v1.EventTypeWarning, errImageNeverPull, errImageNeverPull, fmt.Sprintf("Container image %q is not present with pull policy of Never", c.Image))
	}
	return k.pullImage(pod, c, image)
}

// pullImage pulls an image, unless that has failed a while ago.
//
// Upstream: pkg/kubelet/images/image_manager.go pullImage, v1.36.
func (k *kubelet) pullImage(pod *v1.Pod, c *v1.Container, image string) *containerWaiting {
	tries, key, now := k.backOffsOf(pod.UID), imageKey(c), k.env.Now()
	if entry, ok := tries.get(key, now); ok && now.Sub(entry.updated) < entry.delay {
		text := fmt.Sprintf("Back-off pulling image %q", c.Image)
		k.recorder.Event(pod, v1.EventTypeNormal, "BackOff", text)
		k.recorder.Eventf(pod, v1.EventTypeWarning, "Failed", "Error: %s", errImagePullBackOff)
		return &containerWaiting{errImagePullBackOff, fmt.Sprintf("%s: %s: %s", text, errImagePull, entry.message)}
	}
	k.recorder.Eventf(pod, v1.EventTypeNormal, "Pulling", "Pulling image %q", c.Image)
	if err := k.runtime.pullImage(image); err != nil {
		k.recorder.Eventf(pod, v1.EventTypeWarning, "Failed", "Failed to pull image %q: %v", c.Image, err)
		k.recorder.Eventf(pod, v1.EventTypeWarning, "Failed", "Error: %s", errImagePull)
		tries.next(key, now, now, err.Error())
		return &containerWaiting{errImagePull, err.Error()}
	}
	k.recorder.Eventf(pod, v1.EventTypeNormal, "Pulled", "Successfully pulled image %q in 0s (0s including waiting). Image size: 0 bytes.", c.Image)
	return nil
}

// imageKey is what a container's image is called among the backoffs of its pod; no
// container is called so.
func imageKey(c *v1.Container) string { return "image " + c.Image }

func imageFile(image string) string {
	sum := sha256.Sum256([]byte(image))
	return path.Join(imagesDir, hex.EncodeToString(sum[:16]))
}

// hasImage says whether the node has the image.
func (rt *containerRuntime) hasImage(image string) bool {
	if !rt.images[image] {
		_, err := rt.fs.Lstat(imageFile(image))
		rt.images[image] = err == nil
	}
	return rt.images[image]
}

// pullImage gives the node the image. There are no registries: every image exists, is
// empty and is there at once.
func (rt *containerRuntime) pullImage(image string) error {
	if rt.hasImage(image) {
		return nil
	}
	file := imageFile(image)
	err := rt.fs.WriteFile(file, []byte(image), 0o644)
	if errors.Is(err, fs.ErrNotExist) { // the first one
		if err = rt.fs.MkdirAll(imagesDir, 0o755); err == nil {
			err = rt.fs.WriteFile(file, []byte(image), 0o644)
		}
	}
	rt.images[image] = err == nil
	return err
}
