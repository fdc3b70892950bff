package rest

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// lookEvery is the interval, in the machine's time, at which a log that is followed is looked at for more.
const lookEvery = 100 * time.Millisecond

// writeLog writes what a container has printed, as opts say. A log that is followed ends with its container: what the next one of that name prints is not
// in it. An error before anything was written is the answer to the request.
//
// Upstream: pkg/kubelet/kuberuntime/logs ReadLogs and isContainerRunning, v1.37.2.
func (c *call) writeLog(opts *corev1.PodLogOptions, to *textWriter) error {
	look := func(previous bool) (text, running string, err error) {
		return c.h.nodes.Log(c.r.Context(), c.pod(), opts.Container, previous)
	}
	text, first, err := look(opts.Previous)
	if err != nil {
		return err
	}
	left := int64(-1) // of limitBytes
	if opts.LimitBytes != nil {
		left = *opts.LimitBytes
	}
	more, running := lastLines(text, opts.TailLines), first
	for {
		if left >= 0 {
			more = more[:min(int64(len(more)), left)]
			left -= int64(len(more))
		}
		if _, err := io.WriteString(to, more); err != nil || !opts.Follow || opts.Previous || left == 0 {
			return err
		}
		was := text
		for text == was {
			if running == "" || running != first || !sleep(c.r.Context(), lookEvery) {
				return nil
			}
			if text, running, err = look(false); err == nil && running != "" && running != first {
				text, _, err = look(true) // the end of the one that was followed
			}
			if err != nil {
				return nil //nolint:nilerr // the container is gone, and its log with it
			}
		}
		more = added(was, text)
	}
}

// Running returns the ID of the container of this name that runs, as far as the API knows; "" if none does. An empty name is that of the only container.
func Running(pod *corev1.Pod, container string) string {
	statuses := pod.Status.ContainerStatuses
	if container != "" {
		statuses = slices.Concat(statuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses)
	}
	for _, s := range statuses {
		if s.State.Running != nil && (container == "" || s.Name == container) {
			return s.ContainerID
		}
	}
	return ""
}

// lastLines returns the last n lines of a text; all of them if n is nil.
func lastLines(text string, n *int64) string {
	if n == nil {
		return text
	}
	at := len(strings.TrimSuffix(text, "\n"))
	if *n == 0 {
		return ""
	}
	for left := *n; ; left-- {
		at = strings.LastIndexByte(text[:at], '\n')
		if at < 0 {
			return text
		}
		if left == 1 {
			return text[at+1:]
		}
	}
}

// added returns the part of a log that was added. Of a long log only the end is kept, so that
// the end of the old text is the beginning of the new one.
func added(was, text string) string {
	for from := range len(was) + 1 {
		if more, ok := strings.CutPrefix(text, was[from:]); ok {
			return more
		}
	}
	return text
}

// sleep waits on the machine's clock, and says whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
