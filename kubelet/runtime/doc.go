// Package runtime is what runs of a node's pods, behind a small interface in the
// manner of the CRI's RuntimeService: start, exec, stop, logs. The kubelet, which
// knows of volumes and status, uses the interface only.
//
// Containers is the one implementation: it carries commands out by package programs.
// It outlives the kubelet's crashes, as a container runtime does: what runs goes on
// running when the next kubelet calls Resume.
//
// # Deviations from the CRI
//
//   - There are no sandboxes, images and events: the kubelet has its own.
//   - Time is the kubelet's: what sleeps goes on when Resume is called, so a container
//     sleeps longer while its kubelet is down.
//   - StopContainer takes no time and delivers no signal.
package runtime
