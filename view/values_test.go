package view_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/storagesim/storagesim/trace"
	"github.com/storagesim/storagesim/view"
)

func TestADecisionShowsWhatThereWasToChooseFrom(t *testing.T) {
	choice := &trace.Choice{
		Rule: "the best", Function: "schedulePod", File: "pkg/scheduler/schedule_one.go", Chosen: "node-2", More: 3,
		Candidates: []trace.Candidate{
			{Name: "node-1", OK: true, Score: 0, Scores: map[string]int64{"VolumeBinding": 0}},
			{Name: "node-2", OK: true, Score: 50, Scores: map[string]int64{"VolumeBinding": 50}},
			{Name: "node-3", Filter: "NodePorts", Reason: "no port"},
		},
		Volumes: []trace.Choice{{For: "default/data", Chosen: "pv-1", Candidates: []trace.Candidate{{Name: "pv-1", OK: true}}}},
	}
	p := view.Make([]trace.Entry{entry(0, "kube-scheduler", trace.Decision{About: trace.Ref{Kind: "Pod", Name: "web"}, Text: "x", Choice: choice})},
		view.Options{Release: "v1.2.3"})
	require.Equal(t, &view.Decision{
		Rule: "the best", Function: "schedulePod", Source: "https://github.com/kubernetes/kubernetes/blob/v1.2.3/pkg/scheduler/schedule_one.go",
		Chosen: "node-2", More: 3,
		Candidates: []view.Candidate{
			{Name: "node-1", OK: true, Score: new(int64(0)), Scores: map[string]int64{"VolumeBinding": 0}},
			{Name: "node-2", OK: true, Score: new(int64(50)), Scores: map[string]int64{"VolumeBinding": 50}},
			{Name: "node-3", Filter: "NodePorts", Reason: "no port"},
		},
		Volumes: []view.Decision{{For: "default/data", Chosen: "pv-1", Candidates: []view.Candidate{{Name: "pv-1", OK: true}}}},
	}, p.Steps[0].Decision)
}

// hears returns a delivery of a version after so many records.
func hears(after int, actor string, rv uint64) trace.Delivery {
	return trace.Delivery{After: after, Time: start.Add(time.Second), Actor: actor, Resource: "persistentvolumeclaims", RV: rv}
}

func TestDeliveriesAreStepsBetweenTheRecords(t *testing.T) {
	entries := []trace.Entry{
		entry(0, "user", write("create", "", 1, nil, claim(""))),
		entry(0, "persistent-volume-binder", write("update", "", 2, claim(""), claim("pv-1"))),
	}
	heard := []trace.Delivery{
		hears(1, "persistent-volume-binder", 1), hears(1, "has-no-lane", 1), hears(2, "persistent-volume-binder", 2), hears(2, "persistent-volume-binder", 77),
	}
	o := view.Options{Deliveries: heard, Chapters: []view.Chapter{{Step: 0, Title: "a"}, {Step: 1, Title: "b"}, {Step: 2, Title: "c"}}}
	p := view.Make(entries, o)
	require.Len(t, p.Steps, 4)
	require.Equal(t, view.Step{N: 0, T: 1000, Lane: 1, Kind: "delivery", Detail: true,
		Delivery: &view.Delivery{RV: 1, Resource: "persistentvolumeclaims", Of: new(0)}}, p.Steps[1])
	require.Equal(t, new(2), p.Steps[3].Delivery.Of)
	require.Equal(t, []view.Chapter{{Step: 0, Title: "a"}, {Step: 2, Title: "b"}, {Step: 4, Title: "c"}}, p.Chapters)

	o.Steps = 3
	p = view.Make(entries, o)
	require.Len(t, p.Steps, 2)
	require.Equal(t, []string{"When each cache heard of a change is left out: there would be too many steps."}, p.Missing)
}
