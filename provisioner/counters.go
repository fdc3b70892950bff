package provisioner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Counters count what a provisioner's controller has done, under upstream's
// metric names. The zero value is ready. A test reads it between two steps of
// the cluster, which alone makes it safe; String is all of it, as a Prometheus
// server would read it.
//
// Deviation: an attempt with nothing to do (the volume exists, an IgnoredError,
// a class of another provisioner) counts as neither success nor failure;
// upstream counts it as failed.
//
// Upstream: controller/metrics/metrics.go Metrics, v13, subsystem "controller".
type Counters struct {
	// PersistentVolumeClaimProvisionTotal counts the volumes that were provisioned,
	// PersistentVolumeClaimProvisionFailedTotal the attempts that failed.
	// PersistentVolumeClaimProvisionDurationSeconds has the times of the attempts that
	// succeeded.
	PersistentVolumeClaimProvisionTotal           Counter
	PersistentVolumeClaimProvisionFailedTotal     Counter
	PersistentVolumeClaimProvisionDurationSeconds Histogram
	// PersistentVolumeDeleteTotal and its neighbours are the same for volumes
	// deleted. Their Source is always empty.
	PersistentVolumeDeleteTotal           Counter
	PersistentVolumeDeleteFailedTotal     Counter
	PersistentVolumeDeleteDurationSeconds Histogram
}

// Labels tell the counts of one metric apart.
type Labels struct {
	// Class is spec.storageClassName of the claim or volume.
	Class string
	// Source is the kind of the claim's spec.dataSource, for example
	// "VolumeSnapshot"; empty without one.
	Source string
}

// Counter is one metric that grows.
type Counter struct{ values map[Labels]int }

// Of returns the count for these labels.
func (c *Counter) Of(labels Labels) int { return c.values[labels] }

// Sum returns the count over all labels.
func (c *Counter) Sum() int {
	sum := 0
	for _, n := range c.values {
		sum += n
	}
	return sum
}

func (c *Counter) inc(labels Labels) {
	if c.values == nil {
		c.values = map[Labels]int{}
	}
	c.values[labels]++
}

// Histogram is one metric of durations, in virtual time.
type Histogram struct{ values map[Labels][]time.Duration }

// Of returns the durations observed for these labels, in order.
func (h *Histogram) Of(labels Labels) []time.Duration { return slices.Clone(h.values[labels]) }

func (h *Histogram) observe(labels Labels, d time.Duration) {
	if h.values == nil {
		h.values = map[Labels][]time.Duration{}
	}
	h.values[labels] = append(h.values[labels], d)
}

// String returns all counts in Prometheus's text format, sorted, without the buckets
// of the histograms.
func (c *Counters) String() string {
	var b strings.Builder
	writeCounter(&b, "persistentvolumeclaim_provision_total", &c.PersistentVolumeClaimProvisionTotal, true)
	writeCounter(&b, "persistentvolumeclaim_provision_failed_total", &c.PersistentVolumeClaimProvisionFailedTotal, true)
	writeHistogram(&b, "persistentvolumeclaim_provision_duration_seconds", &c.PersistentVolumeClaimProvisionDurationSeconds, true)
	writeCounter(&b, "persistentvolume_delete_total", &c.PersistentVolumeDeleteTotal, false)
	writeCounter(&b, "persistentvolume_delete_failed_total", &c.PersistentVolumeDeleteFailedTotal, false)
	writeHistogram(&b, "persistentvolume_delete_duration_seconds", &c.PersistentVolumeDeleteDurationSeconds, false)
	return b.String()
}

func writeCounter(b *strings.Builder, name string, c *Counter, source bool) {
	for _, labels := range sortedLabels(c.values) {
		fmt.Fprintf(b, "controller_%s%s %d\n", name, labels.text(source), c.values[labels])
	}
}

func writeHistogram(b *strings.Builder, name string, h *Histogram, source bool) {
	for _, labels := range sortedLabels(h.values) {
		var sum time.Duration
		for _, d := range h.values[labels] {
			sum += d
		}
		fmt.Fprintf(b, "controller_%s_sum%s %v\n", name, labels.text(source), sum.Seconds())
		fmt.Fprintf(b, "controller_%s_count%s %d\n", name, labels.text(source), len(h.values[labels]))
	}
}

func (l Labels) text(source bool) string {
	if source {
		return fmt.Sprintf("{class=%q,source=%q}", l.Class, l.Source)
	}
	return fmt.Sprintf("{class=%q}", l.Class)
}

func sortedLabels[V any](values map[Labels]V) []Labels {
	sorted := make([]Labels, 0, len(values))
	for labels := range values {
		sorted = append(sorted, labels)
	}
	slices.SortFunc(sorted, func(a, b Labels) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Source, b.Source))
	})
	return sorted
}
