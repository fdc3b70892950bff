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

// writeLog writes what a container has printed, as opts say. An error before anything was written is the answer to the request.
func (c *call) writeLog(opts *corev1.PodLogOptions, to *textWriter) error {
	look := func() (text string, runs bool, err error) {
		return c.h.nodes.Log(c.r.Context(), c.pod(), opts.Container, opts.Previous)
	}
	text, runs, err := look()
	if err != nil {
		return err
	}
	left := int64(-1) // of limitBytes
	if opts.LimitBytes != nil {
		left = *opts.LimitBytes
	}
	more := lastLines(text, opts.TailLines)
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
			if !runs || !sleep(c.r.Context(), lookEvery) {
				return nil
			}
			if text, runs, err = look(); err != nil {
				return nil //nolint:nilerr // the container is gone, and its log with it
			}
		}
		more = added(was, text)
	}
}

// Runs reports whether a container of a pod runs, as far as the API knows, and may print more; an empty name stands for any container.
func Runs(pod *corev1.Pod, container string) bool {
	for _, s := range slices.Concat(pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses) {
		if s.State.Running != nil && (container == "" || s.Name == container) {
			return true
		}
	}
	return false
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
